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
#include <minnow/tensor/warning.h>

namespace minnow::detail {
namespace {

/// An operation, and what happens to its operands on cpu and sim, and on cuda: PyTorch's lists
/// (tests/golden/make_autocast.py).
struct Rule {
  std::string_view op;
  Cast on_cpu, on_cuda;
};

constexpr Rule kRules[] = {
    {"GRU", kLower, kLower},
    {"GRUCell", kKept, kLower},
    {"LSTM", kLower, kLower},
    {"LSTMCell", kKept, kLower},
    {"RNN", kLower, kLower},
    {"RNNCell", kKept, kLower},
    {"acos", kKept, kWide},
    {"adaptive_avg_pool3d", kWide, kKept},
    {"adaptive_max_pool3d", kWide, kKept},
    {"adaptive_max_pool3d_with_indices", kWide, kKept},
    {"addcdiv", kKept, kWidest},
    {"addcmul", kKept, kWidest},
    {"addmm", kLower, kLower},
    {"affine_grid", kLower, kLower},
    {"asin", kKept, kWide},
    {"atan2", kKept, kWidest},
    {"avg_pool3d", kWide, kKept},
    {"baddbmm", kLower, kLower},
    {"bilinear", kKept, kWidest},
    {"binary_cross_entropy", kWide, kRefused},
    {"binary_cross_entropy_with_logits", kWide, kWide},
    {"bmm", kLower, kLower},
    {"cat", kWidest, kKept},
    {"cdist", kWide, kWide},
    {"conv1d", kLower, kLower},
    {"conv2d", kLower, kLower},
    {"conv3d", kLower, kLower},
    {"conv_transpose1d", kLower, kLower},
    {"conv_transpose2d", kLower, kLower},
    {"conv_transpose3d", kLower, kLower},
    {"cosh", kKept, kWide},
    {"cosine_embedding_loss", kWide, kWide},
    {"cosine_similarity", kKept, kWide},
    {"cross", kKept, kWidest},
    {"cross_entropy", kWide, kWide},
    {"ctc_loss", kWide, kKept},
    {"cumprod", kKept, kWide},
    {"cumsum", kKept, kWide},
    {"dot", kKept, kWidest},
    {"einsum", kLower, kLower},
    {"erfinv", kKept, kWide},
    {"exp", kKept, kWide},
    {"expm1", kKept, kWide},
    {"fft", kWide, kKept},
    {"fft2", kWide, kKept},
    {"fftn", kWide, kKept},
    {"gaussian_nll_loss", kKept, kWide},
    {"grid_sample", kWide, kWidest},
    {"group_norm", kKept, kWide},
    {"hinge_embedding_loss", kWide, kWide},
    {"huber_loss", kWide, kWide},
    {"ifft", kWide, kKept},
    {"ifft2", kWide, kKept},
    {"ifftn", kWide, kKept},
    {"index_copy", kWidest, kKept},
    {"index_put", kKept, kWidest},
    {"interpolate", kKept, kWide},
    {"irfft", kWide, kKept},
    {"irfft2", kWide, kKept},
    {"irfftn", kWide, kKept},
    {"kl_div", kWide, kWide},
    {"l1_loss", kWide, kWide},
    {"layer_norm", kKept, kWide},
    {"linalg::cholesky", kWide, kKept},
    {"linalg::eigh", kWide, kKept},
    {"linalg::eigvalsh", kWide, kKept},
    {"linalg::inv", kWide, kKept},
    {"linalg::lstsq", kWide, kKept},
    {"linalg::matrix_power", kWide, kKept},
    {"linalg::pinv", kWide, kKept},
    {"linalg::qr", kWide, kKept},
    {"linalg::solve", kWide, kKept},
    {"linalg::svd", kWide, kKept},
    {"linalg::svdvals", kWide, kKept},
    {"linear", kLower, kLower},
    {"local_response_norm", kWide, kWide},
    {"log", kKept, kWide},
    {"log10", kKept, kWide},
    {"log1p", kKept, kWide},
    {"log2", kKept, kWide},
    {"log_softmax", kKept, kWide},
    {"logsumexp", kKept, kWide},
    {"lp_pool1d", kKept, kWide},
    {"lp_pool2d", kKept, kWide},
    {"lp_pool3d", kWide, kWide},
    {"margin_ranking_loss", kWide, kWide},
    {"matmul", kLower, kLower},
    {"max_pool3d", kWide, kKept},
    {"max_pool3d_with_indices", kWide, kKept},
    {"max_unpool1d", kWide, kKept},
    {"max_unpool2d", kWide, kKept},
    {"max_unpool3d", kWide, kKept},
    {"mm", kLower, kLower},
    {"mse_loss", kWide, kWide},
    {"multi_margin_loss", kWide, kWide},
    {"multilabel_margin_loss", kWide, kWide},
    {"multilabel_soft_margin_loss", kKept, kWide},
    {"mv", kKept, kLower},
    {"nll_loss", kWide, kWide},
    {"norm", kKept, kWide},
    {"normalize", kKept, kWide},
    {"pad", kWide, kKept},
    {"pairwise_distance", kKept, kWide},
    {"poisson_nll_loss", kWide, kWide},
    {"pow", kKept, kWide},
    {"pow_scalar", kKept, kWide},
    {"prelu", kLower, kLower},
    {"prod", kWide, kWide},
    {"quantile", kWide, kKept},
    {"quantized_linear", kWide, kWide},
    {"reciprocal", kKept, kWide},
    {"rfft", kWide, kKept},
    {"rfft2", kWide, kKept},
    {"rfftn", kWide, kKept},
    {"rms_norm", kKept, kWide},
    {"rsqrt", kKept, kWide},
    {"scaled_dot_product_attention", kLower, kLower},
    {"scatter_add", kKept, kWidest},
    {"sinh", kKept, kWide},
    {"smooth_l1_loss", kWide, kWide},
    {"soft_margin_loss", kWide, kWide},
    {"softmax", kKept, kWide},
    {"softmin", kKept, kWide},
    {"softplus", kKept, kWide},
    {"stack", kWidest, kKept},
    {"sum", kKept, kWide},
    {"tan", kKept, kWide},
    {"tensordot", kLower, kWidest},
    {"trace", kWide, kKept},
    {"triplet_margin_loss", kWide, kWide},
};
static_assert(std::is_sorted(std::begin(kRules), std::end(kRules),
                             [](const Rule& a, const Rule& b) { return a.op < b.op; }));

Precision rule_of(std::string_view op) {
  const auto* found = std::lower_bound(std::begin(kRules), std::end(kRules), op,
                                       [](const Rule& rule, std::string_view name) { return rule.op < name; });
  if (found == std::end(kRules) || found->op != op) return kKept;
  return {found->on_cpu, found->on_cuda};
}

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

/// In lists of tensors, of pointers and of operands.
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

template <class List> AutocastOperands cast_operands(const CallSite& site, Precision precision, const List& operands) {
  if (!site.is_outermost()) return {};
  const std::optional<DType> dtype = dtype_of(precision, operands);
  if (!dtype) return {};
  const Device device = first_of(operands)->device();
  AutocastOperands cast(operands.size());
  std::size_t i = 0;
  for (const auto& x : operands) {
    const Tensor& t = tensor_of(x);
    cast[i++] = is_eligible(t, device) ? autograd::autocast_to(t, *dtype) : t;
  }
  return cast;
}

}  // namespace

void AutocastOperands::Delete::operator()(Tensor* operands) const noexcept { delete[] operands; }

AutocastOperands autocast_operands(const CallSite& site, Precision precision, Operands operands) {
  return cast_operands(site, precision, operands);
}
AutocastOperands autocast_list(const CallSite& site, Precision precision, std::span<const Tensor> operands) {
  return cast_operands(site, precision, operands);
}
AutocastOperands autocast_operands(const CallSite& site, std::span<const Tensor* const> operands) {
  return cast_operands(site, rule_of(CallSite::op()), operands);
}
AutocastOperands autocast_list(const CallSite& site, std::span<const Tensor> operands) {
  return cast_operands(site, rule_of(CallSite::op()), operands);
}

DType cross_entropy_dtype(const CallSite& site, const Tensor& logits) {
  if (!calling_thread.autocast.enabled || !site.is_outermost()) return logits.dtype();
  return dtype_of(kWide, std::span(&logits, 1)).value_or(logits.dtype());
}

AutocastLayer::AutocastLayer(std::string_view op, std::initializer_list<const Tensor*> operands)
    : dtype_(calling_thread.autocast.enabled ? dtype_of(rule_of(op), operands) : std::nullopt),
      scope_(without(calling_thread.autocast), true) {}

AutocastMode AutocastLayer::without(AutocastMode mode) {
  mode.enabled = false;
  return mode;
}

Tensor AutocastLayer::operator()(const Tensor& x) const {
  return dtype_ && is_eligible(x, x.defined() ? x.device() : Device()) ? autograd::autocast_to(x, *dtype_) : x;
}

}  // namespace minnow::detail
