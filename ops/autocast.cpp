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

/// What a guard does with the operands of an operation.  Those that are not floating-point, or float64, stay.
enum class Cast : std::uint8_t {
  kNone,
  kLower,   ///< to the guard's dtype
  kFloat,   ///< to float32
  kWidest,  ///< to float32 if one of them is, else to the guard's dtype
  kRefused  ///< DTypeError: its gradient would overflow
};
using enum Cast;

/// An operation, and what happens to its operands on cpu and sim, and on cuda: PyTorch's lists
/// (tests/golden/make_autocast.py).
struct Rule {
  std::string_view op;
  Cast on_cpu, on_cuda;
};

constexpr Rule kRules[] = {
    {"GRU", kLower, kLower},
    {"GRUCell", kNone, kLower},
    {"LSTM", kLower, kLower},
    {"LSTMCell", kNone, kLower},
    {"RNN", kLower, kLower},
    {"RNNCell", kNone, kLower},
    {"acos", kNone, kFloat},
    {"adaptive_avg_pool3d", kFloat, kNone},
    {"adaptive_max_pool3d", kFloat, kNone},
    {"adaptive_max_pool3d_with_indices", kFloat, kNone},
    {"addcdiv", kNone, kWidest},
    {"addcmul", kNone, kWidest},
    {"addmm", kLower, kLower},
    {"affine_grid", kLower, kLower},
    {"asin", kNone, kFloat},
    {"atan2", kNone, kWidest},
    {"avg_pool3d", kFloat, kNone},
    {"baddbmm", kLower, kLower},
    {"bilinear", kNone, kWidest},
    {"binary_cross_entropy", kFloat, kRefused},
    {"binary_cross_entropy_with_logits", kFloat, kFloat},
    {"bmm", kLower, kLower},
    {"cat", kWidest, kNone},
    {"cdist", kFloat, kFloat},
    {"conv1d", kLower, kLower},
    {"conv2d", kLower, kLower},
    {"conv3d", kLower, kLower},
    {"conv_transpose1d", kLower, kLower},
    {"conv_transpose2d", kLower, kLower},
    {"conv_transpose3d", kLower, kLower},
    {"cosh", kNone, kFloat},
    {"cosine_embedding_loss", kFloat, kFloat},
    {"cosine_similarity", kNone, kFloat},
    {"cross", kNone, kWidest},
    {"cross_entropy", kFloat, kFloat},
    {"ctc_loss", kFloat, kNone},
    {"cumprod", kNone, kFloat},
    {"cumsum", kNone, kFloat},
    {"dot", kNone, kWidest},
    {"einsum", kLower, kLower},
    {"erfinv", kNone, kFloat},
    {"exp", kNone, kFloat},
    {"expm1", kNone, kFloat},
    {"fft", kFloat, kNone},
    {"fft2", kFloat, kNone},
    {"fftn", kFloat, kNone},
    {"gaussian_nll_loss", kNone, kFloat},
    {"grid_sample", kFloat, kWidest},
    {"group_norm", kNone, kFloat},
    {"hinge_embedding_loss", kFloat, kFloat},
    {"huber_loss", kFloat, kFloat},
    {"ifft", kFloat, kNone},
    {"ifft2", kFloat, kNone},
    {"ifftn", kFloat, kNone},
    {"index_copy", kWidest, kNone},
    {"index_put", kNone, kWidest},
    {"interpolate", kNone, kFloat},
    {"irfft", kFloat, kNone},
    {"irfft2", kFloat, kNone},
    {"irfftn", kFloat, kNone},
    {"kl_div", kFloat, kFloat},
    {"l1_loss", kFloat, kFloat},
    {"layer_norm", kNone, kFloat},
    {"linalg::cholesky", kFloat, kNone},
    {"linalg::eigh", kFloat, kNone},
    {"linalg::eigvalsh", kFloat, kNone},
    {"linalg::inv", kFloat, kNone},
    {"linalg::lstsq", kFloat, kNone},
    {"linalg::matrix_power", kFloat, kNone},
    {"linalg::pinv", kFloat, kNone},
    {"linalg::qr", kFloat, kNone},
    {"linalg::solve", kFloat, kNone},
    {"linalg::svd", kFloat, kNone},
    {"linalg::svdvals", kFloat, kNone},
    {"linear", kLower, kLower},
    {"local_response_norm", kFloat, kFloat},
    {"log", kNone, kFloat},
    {"log10", kNone, kFloat},
    {"log1p", kNone, kFloat},
    {"log2", kNone, kFloat},
    {"log_softmax", kNone, kFloat},
    {"logsumexp", kNone, kFloat},
    {"lp_pool1d", kNone, kFloat},
    {"lp_pool2d", kNone, kFloat},
    {"lp_pool3d", kFloat, kFloat},
    {"margin_ranking_loss", kFloat, kFloat},
    {"matmul", kLower, kLower},
    {"max_pool3d", kFloat, kNone},
    {"max_pool3d_with_indices", kFloat, kNone},
    {"max_unpool1d", kFloat, kNone},
    {"max_unpool2d", kFloat, kNone},
    {"max_unpool3d", kFloat, kNone},
    {"mm", kLower, kLower},
    {"mse_loss", kFloat, kFloat},
    {"multi_margin_loss", kFloat, kFloat},
    {"multilabel_margin_loss", kFloat, kFloat},
    {"multilabel_soft_margin_loss", kNone, kFloat},
    {"mv", kNone, kLower},
    {"nll_loss", kFloat, kFloat},
    {"norm", kNone, kFloat},
    {"normalize", kNone, kFloat},
    {"pad", kFloat, kNone},
    {"pairwise_distance", kNone, kFloat},
    {"poisson_nll_loss", kFloat, kFloat},
    {"pow", kNone, kFloat},
    {"pow_scalar", kNone, kFloat},
    {"prelu", kLower, kLower},
    {"prod", kFloat, kFloat},
    {"quantile", kFloat, kNone},
    {"quantized_linear", kFloat, kFloat},
    {"reciprocal", kNone, kFloat},
    {"rfft", kFloat, kNone},
    {"rfft2", kFloat, kNone},
    {"rfftn", kFloat, kNone},
    {"rms_norm", kNone, kFloat},
    {"rsqrt", kNone, kFloat},
    {"scaled_dot_product_attention", kLower, kLower},
    {"scatter_add", kNone, kWidest},
    {"sinh", kNone, kFloat},
    {"smooth_l1_loss", kFloat, kFloat},
    {"soft_margin_loss", kFloat, kFloat},
    {"softmax", kNone, kFloat},
    {"softmin", kNone, kFloat},
    {"softplus", kNone, kFloat},
    {"stack", kWidest, kNone},
    {"sum", kNone, kFloat},
    {"tan", kNone, kFloat},
    {"tensordot", kLower, kWidest},
    {"trace", kFloat, kNone},
    {"triplet_margin_loss", kFloat, kFloat},
};
static_assert(std::is_sorted(std::begin(kRules), std::end(kRules),
                             [](const Rule& a, const Rule& b) { return a.op < b.op; }));

Cast rule_of(std::string_view op, bool cuda) {
  const auto* found = std::lower_bound(std::begin(kRules), std::end(kRules), op,
                                       [](const Rule& rule, std::string_view name) { return rule.op < name; });
  if (found == std::end(kRules) || found->op != op) return kNone;
  return cuda ? found->on_cuda : found->on_cpu;
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

/// The first defined operand; nullptr if there is none.
template <class List> const Tensor* first_of(const List& operands) {
  for (const Tensor* t : operands)
    if (t->defined()) return t;
  return nullptr;
}

}  // namespace

std::optional<DType> autocast_dtype(std::string_view op, std::span<const Tensor* const> operands) {
  const Tensor* first = first_of(operands);
  if (first == nullptr) return {};
  const Device device = first->device();
  const AutocastMode& mode = calling_thread.autocast;
  const Cast rule = rule_of(op, device.is_cuda());
  if (rule == kNone || !is_worthwhile(mode, device)) return {};
  if (rule == kRefused)
    throw DTypeError(message(op, "it is not safe under an Autocast guard", {{"x", *first}},
                             "use binary_cross_entropy_with_logits, or a guard that is switched off"));
  const auto any = [&](auto&& is) {
    return std::any_of(operands.begin(), operands.end(),
                       [&](const Tensor* t) { return is_eligible(*t, device) && is(t->dtype()); });
  };
  const bool wide = rule == kFloat || (rule == kWidest && any([](DType d) { return d == DType::float32; }));
  const DType dtype = wide ? DType::float32 : mode.dtype;
  if (!any([&](DType d) { return d != dtype; })) return {};
  return dtype;
}

AutocastOperands autocast_operands(const CallSite& site, std::span<const Tensor* const> operands) {
  if (!site.is_outermost()) return {};
  const std::optional<DType> dtype = autocast_dtype(CallSite::op(), operands);
  if (!dtype) return {};
  const Device device = first_of(operands)->device();
  auto cast = std::make_unique<Tensor[]>(operands.size());
  for (std::size_t i = 0; i < operands.size(); ++i)
    cast[i] = is_eligible(*operands[i], device) ? autograd::autocast_to(*operands[i], *dtype) : *operands[i];
  return AutocastOperands(std::move(cast));
}

DType cross_entropy_dtype(const CallSite& site, const Tensor& logits) {
  if (!calling_thread.autocast.enabled || !site.is_outermost()) return logits.dtype();
  const Tensor* const operand = &logits;
  return autocast_dtype("cross_entropy", {&operand, 1}).value_or(logits.dtype());
}

AutocastOperands autocast_list(const CallSite& site, std::span<const Tensor> operands) {
  std::vector<const Tensor*> list;
  list.reserve(operands.size());
  for (const Tensor& t : operands) list.push_back(&t);
  return autocast_operands(site, list);
}

AutocastLayer::AutocastLayer(std::string_view op, std::initializer_list<const Tensor*> operands)
    : dtype_(calling_thread.autocast.enabled ? autocast_dtype(op, std::span(operands.begin(), operands.size()))
                                             : std::nullopt),
      scope_(without(calling_thread.autocast), true) {}

AutocastMode AutocastLayer::without(AutocastMode mode) {
  mode.enabled = false;
  return mode;
}

Tensor AutocastLayer::operator()(const Tensor& x) const {
  return dtype_ && is_eligible(x, x.defined() ? x.device() : Device()) ? autograd::autocast_to(x, *dtype_) : x;
}

}  // namespace minnow::detail
