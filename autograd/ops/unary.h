#pragma once

#include <limits>
#include <span>
#include <minnow/tensor/in.h>

/// Elementwise functions of one operand.  Integers are promoted to float32 where the function needs it.
/// Gradients are in tensor/kernels/unary_math.h and unary_activation.h beside the functions; second order as
/// well.
namespace minnow {

inline constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// -x.
Tensor neg(In x);
/// |x|.
Tensor abs(In x);
/// -1, 0 or 1.
Tensor sign(In x);
/// e^x.
Tensor exp(In x);
/// 2^x.
Tensor exp2(In x);
/// e^x - 1, exact near 0.
Tensor expm1(In x);
/// Natural logarithm.
Tensor log(In x);
/// Logarithm to base 2.
Tensor log2(In x);
/// Logarithm to base 10.
Tensor log10(In x);
/// log(1 + x), exact near 0.
Tensor log1p(In x);
/// √x.
Tensor sqrt(In x);
/// 1 / √x.
Tensor rsqrt(In x);
/// x².
Tensor square(In x);
/// 1 / x.
Tensor reciprocal(In x);
/// Of x in radians.
Tensor sin(In x);
/// Of x in radians.
Tensor cos(In x);
/// Of x in radians.
Tensor tan(In x);
/// In radians; NaN outside [-1, 1].
Tensor asin(In x);
/// In radians; NaN outside [-1, 1].
Tensor acos(In x);
/// In radians.
Tensor atan(In x);
Tensor sinh(In x);
Tensor cosh(In x);
Tensor tanh(In x);
Tensor asinh(In x);
Tensor acosh(In x);
Tensor atanh(In x);
/// The error function.
Tensor erf(In x);
/// 1 - erf(x), exact for large x.
Tensor erfc(In x);
/// The inverse of erf.
Tensor erfinv(In x);
/// log |Γ(x)|.
Tensor lgamma(In x);
/// The derivative of lgamma; it has none of its own here.
Tensor digamma(In x);
/// log(x / (1 - x)).
Tensor logit(In x);
/// Gradient 0.
Tensor floor(In x);
/// Gradient 0.
Tensor ceil(In x);
/// Half to even; gradient 0.
Tensor round(In x);
/// Gradient 0.
Tensor trunc(In x);
/// x - trunc(x).
Tensor frac(In x);
/// Bool.
Tensor isnan(In x);
/// Bool.
Tensor isinf(In x);
/// Bool.
Tensor isfinite(In x);
/// Bool: x is 0.
Tensor logical_not(In x);
/// Integers and bool.
Tensor bitwise_not(In x);
/// 1 / (1 + e^-x).
Tensor sigmoid(In x);
/// log(sigmoid(x)) without overflow.
Tensor log_sigmoid(In x);
/// max(x, 0).
Tensor relu(In x);
/// min(max(x, 0), 6).
Tensor relu6(In x);
/// Klambauer et al. 2017.
Tensor selu(In x);
/// x Φ(x), Hendrycks and Gimpel 2016.
Tensor gelu(In x);
/// GELU by its tanh approximation.
Tensor gelu_tanh(In x);
/// x sigmoid(x).
Tensor silu(In x);
/// x tanh(softplus(x)), Misra 2019.
Tensor mish(In x);
/// x relu6(x + 3) / 6, Howard et al. 2019.
Tensor hardswish(In x);
/// relu6(x + 3) / 6.
Tensor hardsigmoid(In x);
/// x / (1 + |x|).
Tensor softsign(In x);
/// x - tanh(x).
Tensor tanhshrink(In x);
/// log(1 + e^(beta x)) / beta; linear above the threshold.
Tensor softplus(In x, double beta = 1, double threshold = 20);
/// x, or slope x below 0.
Tensor leaky_relu(In x, double slope = 0.01);
/// x, or alpha (e^x - 1) below 0.
Tensor elu(In x, double alpha = 1);
/// x, or alpha (e^(x / alpha) - 1) below 0.
Tensor celu(In x, double alpha = 1);
/// x within [low, high].
Tensor hardtanh(In x, double low = -1, double high = 1);
/// x moved towards 0 by lambda.
Tensor softshrink(In x, double lambda = 0.5);
/// x, or 0 within [-lambda, lambda].
Tensor hardshrink(In x, double lambda = 0.5);
/// x, or value at and below the limit.
Tensor threshold(In x, double limit, double value);
/// x within [low, high]; NaN stays.
Tensor clamp(In x, double low = -kInfinity, double high = kInfinity);
/// x^exponent.
Tensor pow_scalar(In x, double exponent);
/// NaN becomes `nan`, the infinities the largest finite numbers.
Tensor nan_to_num(In x, double nan = 0);
inline Tensor clamp_min(In x, double low) { return clamp(x, low); }
inline Tensor clamp_max(In x, double high) { return clamp(x, -kInfinity, high); }

inline Tensor operator-(In x) { return neg(x); }
inline Tensor operator~(In x) { return bitwise_not(x); }

// In place: written over x.

Tensor neg_(In x);
Tensor abs_(In x);
Tensor exp_(In x);
Tensor log_(In x);
Tensor sqrt_(In x);
Tensor rsqrt_(In x);
Tensor square_(In x);
Tensor reciprocal_(In x);
Tensor sin_(In x);
Tensor cos_(In x);
Tensor tanh_(In x);
Tensor erfinv_(In x);
Tensor floor_(In x);
Tensor ceil_(In x);
Tensor round_(In x);
Tensor trunc_(In x);
Tensor sigmoid_(In x);
Tensor relu_(In x);
Tensor gelu_(In x);
Tensor silu_(In x);
Tensor clamp_(In x, double low = -kInfinity, double high = kInfinity);

/// A unary function by its number in kernels::UnaryOps; parameters that it does not have are ignored.
using UnaryFunction = Tensor (*)(In x, double p0, double p1);
std::span<const UnaryFunction> unary_functions();

}  // namespace minnow
