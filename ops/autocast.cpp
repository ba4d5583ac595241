#include <algorithm>
#include <atomic>
#include <optional>
#include <string>
#include <vector>
#include <minnow/autograd/autocast_scope.h>
#include <minnow/ops/detail/autocast.h>
#include <minnow/ops/detail/cross_entropy.h>
#include <minnow/tensor/backend/dispatch.h>
#include <minnow/tensor/error.h>
#include <minnow/tensor/internal.h>
#include <minnow/tensor/runtime/warning.h>

namespace minnow::detail {
namespace {

/// Whether a guard changes what a device computes; warns once if it does not.
bool is_worthwhile(const AutocastMode& mode, Device device) {
  if (mode.forced || backend_of(device).computes_half(mode.dtype)) return true;
  static std::atomic<bool> warned = false;
  if (!warned.exchange(true))
    warn("Autocast: this processor has no instructions for " + std::string(name_of(mode.dtype)) +
         ", so operations on " + device.str() +
         " stay float32\n{.force = true} computes in it all the same, slower than in float32");
  return false;
}

bool is_eligible(const Tensor& x, Device device) {
  return x.defined() && x.is_floating_point() && x.dtype() != DType::float64 && x.device().type() == device.type();
}

/// Of a list of tensors, of pointers or of operands.
const Tensor& tensor_of(const Tensor& x) { return x; }
const Tensor& tensor_of(const Tensor* x) { return *x; }
const Tensor& tensor_of(const Operand& x) { return x.tensor; }

/// The first defined operand; nullptr if there is none.
template <class List> const Tensor* first_of(const List& operands) {
  for (const auto& x : operands)
    if (tensor_of(x).defined()) return &tensor_of(x);
  return nullptr;
}

/// The dtype to which the operands are converted; none if they stay.
template <class List> std::optional<DType> dtype_of(Precision precision, const List& operands) {
  const Tensor* first = first_of(operands);
  if (first == nullptr) return {};
  const Device device = first->device();
  const AutocastMode& mode = calling_thread.autocast;
  const Cast rule = device.is_cuda() ? precision.on_cuda : precision.on_cpu;
  if (rule == kKept || !is_worthwhile(mode, device)) return {};
  if (rule == kRefused)
    throw DTypeError(message("it is not safe under an Autocast guard", {{"x", *first}},
                             "use binary_cross_entropy_with_logits, or a guard that is switched off"));
  const auto any = [&](auto&& is) {
    return std::any_of(operands.begin(), operands.end(),
                       [&](const auto& x) { return is_eligible(tensor_of(x), device) && is(tensor_of(x).dtype()); });
  };
  const bool wide = rule == kWide || (rule == kWidest && any([](DType d) { return d == DType::float32; }));
  const DType dtype = wide ? DType::float32 : mode.dtype;
  if (!any([&](DType d) { return d != dtype; })) return {};
  return dtype;
}

/// Calls keep(i, x) with the converted operands, if some are converted.
template <class List, class Keep>
void cast_operands(const CallSite& site, Precision precision, const List& operands, const Keep& keep) {
  if (!site.is_outermost()) return;
  const std::optional<DType> dtype = dtype_of(precision, operands);
  if (!dtype) return;
  const Device device = first_of(operands)->device();
  std::size_t i = 0;
  for (const auto& x : operands) {
    const Tensor& t = tensor_of(x);
    keep(i++, is_eligible(t, device) ? autograd::autocast_to(t, *dtype) : t);
  }
}

}  // namespace

void AutocastOperands::Delete::operator()(Tensor* operands) const noexcept { delete[] operands; }

AutocastOperands autocast_operands(const CallSite& site, Precision precision, Operands operands) {
  AutocastOperands cast;
  cast_operands(site, precision, operands, [&](std::size_t i, const Tensor& x) {
    if (!cast) cast = AutocastOperands(operands.size());
    cast[i] = x;
  });
  return cast;
}

AutocastList::AutocastList(const CallSite& site, Precision precision, const std::vector<Tensor>& given)
    : given_(given) {
  if (calling_thread.autocast.enabled)
    cast_operands(site, precision, given, [this](std::size_t, const Tensor& x) { cast_.push_back(x); });
}

DType cross_entropy_dtype(const CallSite& site, const Tensor& logits) {
  if (!calling_thread.autocast.enabled || !site.is_outermost()) return logits.dtype();
  return dtype_of(kWide, std::span(&logits, 1)).value_or(logits.dtype());
}

AutocastLayer::AutocastLayer(Precision precision, std::initializer_list<const Tensor*> operands)
    : dtype_(calling_thread.autocast.enabled ? dtype_of(precision, operands) : std::nullopt),
      scope_(without(calling_thread.autocast), true) {}

AutocastMode AutocastLayer::without(AutocastMode mode) {
  mode.enabled = false;
  return mode;
}

Tensor AutocastLayer::operator()(const Tensor& x) const {
  return dtype_ && is_eligible(x, x.defined() ? x.device() : Device()) ? autograd::autocast_to(x, *dtype_) : x;
}

}  // namespace minnow::detail
