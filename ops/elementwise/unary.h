#pragma once

#include <optional>
#include <span>
#include <minnow/tensor/in.h>

/// Elementwise functions of one operand.  Integers are promoted to float32 where the function needs it.
/// Gradients are in tensor/kernels/unary_math.h and unary_activation.h beside the functions; second order as
/// well.  A name that ends with an underscore is the form in place: written over x.
namespace minnow {

/// -x.
[[nodiscard]] Tensor neg(const In& x);
Tensor neg_(const In& x);
/// |x|.
[[nodiscard]] Tensor abs(const In& x);
Tensor abs_(const In& x);
/// -1, 0 or 1.
[[nodiscard]] Tensor sign(const In& x);
/// e^x.
[[nodiscard]] Tensor exp(const In& x);
Tensor exp_(const In& x);
/// 2^x.
[[nodiscard]] Tensor exp2(const In& x);
/// e^x - 1, exact near 0.
[[nodiscard]] Tensor expm1(const In& x);
/// Natural logarithm.
[[nodiscard]] Tensor log(const In& x);
Tensor log_(const In& x);
/// Logarithm to base 2.
[[nodiscard]] Tensor log2(const In& x);
/// Logarithm to base 10.
[[nodiscard]] Tensor log10(const In& x);
/// log(1 + x), exact near 0.
[[nodiscard]] Tensor log1p(const In& x);
/// √x.
[[nodiscard]] Tensor sqrt(const In& x);
Tensor sqrt_(const In& x);
/// 1 / √x.
[[nodiscard]] Tensor rsqrt(const In& x);
Tensor rsqrt_(const In& x);
/// x²; of bool as int64, as in PyTorch.
[[nodiscard]] Tensor square(const In& x);
Tensor square_(const In& x);
/// 1 / x.
[[nodiscard]] Tensor reciprocal(const In& x);
Tensor reciprocal_(const In& x);
/// The sine of x in radians.
[[nodiscard]] Tensor sin(const In& x);
Tensor sin_(const In& x);
/// The cosine of x in radians.
[[nodiscard]] Tensor cos(const In& x);
Tensor cos_(const In& x);
/// The tangent of x in radians.
[[nodiscard]] Tensor tan(const In& x);
/// The inverse of sin, in radians; NaN outside [-1, 1].
[[nodiscard]] Tensor asin(const In& x);
/// The inverse of cos, in radians; NaN outside [-1, 1].
[[nodiscard]] Tensor acos(const In& x);
/// The inverse of tan, in radians.
[[nodiscard]] Tensor atan(const In& x);
/// (e^x - e^-x) / 2.
[[nodiscard]] Tensor sinh(const In& x);
/// (e^x + e^-x) / 2.
[[nodiscard]] Tensor cosh(const In& x);
/// sinh(x) / cosh(x).
[[nodiscard]] Tensor tanh(const In& x);
Tensor tanh_(const In& x);
/// The inverse of sinh.
[[nodiscard]] Tensor asinh(const In& x);
/// The inverse of cosh; NaN below 1.
[[nodiscard]] Tensor acosh(const In& x);
/// The inverse of tanh; NaN outside [-1, 1].
[[nodiscard]] Tensor atanh(const In& x);
/// The error function: 2 / √π ∫ e^(-t²) dt from 0 to x.
[[nodiscard]] Tensor erf(const In& x);
/// 1 - erf(x), exact for large x.
[[nodiscard]] Tensor erfc(const In& x);
/// The inverse of erf.
[[nodiscard]] Tensor erfinv(const In& x);
Tensor erfinv_(const In& x);
/// log |Γ(x)|.
[[nodiscard]] Tensor lgamma(const In& x);
/// The derivative of lgamma.
[[nodiscard]] Tensor digamma(const In& x);
/// The n-th derivative of digamma, 0 <= n <= 170; NaN below -1000 for n of 2 and more.
[[nodiscard]] Tensor polygamma(std::int64_t n, const In& x);
/// log(x / (1 - x)).
[[nodiscard]] Tensor logit(const In& x);
/// Rounded down.  Gradient 0.
[[nodiscard]] Tensor floor(const In& x);
Tensor floor_(const In& x);
/// Rounded up.  Gradient 0.
[[nodiscard]] Tensor ceil(const In& x);
Tensor ceil_(const In& x);
/// Rounded to the nearest integer, half to even.  Gradient 0.
[[nodiscard]] Tensor round(const In& x);
Tensor round_(const In& x);
/// Rounded towards 0.  Gradient 0.
[[nodiscard]] Tensor trunc(const In& x);
Tensor trunc_(const In& x);
/// x - trunc(x).
[[nodiscard]] Tensor frac(const In& x);
/// Whether x is NaN: bool.
[[nodiscard]] Tensor isnan(const In& x);
/// Whether x is ±infinity: bool.
[[nodiscard]] Tensor isinf(const In& x);
/// Whether x is neither NaN nor ±infinity: bool.
[[nodiscard]] Tensor isfinite(const In& x);
/// Whether x is 0: bool.
[[nodiscard]] Tensor logical_not(const In& x);
/// All bits inverted; logical not for bool.  DTypeError for floating-point tensors.
[[nodiscard]] Tensor bitwise_not(const In& x);
/// 1 / (1 + e^-x).
[[nodiscard]] Tensor sigmoid(const In& x);
Tensor sigmoid_(const In& x);
/// log(sigmoid(x)) without overflow.
[[nodiscard]] Tensor log_sigmoid(const In& x);
/// max(x, 0).
[[nodiscard]] Tensor relu(const In& x);
Tensor relu_(const In& x);
/// min(max(x, 0), 6).
[[nodiscard]] Tensor relu6(const In& x);
/// scale x, or scale alpha (e^x - 1) below 0, Klambauer et al. 2017.
[[nodiscard]] Tensor selu(const In& x);
/// x Φ(x), Hendrycks and Gimpel 2016.
[[nodiscard]] Tensor gelu(const In& x);
Tensor gelu_(const In& x);
/// GELU by its tanh approximation.
[[nodiscard]] Tensor gelu_tanh(const In& x);
/// x sigmoid(x).
[[nodiscard]] Tensor silu(const In& x);
Tensor silu_(const In& x);
/// x tanh(softplus(x)), Misra 2019.
[[nodiscard]] Tensor mish(const In& x);
/// x relu6(x + 3) / 6, Howard et al. 2019.
[[nodiscard]] Tensor hardswish(const In& x);
/// relu6(x + 3) / 6.
[[nodiscard]] Tensor hardsigmoid(const In& x);
/// x / (1 + |x|).
[[nodiscard]] Tensor softsign(const In& x);
/// x - tanh(x).
[[nodiscard]] Tensor tanhshrink(const In& x);
/// log(1 + e^(beta x)) / beta; linear above the threshold.
[[nodiscard]] Tensor softplus(const In& x, double beta = 1, double threshold = 20);
/// x; slope x below 0.
[[nodiscard]] Tensor leaky_relu(const In& x, double slope = 0.01);
/// x; alpha (e^x - 1) below 0.
[[nodiscard]] Tensor elu(const In& x, double alpha = 1);
/// x; alpha (e^(x / alpha) - 1) below 0.
[[nodiscard]] Tensor celu(const In& x, double alpha = 1);
/// x limited to [low, high].  ValueError for low > high.
[[nodiscard]] Tensor hardtanh(const In& x, double low = -1, double high = 1);
/// x moved towards 0 by lambda.  ValueError for a negative lambda.
[[nodiscard]] Tensor softshrink(const In& x, double lambda = 0.5);
/// x; 0 within [-lambda, lambda].
[[nodiscard]] Tensor hardshrink(const In& x, double lambda = 0.5);
/// x above the limit; value at and below it.
[[nodiscard]] Tensor threshold(const In& x, double limit, double value);
/// x limited to [low, high]; NaN stays.  Integers become float32 if a bound is not a whole number (clamp_: DTypeError).
[[nodiscard]] Tensor clamp(const In& x, double low = -kInfinity, double high = kInfinity);
Tensor clamp_(const In& x, double low = -kInfinity, double high = kInfinity);
/// x^exponent.
[[nodiscard]] Tensor pow_scalar(const In& x, double exponent);
/// x with `nan` for NaN, and posinf and neginf for the infinities: without them the largest finite numbers of the
/// dtype.  Integers stay as they are.
[[nodiscard]] Tensor nan_to_num(const In& x, double nan = 0, std::optional<double> posinf = {},
                                std::optional<double> neginf = {});
/// clamp with a lower bound only.
[[nodiscard]] inline Tensor clamp_min(const In& x, double low) { return clamp(x, low); }
/// clamp with an upper bound only.
[[nodiscard]] inline Tensor clamp_max(const In& x, double high) { return clamp(x, -kInfinity, high); }

[[nodiscard]] inline Tensor operator-(const In& x) { return neg(x); }
[[nodiscard]] inline Tensor operator~(const In& x) { return bitwise_not(x); }

/// A unary function by its number in kernels::UnaryOps, with its gradient; parameters that it does not have are
/// ignored.
using UnaryFunction = Tensor (*)(const In& x, double p0, double p1);
std::span<const UnaryFunction> unary_functions();

}  // namespace minnow
