#include <minnow/nn/losses/likelihood_loss.h>

#include <cmath>
#include <fmt/format.h>
#include <limits>
#include <numbers>
#include <minnow/nn/detail/loss.h>
#include <minnow/ops/detail/operation.h>
#include <minnow/ops/elementwise/arithmetic.h>
#include <minnow/ops/elementwise/unary.h>
#include <minnow/ops/reductions/reduce.h>
#include <minnow/tensor/error.h>

namespace minnow::nn {
namespace {

using detail::reduced, detail::require_broadcast_shapes, detail::require_same_shape;

void require_positive(const char* name, double value, const char* hint) {
  if (!(value > 0)) throw ValueError(message(fmt::format("{} must be positive, got {}", name, value), {}, hint));
}

Tensor clamped_log(const Tensor& x) { return clamp_min(log(x), -100); }

/// The gradient is not that of the logarithms, which is infinite at 0 and 1.
Tensor cross_entropy_of_two(const Tensor& x, const Tensor& y) {
  const auto losses = [&] {
    const NoGradGuard guard;
    return -(y * clamped_log(x) + (1.0 - y) * clamped_log(1.0 - x));
  };
  const double least = x.dtype() == DType::float16 ? 6e-8 : 1e-12;  // above 0 in x's dtype
  return record("binary_cross_entropy", losses(), {x, y},
                [p = Saved(x), target = Saved(y), least](const Tensor& g, Needs needs) -> Gradients {
                  const Tensor q = p();
                  return {needs[0] ? g * (q - target()) / clamp_min(q * (1.0 - q), least) : Tensor(),
                          needs[1] ? g * (log(1.0 - q) - log(q)) : Tensor()};
                });
}

/// t log t, 0 for 0.
Tensor entropy_term(const Tensor& t) {
  const Tensor none = t == 0;
  return where(none, 0.0, t * log(where(none, 1.0, t)));
}

/// var with x's number of dimensions.
Tensor variances(const Tensor& x, const Tensor& var) {
  const auto fits = [&](const Tensor& v) {
    if (v.dim() != x.dim()) return v.dim() == 0;
    for (int d = 0; d < x.dim(); ++d)
      if (v.size(d) != 1 && v.size(d) != x.size(d)) return false;
    return true;
  };
  if (fits(var)) return var;
  if (var.dim() == x.dim() - 1 && fits(var.unsqueeze(-1))) return var.unsqueeze(-1);
  throw ShapeError(
      message("var fits neither x nor x without its last dimension", {{"x", x}, {"var", var}},
              "give each element a variance, or each row one: " + std::string("sizes of 1 are broadcast")));
}

}  // namespace

Tensor binary_cross_entropy(const In& x_, const In& y_, const BCELossOptions& options) {
  const Operation op("binary_cross_entropy", x_.where, {kWide, kRefused}, {{"x", *x_}, {"y", *y_}});
  const Tensor &x = op[0], &y = op[1];
  require_same_shape(op);
  const Tensor& weight = options.weight;
  const Tensor losses = cross_entropy_of_two(x, y);
  if (!weight.defined()) return reduced(losses, options.reduction);
  require_same_device({{"x", x}, {"weight", weight}});
  const Tensor weighted = losses * weight;
  if (!(weighted.shape() == x.shape()))
    throw ShapeError(message("weight is larger than x", {{"x", x}, {"weight", weight}}, "it is broadcast to x"));
  return reduced(weighted, options.reduction);
}

Tensor kl_div(const In& x_, const In& target_, const KLDivLossOptions& options) {
  const Operation op("kl_div", x_.where, kWide, {{"x", *x_}, {"target", *target_}});
  const Tensor &x = op[0], &t = op[1];
  require_broadcast_shapes(op);
  const Tensor losses = options.log_target ? exp(t) * (t - x) : entropy_term(t) - t * x;
  if (options.reduction != Reduction::batchmean) return reduced(losses, options.reduction);
  return x.dim() == 0 ? losses : sum(losses) / static_cast<double>(x.size(0));
}

Tensor gaussian_nll_loss(const In& x_, const In& target_, const In& var_, const GaussianNLLLossOptions& options) {
  const Operation op("gaussian_nll_loss", x_.where, {kKept, kWide}, {{"x", *x_}, {"target", *target_}, {"var", *var_}});
  const Tensor &x = op[0], &target = op[1], &var = op[2];
  require_broadcast_shapes({{"x", x}, {"target", target}});
  if (!var.is_floating_point())
    throw DTypeError(message("var is not floating-point", {{"x", x}, {"var", var}}, "convert it: .to(float32)"));
  require_positive("eps", options.eps, "it keeps the variances away from 0");
  const Tensor given = variances(x, var), low = given < options.eps;
  // At least eps, with the gradient of `given` itself.
  Tensor v = where(low, given - given.detach() + options.eps, given);
  v = where(given < 0, std::numeric_limits<double>::quiet_NaN(), v);
  Tensor losses = (log(v) + square(x - target) / v) * 0.5;
  if (options.full) losses = losses + 0.5 * std::log(2 * std::numbers::pi);
  return reduced(losses, options.reduction);
}

Tensor poisson_nll_loss(const In& x_, const In& target_, const PoissonNLLLossOptions& options) {
  const Operation op("poisson_nll_loss", x_.where, kWide, {{"x", *x_}, {"target", *target_}});
  const Tensor &x = op[0], &t = op[1];
  require_broadcast_shapes(op);
  if (!options.log_input) require_positive("eps", options.eps, "it keeps the logarithm of 0 finite");
  Tensor losses = options.log_input ? exp(x) - t * x : x - t * log(x + options.eps);
  if (options.full) {
    const Tensor many = t > 1, n = where(many, t, 1.0);
    losses = losses + where(many, n * log(n) - n + log(n * (2 * std::numbers::pi)) * 0.5, 0.0);
  }
  return reduced(losses, options.reduction);
}

}  // namespace minnow::nn
