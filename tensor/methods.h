// Written by ops/make_methods.py from the functions in ops: change those and run it.
// clang-format off
#pragma once

#include <cstdint>
#include <optional>
#include <vector>
#include <minnow/tensor/scalar.h>
#include <minnow/tensor/shape.h>
#include <minnow/tensor/source_location.h>

namespace minnow {

class Tensor;
struct In;
struct TensorLike;
struct MinMax;
struct Ordered;
struct Unique;
class RandomGenerator;
enum class Scatter : std::uint8_t;
enum class Rounding : std::uint8_t;
enum class Quantile : std::uint8_t;

// One operand must be a tensor.
void add(Scalar, Scalar) = delete;
void sub(Scalar, Scalar) = delete;
void mul(Scalar, Scalar) = delete;
void div(Scalar, Scalar) = delete;
void floor_divide(Scalar, Scalar) = delete;
void fmod(Scalar, Scalar) = delete;
void remainder(Scalar, Scalar) = delete;
void pow(Scalar, Scalar) = delete;
void maximum(Scalar, Scalar) = delete;
void minimum(Scalar, Scalar) = delete;
void fmax(Scalar, Scalar) = delete;
void fmin(Scalar, Scalar) = delete;
void atan2(Scalar, Scalar) = delete;
void hypot(Scalar, Scalar) = delete;
void copysign(Scalar, Scalar) = delete;
void logaddexp(Scalar, Scalar) = delete;
void eq(Scalar, Scalar) = delete;
void ne(Scalar, Scalar) = delete;
void lt(Scalar, Scalar) = delete;
void le(Scalar, Scalar) = delete;
void gt(Scalar, Scalar) = delete;
void ge(Scalar, Scalar) = delete;
void logical_and(Scalar, Scalar) = delete;
void logical_or(Scalar, Scalar) = delete;
void logical_xor(Scalar, Scalar) = delete;
void bitwise_and(Scalar, Scalar) = delete;
void bitwise_or(Scalar, Scalar) = delete;
void bitwise_xor(Scalar, Scalar) = delete;
void left_shift(Scalar, Scalar) = delete;
void right_shift(Scalar, Scalar) = delete;
void operator+(Scalar, Scalar) = delete;
void operator-(Scalar, Scalar) = delete;
void operator*(Scalar, Scalar) = delete;
void operator/(Scalar, Scalar) = delete;
void operator%(Scalar, Scalar) = delete;
void operator==(Scalar, Scalar) = delete;
void operator!=(Scalar, Scalar) = delete;
void operator<(Scalar, Scalar) = delete;
void operator<=(Scalar, Scalar) = delete;
void operator>(Scalar, Scalar) = delete;
void operator>=(Scalar, Scalar) = delete;
void operator&(Scalar, Scalar) = delete;
void operator|(Scalar, Scalar) = delete;
void operator^(Scalar, Scalar) = delete;

namespace detail {

/// The functions of ops as members of Tensor, each with the tensor as its first operand; an in-place one ends
/// with an underscore, and gives the tensor itself.
class Methods {
 public:
  /// a + b.
  [[nodiscard]] Tensor add(const TensorLike& b, SourceLocation where = SourceLocation::current()) const;
  Tensor add_(const TensorLike& other, SourceLocation where = SourceLocation::current()) const;
  /// a - b.
  [[nodiscard]] Tensor sub(const TensorLike& b, SourceLocation where = SourceLocation::current()) const;
  Tensor sub_(const TensorLike& other, SourceLocation where = SourceLocation::current()) const;
  /// a b.
  [[nodiscard]] Tensor mul(const TensorLike& b, SourceLocation where = SourceLocation::current()) const;
  Tensor mul_(const TensorLike& other, SourceLocation where = SourceLocation::current()) const;
  /// a / b; integers give float32.
  [[nodiscard]] Tensor div(const TensorLike& b, SourceLocation where = SourceLocation::current()) const;
  Tensor div_(const TensorLike& other, SourceLocation where = SourceLocation::current()) const;
  /// a / b as a whole number, in the common dtype; floor as floor_divide.  ValueError for integers over 0.  Gradient:
  /// none.
  [[nodiscard]] Tensor div(const TensorLike& b, Rounding rounding, SourceLocation where = SourceLocation::current()) const;
  /// The largest integer not above a / b.  Gradient: none.
  [[nodiscard]] Tensor floor_divide(const TensorLike& b, SourceLocation where = SourceLocation::current()) const;
  Tensor floor_divide_(const TensorLike& other, SourceLocation where = SourceLocation::current()) const;
  /// a - b trunc(a / b): the sign of a.
  [[nodiscard]] Tensor fmod(const TensorLike& b, SourceLocation where = SourceLocation::current()) const;
  Tensor fmod_(const TensorLike& other, SourceLocation where = SourceLocation::current()) const;
  /// a - b floor(a / b): the sign of b.
  [[nodiscard]] Tensor remainder(const TensorLike& b, SourceLocation where = SourceLocation::current()) const;
  Tensor remainder_(const TensorLike& other, SourceLocation where = SourceLocation::current()) const;
  /// a^b.
  [[nodiscard]] Tensor pow(const TensorLike& b, SourceLocation where = SourceLocation::current()) const;
  Tensor pow_(const TensorLike& other, SourceLocation where = SourceLocation::current()) const;
  /// The larger; NaN wins.  Equal elements share the gradient.
  [[nodiscard]] Tensor maximum(const TensorLike& b, SourceLocation where = SourceLocation::current()) const;
  Tensor maximum_(const TensorLike& other, SourceLocation where = SourceLocation::current()) const;
  /// The smaller; NaN wins.  Equal elements share the gradient.
  [[nodiscard]] Tensor minimum(const TensorLike& b, SourceLocation where = SourceLocation::current()) const;
  Tensor minimum_(const TensorLike& other, SourceLocation where = SourceLocation::current()) const;
  /// The larger; a number wins over NaN.  Equal elements share the gradient.
  [[nodiscard]] Tensor fmax(const TensorLike& b, SourceLocation where = SourceLocation::current()) const;
  /// The smaller; a number wins over NaN.  Equal elements share the gradient.
  [[nodiscard]] Tensor fmin(const TensorLike& b, SourceLocation where = SourceLocation::current()) const;
  /// The angle of the point (b, a), in radians.
  [[nodiscard]] Tensor atan2(const TensorLike& b, SourceLocation where = SourceLocation::current()) const;
  /// sqrt(a² + b²) without overflow.
  [[nodiscard]] Tensor hypot(const TensorLike& b, SourceLocation where = SourceLocation::current()) const;
  /// |a| with the sign of b.
  [[nodiscard]] Tensor copysign(const TensorLike& b, SourceLocation where = SourceLocation::current()) const;
  /// log(e^a + e^b) without overflow.
  [[nodiscard]] Tensor logaddexp(const TensorLike& b, SourceLocation where = SourceLocation::current()) const;
  [[nodiscard]] Tensor eq(const TensorLike& b, SourceLocation where = SourceLocation::current()) const;
  [[nodiscard]] Tensor ne(const TensorLike& b, SourceLocation where = SourceLocation::current()) const;
  [[nodiscard]] Tensor lt(const TensorLike& b, SourceLocation where = SourceLocation::current()) const;
  [[nodiscard]] Tensor le(const TensorLike& b, SourceLocation where = SourceLocation::current()) const;
  [[nodiscard]] Tensor gt(const TensorLike& b, SourceLocation where = SourceLocation::current()) const;
  [[nodiscard]] Tensor ge(const TensorLike& b, SourceLocation where = SourceLocation::current()) const;
  /// Whether shapes and all elements are equal.  Waits for the device.
  [[nodiscard]] bool equal(const In& b, SourceLocation where = SourceLocation::current()) const;
  /// Whether |a - b| <= atol + rtol |b|, elementwise and broadcast: bool.  NaN is close to nothing, unless equal_nan.
  /// ValueError for a negative rtol or atol.
  [[nodiscard]] Tensor isclose(const In& b, double rtol = 1e-5, double atol = 1e-8, bool equal_nan = false, SourceLocation where = SourceLocation::current()) const;
  /// Whether |a - b| <= atol + rtol |b| everywhere; NaN is equal to nothing, unless equal_nan.  Waits for the device.
  [[nodiscard]] bool allclose(const In& b, double rtol = 1e-5, double atol = 1e-8, bool equal_nan = false, SourceLocation where = SourceLocation::current()) const;
  [[nodiscard]] Tensor logical_and(const TensorLike& b, SourceLocation where = SourceLocation::current()) const;
  [[nodiscard]] Tensor logical_or(const TensorLike& b, SourceLocation where = SourceLocation::current()) const;
  [[nodiscard]] Tensor logical_xor(const TensorLike& b, SourceLocation where = SourceLocation::current()) const;
  [[nodiscard]] Tensor bitwise_and(const TensorLike& b, SourceLocation where = SourceLocation::current()) const;
  [[nodiscard]] Tensor bitwise_or(const TensorLike& b, SourceLocation where = SourceLocation::current()) const;
  [[nodiscard]] Tensor bitwise_xor(const TensorLike& b, SourceLocation where = SourceLocation::current()) const;
  [[nodiscard]] Tensor left_shift(const TensorLike& b, SourceLocation where = SourceLocation::current()) const;
  [[nodiscard]] Tensor right_shift(const TensorLike& b, SourceLocation where = SourceLocation::current()) const;
  /// x limited to [low, high], elementwise and broadcast, in the common dtype; `high` where low is above it; NaN in any
  /// of them gives NaN.  An undefined bound is none (ValueError if both are).  Where x is a bound, both get half of the
  /// gradient.
  [[nodiscard]] Tensor clamp(const TensorLike& low, const TensorLike& high, SourceLocation where = SourceLocation::current()) const;
  /// clamp with lower bounds only.
  [[nodiscard]] Tensor clamp_min(const In& low, SourceLocation where = SourceLocation::current()) const;
  /// clamp with upper bounds only.
  [[nodiscard]] Tensor clamp_max(const In& high, SourceLocation where = SourceLocation::current()) const;
  /// a + weight (b - a).
  [[nodiscard]] Tensor lerp(const In& b, const TensorLike& weight, SourceLocation where = SourceLocation::current()) const;
  /// a + alpha b, a - alpha b.
  [[nodiscard]] Tensor add(const In& b, Scalar alpha, SourceLocation where = SourceLocation::current()) const;
  Tensor add_(const In& other, Scalar alpha, SourceLocation where = SourceLocation::current()) const;
  [[nodiscard]] Tensor sub(const In& b, Scalar alpha, SourceLocation where = SourceLocation::current()) const;
  Tensor sub_(const In& other, Scalar alpha, SourceLocation where = SourceLocation::current()) const;
  /// a + value * b * c.
  [[nodiscard]] Tensor addcmul(const In& b, const In& c, double value = 1, SourceLocation where = SourceLocation::current()) const;
  /// a + value * b / c.
  [[nodiscard]] Tensor addcdiv(const In& b, const In& c, double value = 1, SourceLocation where = SourceLocation::current()) const;
  /// Writes source, broadcast and converted, from any device.
  Tensor copy_(const In& source, SourceLocation where = SourceLocation::current()) const;
  /// Writes a number to each element.  Gradient: none.
  Tensor fill_(Scalar value, SourceLocation where = SourceLocation::current()) const;
  /// fill_(self, 0).
  Tensor zero_(SourceLocation where = SourceLocation::current()) const;
  /// -x.
  [[nodiscard]] Tensor neg(SourceLocation where = SourceLocation::current()) const;
  Tensor neg_(SourceLocation where = SourceLocation::current()) const;
  /// |x|.
  [[nodiscard]] Tensor abs(SourceLocation where = SourceLocation::current()) const;
  Tensor abs_(SourceLocation where = SourceLocation::current()) const;
  /// -1, 0 or 1.
  [[nodiscard]] Tensor sign(SourceLocation where = SourceLocation::current()) const;
  /// e^x.
  [[nodiscard]] Tensor exp(SourceLocation where = SourceLocation::current()) const;
  Tensor exp_(SourceLocation where = SourceLocation::current()) const;
  /// 2^x.
  [[nodiscard]] Tensor exp2(SourceLocation where = SourceLocation::current()) const;
  /// e^x - 1, exact near 0.
  [[nodiscard]] Tensor expm1(SourceLocation where = SourceLocation::current()) const;
  /// Natural logarithm.
  [[nodiscard]] Tensor log(SourceLocation where = SourceLocation::current()) const;
  Tensor log_(SourceLocation where = SourceLocation::current()) const;
  /// Logarithm to base 2.
  [[nodiscard]] Tensor log2(SourceLocation where = SourceLocation::current()) const;
  /// Logarithm to base 10.
  [[nodiscard]] Tensor log10(SourceLocation where = SourceLocation::current()) const;
  /// log(1 + x), exact near 0.
  [[nodiscard]] Tensor log1p(SourceLocation where = SourceLocation::current()) const;
  /// √x.
  [[nodiscard]] Tensor sqrt(SourceLocation where = SourceLocation::current()) const;
  Tensor sqrt_(SourceLocation where = SourceLocation::current()) const;
  /// 1 / √x.
  [[nodiscard]] Tensor rsqrt(SourceLocation where = SourceLocation::current()) const;
  Tensor rsqrt_(SourceLocation where = SourceLocation::current()) const;
  /// x²; of bool as int64, as in PyTorch.
  [[nodiscard]] Tensor square(SourceLocation where = SourceLocation::current()) const;
  Tensor square_(SourceLocation where = SourceLocation::current()) const;
  /// 1 / x.
  [[nodiscard]] Tensor reciprocal(SourceLocation where = SourceLocation::current()) const;
  Tensor reciprocal_(SourceLocation where = SourceLocation::current()) const;
  /// The sine of x in radians.
  [[nodiscard]] Tensor sin(SourceLocation where = SourceLocation::current()) const;
  Tensor sin_(SourceLocation where = SourceLocation::current()) const;
  /// The cosine of x in radians.
  [[nodiscard]] Tensor cos(SourceLocation where = SourceLocation::current()) const;
  Tensor cos_(SourceLocation where = SourceLocation::current()) const;
  /// The tangent of x in radians.
  [[nodiscard]] Tensor tan(SourceLocation where = SourceLocation::current()) const;
  /// The inverse of sin, in radians; NaN outside [-1, 1].
  [[nodiscard]] Tensor asin(SourceLocation where = SourceLocation::current()) const;
  /// The inverse of cos, in radians; NaN outside [-1, 1].
  [[nodiscard]] Tensor acos(SourceLocation where = SourceLocation::current()) const;
  /// The inverse of tan, in radians.
  [[nodiscard]] Tensor atan(SourceLocation where = SourceLocation::current()) const;
  /// (e^x - e^-x) / 2.
  [[nodiscard]] Tensor sinh(SourceLocation where = SourceLocation::current()) const;
  /// (e^x + e^-x) / 2.
  [[nodiscard]] Tensor cosh(SourceLocation where = SourceLocation::current()) const;
  /// sinh(x) / cosh(x).
  [[nodiscard]] Tensor tanh(SourceLocation where = SourceLocation::current()) const;
  Tensor tanh_(SourceLocation where = SourceLocation::current()) const;
  /// The inverse of sinh.
  [[nodiscard]] Tensor asinh(SourceLocation where = SourceLocation::current()) const;
  /// The inverse of cosh; NaN below 1.
  [[nodiscard]] Tensor acosh(SourceLocation where = SourceLocation::current()) const;
  /// The inverse of tanh; NaN outside [-1, 1].
  [[nodiscard]] Tensor atanh(SourceLocation where = SourceLocation::current()) const;
  /// The error function: 2 / √π ∫ e^(-t²) dt from 0 to x.
  [[nodiscard]] Tensor erf(SourceLocation where = SourceLocation::current()) const;
  /// 1 - erf(x), exact for large x.
  [[nodiscard]] Tensor erfc(SourceLocation where = SourceLocation::current()) const;
  /// The inverse of erf.
  [[nodiscard]] Tensor erfinv(SourceLocation where = SourceLocation::current()) const;
  Tensor erfinv_(SourceLocation where = SourceLocation::current()) const;
  /// log |Γ(x)|.
  [[nodiscard]] Tensor lgamma(SourceLocation where = SourceLocation::current()) const;
  /// The derivative of lgamma.
  [[nodiscard]] Tensor digamma(SourceLocation where = SourceLocation::current()) const;
  /// log(x / (1 - x)).
  [[nodiscard]] Tensor logit(SourceLocation where = SourceLocation::current()) const;
  /// Rounded down.  Gradient 0.
  [[nodiscard]] Tensor floor(SourceLocation where = SourceLocation::current()) const;
  Tensor floor_(SourceLocation where = SourceLocation::current()) const;
  /// Rounded up.  Gradient 0.
  [[nodiscard]] Tensor ceil(SourceLocation where = SourceLocation::current()) const;
  Tensor ceil_(SourceLocation where = SourceLocation::current()) const;
  /// Rounded to the nearest integer, half to even.  Gradient 0.
  [[nodiscard]] Tensor round(SourceLocation where = SourceLocation::current()) const;
  Tensor round_(SourceLocation where = SourceLocation::current()) const;
  /// Rounded towards 0.  Gradient 0.
  [[nodiscard]] Tensor trunc(SourceLocation where = SourceLocation::current()) const;
  Tensor trunc_(SourceLocation where = SourceLocation::current()) const;
  /// x - trunc(x).
  [[nodiscard]] Tensor frac(SourceLocation where = SourceLocation::current()) const;
  /// Whether x is NaN: bool.
  [[nodiscard]] Tensor isnan(SourceLocation where = SourceLocation::current()) const;
  /// Whether x is ±infinity: bool.
  [[nodiscard]] Tensor isinf(SourceLocation where = SourceLocation::current()) const;
  /// Whether x is neither NaN nor ±infinity: bool.
  [[nodiscard]] Tensor isfinite(SourceLocation where = SourceLocation::current()) const;
  /// Whether x is 0: bool.
  [[nodiscard]] Tensor logical_not(SourceLocation where = SourceLocation::current()) const;
  /// All bits inverted; logical not for bool.  DTypeError for floating-point tensors.
  [[nodiscard]] Tensor bitwise_not(SourceLocation where = SourceLocation::current()) const;
  /// 1 / (1 + e^-x).
  [[nodiscard]] Tensor sigmoid(SourceLocation where = SourceLocation::current()) const;
  Tensor sigmoid_(SourceLocation where = SourceLocation::current()) const;
  /// log(sigmoid(x)) without overflow.
  [[nodiscard]] Tensor log_sigmoid(SourceLocation where = SourceLocation::current()) const;
  /// max(x, 0).
  [[nodiscard]] Tensor relu(SourceLocation where = SourceLocation::current()) const;
  Tensor relu_(SourceLocation where = SourceLocation::current()) const;
  /// min(max(x, 0), 6).
  [[nodiscard]] Tensor relu6(SourceLocation where = SourceLocation::current()) const;
  /// scale x, or scale alpha (e^x - 1) below 0, Klambauer et al. 2017.
  [[nodiscard]] Tensor selu(SourceLocation where = SourceLocation::current()) const;
  /// x Φ(x), Hendrycks and Gimpel 2016.
  [[nodiscard]] Tensor gelu(SourceLocation where = SourceLocation::current()) const;
  Tensor gelu_(SourceLocation where = SourceLocation::current()) const;
  /// GELU by its tanh approximation.
  [[nodiscard]] Tensor gelu_tanh(SourceLocation where = SourceLocation::current()) const;
  /// x sigmoid(x).
  [[nodiscard]] Tensor silu(SourceLocation where = SourceLocation::current()) const;
  Tensor silu_(SourceLocation where = SourceLocation::current()) const;
  /// x tanh(softplus(x)), Misra 2019.
  [[nodiscard]] Tensor mish(SourceLocation where = SourceLocation::current()) const;
  /// x relu6(x + 3) / 6, Howard et al. 2019.
  [[nodiscard]] Tensor hardswish(SourceLocation where = SourceLocation::current()) const;
  /// relu6(x + 3) / 6.
  [[nodiscard]] Tensor hardsigmoid(SourceLocation where = SourceLocation::current()) const;
  /// x / (1 + |x|).
  [[nodiscard]] Tensor softsign(SourceLocation where = SourceLocation::current()) const;
  /// x - tanh(x).
  [[nodiscard]] Tensor tanhshrink(SourceLocation where = SourceLocation::current()) const;
  /// log(1 + e^(beta x)) / beta; linear above the threshold.
  [[nodiscard]] Tensor softplus(double beta = 1, double threshold = 20, SourceLocation where = SourceLocation::current()) const;
  /// x; slope x below 0.
  [[nodiscard]] Tensor leaky_relu(double slope = 0.01, SourceLocation where = SourceLocation::current()) const;
  /// x; alpha (e^x - 1) below 0.
  [[nodiscard]] Tensor elu(double alpha = 1, SourceLocation where = SourceLocation::current()) const;
  /// x; alpha (e^(x / alpha) - 1) below 0.
  [[nodiscard]] Tensor celu(double alpha = 1, SourceLocation where = SourceLocation::current()) const;
  /// x limited to [low, high].  ValueError for low > high.
  [[nodiscard]] Tensor hardtanh(double low = -1, double high = 1, SourceLocation where = SourceLocation::current()) const;
  /// x moved towards 0 by lambda.  ValueError for a negative lambda.
  [[nodiscard]] Tensor softshrink(double lambda = 0.5, SourceLocation where = SourceLocation::current()) const;
  /// x; 0 within [-lambda, lambda].
  [[nodiscard]] Tensor hardshrink(double lambda = 0.5, SourceLocation where = SourceLocation::current()) const;
  /// x above the limit; value at and below it.
  [[nodiscard]] Tensor threshold(double limit, double value, SourceLocation where = SourceLocation::current()) const;
  /// x limited to [low, high]; NaN stays.  Integers become float32 if a bound is not a whole number (clamp_: DTypeError).
  [[nodiscard]] Tensor clamp(double low = -kInfinity, double high = kInfinity, SourceLocation where = SourceLocation::current()) const;
  Tensor clamp_(double low = -kInfinity, double high = kInfinity, SourceLocation where = SourceLocation::current()) const;
  /// x with `nan` for NaN, and posinf and neginf for the infinities: without them the largest finite numbers of the
  /// dtype.  Integers stay as they are.
  [[nodiscard]] Tensor nan_to_num(double nan = 0, ::std::optional<double> posinf = {}, ::std::optional<double> neginf = {}, SourceLocation where = SourceLocation::current()) const;
  /// clamp with a lower bound only.
  [[nodiscard]] Tensor clamp_min(double low, SourceLocation where = SourceLocation::current()) const;
  /// clamp with an upper bound only.
  [[nodiscard]] Tensor clamp_max(double high, SourceLocation where = SourceLocation::current()) const;
  /// Σ x; 0 for no elements.  int64 for integers and bool.
  [[nodiscard]] Tensor sum(const Dims& dims = {}, bool keepdim = false, SourceLocation where = SourceLocation::current()) const;
  /// Σ x / n; NaN for no elements.  DTypeError unless x is floating-point.
  [[nodiscard]] Tensor mean(const Dims& dims = {}, bool keepdim = false, SourceLocation where = SourceLocation::current()) const;
  /// Σ (x - mean)² / (n - correction); 1 gives the unbiased estimate.  DTypeError unless x is floating-point.
  [[nodiscard]] Tensor var(const Dims& dims = {}, double correction = 1, bool keepdim = false, SourceLocation where = SourceLocation::current()) const;
  /// √var; as a method x.std().  The gradient is 0 where var is 0.  (A free function cannot be called std.)
  [[nodiscard]] Tensor std(const Dims& dims = {}, double correction = 1, bool keepdim = false, SourceLocation where = SourceLocation::current()) const;
  /// Π x; 1 for no elements.  int64 for integers and bool.
  [[nodiscard]] Tensor prod(const Dims& dims = {}, bool keepdim = false, SourceLocation where = SourceLocation::current()) const;
  /// The largest and the smallest element; NaN if there is one.  Equal elements share the gradient, and so do NaNs (in
  /// PyTorch all elements then get a gradient of NaN).  ShapeError for no elements.
  [[nodiscard]] Tensor amax(const Dims& dims = {}, bool keepdim = false, SourceLocation where = SourceLocation::current()) const;
  [[nodiscard]] Tensor amin(const Dims& dims = {}, bool keepdim = false, SourceLocation where = SourceLocation::current()) const;
  /// Whether any element is not zero: bool.  all(x) is in tensor/index.h, where `all` is also an index.
  [[nodiscard]] Tensor any(const Dims& dims = {}, bool keepdim = false, SourceLocation where = SourceLocation::current()) const;
  /// (Σ|x|^p)^(1/p); p may be 0 (the number of elements that are not 0), 1, 2, any number, or
  /// ±infinity.  DTypeError unless x is floating-point.
  [[nodiscard]] Tensor norm(double p = 2, const Dims& dims = {}, bool keepdim = false, SourceLocation where = SourceLocation::current()) const;
  /// log Σ e^x without overflow; -infinity for no elements.   dx = g softmax(x).
  [[nodiscard]] Tensor logsumexp(const Dims& dims = {}, bool keepdim = false, SourceLocation where = SourceLocation::current()) const;
  /// Running sums, of the shape of x: y[i] = x[0] + ... + x[i] along dim.  int64 for integers and bool.  float32 is
  /// summed in float64, on every device.  dx is the running sum of g from the end.
  [[nodiscard]] Tensor cumsum(int dim, SourceLocation where = SourceLocation::current()) const;
  [[nodiscard]] MinMax max(int dim, bool keepdim = false, SourceLocation where = SourceLocation::current()) const;
  [[nodiscard]] MinMax min(int dim, bool keepdim = false, SourceLocation where = SourceLocation::current()) const;
  /// Of all elements; the same as amax(x) and amin(x).
  [[nodiscard]] Tensor max(SourceLocation where = SourceLocation::current()) const;
  [[nodiscard]] Tensor min(SourceLocation where = SourceLocation::current()) const;
  /// Elementwise; the same as maximum(a, b) and minimum(a, b).
  [[nodiscard]] Tensor max(const In& b, SourceLocation where = SourceLocation::current()) const;
  [[nodiscard]] Tensor min(const In& b, SourceLocation where = SourceLocation::current()) const;
  /// The index (int64) of the largest or smallest element: of all elements in row-major order, or along dim.  The first
  /// of equal elements; of a NaN if there is one.
  [[nodiscard]] Tensor argmax(SourceLocation where = SourceLocation::current()) const;
  [[nodiscard]] Tensor argmin(SourceLocation where = SourceLocation::current()) const;
  [[nodiscard]] Tensor argmax(int dim, bool keepdim = false, SourceLocation where = SourceLocation::current()) const;
  [[nodiscard]] Tensor argmin(int dim, bool keepdim = false, SourceLocation where = SourceLocation::current()) const;
  /// Matrix product by PyTorch's rules.   a: [..., M, K]  b: [..., K, N]  ->  [..., M, N]; leading dimensions
  /// are broadcast; a vector is a row (a) or a column (b), whose dimension is removed from the result.  ShapeError if the
  /// inner sizes differ, DTypeError if the dtypes do.   da = g bᵀ   db = aᵀ g.
  [[nodiscard]] Tensor matmul(const In& b, SourceLocation where = SourceLocation::current()) const;
  /// Products of operands with a fixed number of dimensions: mm of two matrices, bmm of two batches of matrices, mv of a
  /// matrix and a vector, dot of two vectors (a 0-dim tensor), outer of two vectors (the matrix a bᵀ).  ShapeError for
  /// others.
  [[nodiscard]] Tensor mm(const In& b, SourceLocation where = SourceLocation::current()) const;
  [[nodiscard]] Tensor bmm(const In& b, SourceLocation where = SourceLocation::current()) const;
  [[nodiscard]] Tensor mv(const In& b, SourceLocation where = SourceLocation::current()) const;
  [[nodiscard]] Tensor dot(const In& b, SourceLocation where = SourceLocation::current()) const;
  [[nodiscard]] Tensor outer(const In& b, SourceLocation where = SourceLocation::current()) const;
  /// Products of a and b, summed over the last `dims` dimensions of a and the first of b; or over those of two lists,
  /// pair by pair.  ShapeError if their sizes differ.
  [[nodiscard]] Tensor tensordot(const In& b, int dims = 2, SourceLocation where = SourceLocation::current()) const;
  [[nodiscard]] Tensor tensordot(const In& b, const Dims& dims_a, const Dims& dims_b, SourceLocation where = SourceLocation::current()) const;
  /// The Kronecker product: b times each element of a, block by block.   [..., M, N] and [..., P, Q]  ->  [..., M P, N
  /// Q], for any number of dimensions.
  [[nodiscard]] Tensor kron(const In& b, SourceLocation where = SourceLocation::current()) const;
  /// The vectors orthogonal to those of a and b along dim, of size 3: a[1] b[2] - a[2] b[1], ...  The others are
  /// broadcast.
  [[nodiscard]] Tensor cross(const In& b, int dim = -1, SourceLocation where = SourceLocation::current()) const;
  /// The sum of the diagonal of a matrix.
  [[nodiscard]] Tensor trace(SourceLocation where = SourceLocation::current()) const;
  /// beta input + alpha (a b), for matrices and for batches of matrices; input is broadcast to the product.  With beta =
  /// 0 input does not count, even where it is not finite, and its gradient is 0.  ShapeError and DTypeError as for mm and
  /// bmm.
  [[nodiscard]] Tensor addmm(const In& a, const In& b, Scalar beta = 1, Scalar alpha = 1, SourceLocation where = SourceLocation::current()) const;
  [[nodiscard]] Tensor baddbmm(const In& a, const In& b, Scalar beta = 1, Scalar alpha = 1, SourceLocation where = SourceLocation::current()) const;
  /// y = e^x / Σ e^x along dim, of the shape of x.   dx = y (g - Σ g y).  DTypeError unless x is floating-point,
  /// IndexError for a dimension out of range.
  [[nodiscard]] Tensor softmax(int dim, SourceLocation where = SourceLocation::current()) const;
  /// y = x - log Σ e^x along dim, of the shape of x.   dx = g - e^y Σ g.  DTypeError unless x is floating-point,
  /// IndexError for a dimension out of range.
  [[nodiscard]] Tensor log_softmax(int dim, SourceLocation where = SourceLocation::current()) const;
  /// out[i][j] = x[index[i][j]][j] for dim 0, and so on.  index: x's number of dimensions, none larger than x's except
  /// dim. The gradient is scatter_add.
  [[nodiscard]] Tensor gather(int dim, const In& index, SourceLocation where = SourceLocation::current()) const;
  /// A copy y of x with y[index[i][j]][j] += source[i][j] for dim 0, and so on.  source: in no dimension smaller than
  /// index (what is beyond is not read), the dtype of x.
  [[nodiscard]] Tensor scatter_add(int dim, const In& index, const In& source, SourceLocation where = SourceLocation::current()) const;
  /// The slices of x along dim at the indices of index [n]   ->  the shape of x with n in the place of dim.
  [[nodiscard]] Tensor index_select(int dim, const In& index, SourceLocation where = SourceLocation::current()) const;
  /// A copy of x, of its shape, with the slices of source added to the slices at the indices of index [n].
  [[nodiscard]] Tensor index_add(int dim, const In& index, const In& source, SourceLocation where = SourceLocation::current()) const;
  /// Parts of `size` each; the last may be smaller.  ValueError for a size below 1 (0 for an empty dimension).
  [[nodiscard]] ::std::vector<Tensor> split(::std::int64_t size, int dim = 0, SourceLocation where = SourceLocation::current()) const;
  /// Parts of these sizes.  ShapeError unless they add up to the dimension's.
  [[nodiscard]] ::std::vector<Tensor> split(const ::std::vector<::std::int64_t>& sizes, int dim = 0, SourceLocation where = SourceLocation::current()) const;
  [[nodiscard]] ::std::vector<Tensor> split(::std::initializer_list<::std::int64_t> sizes, int dim = 0, SourceLocation where = SourceLocation::current()) const;
  /// At most `chunks` parts of one size; the last may be smaller.  ValueError for less than 1.
  [[nodiscard]] ::std::vector<Tensor> chunk(::std::int64_t chunks, int dim = 0, SourceLocation where = SourceLocation::current()) const;
  /// The slices along a dimension, without it: {x.select(dim, 0), x.select(dim, 1), ...}.
  [[nodiscard]] ::std::vector<Tensor> unbind(int dim = 0, SourceLocation where = SourceLocation::current()) const;
  /// A copy: x repeated times[d] times along dimension d; a longer list adds dimensions in front.
  [[nodiscard]] Tensor repeat(const Shape& times, SourceLocation where = SourceLocation::current()) const;
  /// A copy of x, of its shape, with the elements along dims in reverse order.
  [[nodiscard]] Tensor flip(const Dims& dims, SourceLocation where = SourceLocation::current()) const;
  /// The indices of the elements that are not zero, in row-major order.   x: any shape  ->  int64 [n, x.dim()].  The host
  /// waits for the device.  No gradient.
  [[nodiscard]] Tensor nonzero(SourceLocation where = SourceLocation::current()) const;
  /// x where the mask is false, value where it is true.   mask: bool, broadcast with x; else DTypeError.  Gradients for x
  /// and for a tensor `value`.
  [[nodiscard]] Tensor masked_fill(const In& mask, const TensorLike& value, SourceLocation where = SourceLocation::current()) const;
  Tensor masked_fill_(const In& mask, const TensorLike& value, SourceLocation where = SourceLocation::current()) const;
  /// The elements where the mask is true, one-dimensional.   mask: bool, broadcast with x.  The host waits
  /// for the device.
  [[nodiscard]] Tensor masked_select(const In& mask, SourceLocation where = SourceLocation::current()) const;
  /// x on and below the diagonal of its last two dimensions, 0 above; diagonal 1 is the one above the
  /// main diagonal.  ShapeError below two dimensions.
  [[nodiscard]] Tensor tril(::std::int64_t diagonal = 0, SourceLocation where = SourceLocation::current()) const;
  /// x on and above the diagonal of its last two dimensions, 0 below; as tril().
  [[nodiscard]] Tensor triu(::std::int64_t diagonal = 0, SourceLocation where = SourceLocation::current()) const;
  /// gather(x, dim, index), but x and index are broadcast in the other dimensions; without dim, elements of x.flatten().
  /// ShapeError unless x and index have one number of dimensions.
  [[nodiscard]] Tensor take_along_dim(const In& index, ::std::optional<int> dim = {}, SourceLocation where = SourceLocation::current()) const;
  /// A copy of x with `value` in the slices along dim at the indices of index [n], which count from the end if negative.
  /// value: a number, or a 0-dim tensor.  Gradients for x and for a tensor `value`.
  [[nodiscard]] Tensor index_fill(int dim, const In& index, const TensorLike& value, SourceLocation where = SourceLocation::current()) const;
  Tensor index_fill_(int dim, const In& index, const TensorLike& value, SourceLocation where = SourceLocation::current()) const;
  /// A copy of x with the elements of source, in their order, where the mask is true.   mask: bool, broadcast with x
  /// source: x's dtype; IndexError if it has fewer elements than there are true ones.
  [[nodiscard]] Tensor masked_scatter(const In& mask, const In& source, SourceLocation where = SourceLocation::current()) const;
  Tensor masked_scatter_(const In& mask, const In& source, SourceLocation where = SourceLocation::current()) const;
  /// The diagonal of the dimensions dim1 and dim2 as a view, whose last dimension it is.  offset 1 is the one above the
  /// main diagonal.  IndexError for a dimension out of range, ValueError if both are the same.
  [[nodiscard]] Tensor diagonal(::std::int64_t offset = 0, int dim1 = 0, int dim2 = 1, SourceLocation where = SourceLocation::current()) const;
  /// Of a vector the square matrix with x on the diagonal and 0 elsewhere, of a matrix a copy of its diagonal.
  /// ShapeError for others.
  [[nodiscard]] Tensor diag(::std::int64_t diagonal = 0, SourceLocation where = SourceLocation::current()) const;
  /// Matrices with the vectors of x on their diagonals and 0 elsewhere: the inverse of diagonal().   [..., n]  ->
  /// [..., n + |offset|, n + |offset|], whose dimensions become dim1 and dim2 of the result.
  [[nodiscard]] Tensor diag_embed(::std::int64_t offset = 0, int dim1 = -2, int dim2 = -1, SourceLocation where = SourceLocation::current()) const;
  /// The windows of `size` elements that begin at every `step`-th one of dimension dim, as a view: their number replaces
  /// the dimension, their elements are a new last one.   [..., n, ...]  ->  [..., (n - size) / step + 1, ..., size].
  /// ShapeError for windows that do not fit, ValueError for a step below 1.
  [[nodiscard]] Tensor unfold(int dim, ::std::int64_t size, ::std::int64_t step, SourceLocation where = SourceLocation::current()) const;
  /// Dimension dim divided into `sizes`, one of which may be -1: the inverse of flatten.  ShapeError unless their product
  /// is its size.
  [[nodiscard]] Tensor unflatten(int dim, const Shape& sizes, SourceLocation where = SourceLocation::current()) const;
  /// Each element `repeats` times, one after the other, along dim; without dim those of x.flatten().  ValueError for a
  /// negative number.
  [[nodiscard]] Tensor repeat_interleave(::std::int64_t repeats, ::std::optional<int> dim = {}, SourceLocation where = SourceLocation::current()) const;
  /// Element i repeats[i] times.   repeats: int64 or int32, with one element or one for each element of the dimension.
  /// The host waits for the device.
  [[nodiscard]] Tensor repeat_interleave(const In& repeats, ::std::optional<int> dim = {}, SourceLocation where = SourceLocation::current()) const;
  /// repeat(x, times), but a shorter list counts for the last dimensions.
  [[nodiscard]] Tensor tile(const Shape& times, SourceLocation where = SourceLocation::current()) const;
  /// x, of its shape, with the elements along dims shifted, those past the end coming back at the beginning: a shift for
  /// each of dims, or one without dims for the elements of x.flatten().  ValueError for another number of shifts.
  [[nodiscard]] Tensor roll(const Shape& shifts, const Dims& dims = {}, SourceLocation where = SourceLocation::current()) const;
  /// The sum of the elements that are not NaN; int64 for integers and bool.  NaNs get a gradient of 0.
  [[nodiscard]] Tensor nansum(const Dims& dims = {}, bool keepdim = false, SourceLocation where = SourceLocation::current()) const;
  /// The mean of the elements that are not NaN; NaN where there are none.  DTypeError unless x is floating-point.
  [[nodiscard]] Tensor nanmean(const Dims& dims = {}, bool keepdim = false, SourceLocation where = SourceLocation::current()) const;
  /// The number of elements that are not zero (NaN is not): int64.  No gradient.
  [[nodiscard]] Tensor count_nonzero(const Dims& dims = {}, SourceLocation where = SourceLocation::current()) const;
  /// How often each number occurs.   x: integers [n], 0 or more  ->  int64 [max(largest + 1, minlength)].  The host waits
  /// for the device.  ValueError for a negative element or minlength.  No gradient.
  [[nodiscard]] Tensor bincount(::std::int64_t minlength = 0, SourceLocation where = SourceLocation::current()) const;
  /// The sums of the weights [n] of each number: float32 if the weights are, otherwise float64.
  [[nodiscard]] Tensor bincount(const In& weights, ::std::int64_t minlength = 0, SourceLocation where = SourceLocation::current()) const;
  /// 1 with the probability that each element of p is, else 0; the dtype and shape of p.  DTypeError unless p is
  /// floating-point; ValueError for p outside of [0, 1] on the cpu, elsewhere the nearest counts: a check would wait.
  [[nodiscard]] Tensor bernoulli(RandomGenerator* generator = nullptr, SourceLocation where = SourceLocation::current()) const;
  /// Indices of columns, drawn with probabilities in proportion to the weights.   weights: floating-point [m] or [n, m],
  /// 0 or more, not all 0 in a row -> int64 [count] or [n, count].  Without replacement no index is drawn twice from a
  /// row. ValueError for weights that are negative or not finite, or fewer positive ones than are needed; on a GPU at the
  /// next synchronization.
  [[nodiscard]] Tensor multinomial(::std::int64_t count, bool replacement = false, RandomGenerator* generator = nullptr, SourceLocation where = SourceLocation::current()) const;
  /// Uniform in [low, high).
  Tensor uniform_(double low = 0, double high = 1, RandomGenerator* generator = nullptr, SourceLocation where = SourceLocation::current()) const;
  /// Normal.
  Tensor normal_(double mean = 0, double std = 1, RandomGenerator* generator = nullptr, SourceLocation where = SourceLocation::current()) const;
  /// e^z with z normal.
  Tensor log_normal_(double mean = 1, double std = 2, RandomGenerator* generator = nullptr, SourceLocation where = SourceLocation::current()) const;
  /// Density rate e^(-rate x) from 0 on.
  Tensor exponential_(double rate = 1, RandomGenerator* generator = nullptr, SourceLocation where = SourceLocation::current()) const;
  /// Density 1 / (pi scale (1 + ((x - median) / scale)^2)).
  Tensor cauchy_(double median = 0, double scale = 1, RandomGenerator* generator = nullptr, SourceLocation where = SourceLocation::current()) const;
  /// The number of trials up to the first success, of probability p in (0, 1).  Integers too, at most their largest.
  Tensor geometric_(double p, RandomGenerator* generator = nullptr, SourceLocation where = SourceLocation::current()) const;
  /// 1 with probability p, else 0.  All dtypes.
  Tensor bernoulli_(double p = 0.5, RandomGenerator* generator = nullptr, SourceLocation where = SourceLocation::current()) const;
  /// Integers in [low, high), in tensors of all dtypes.  ValueError unless low < high and x can hold both ends.
  Tensor random_(::std::int64_t low, ::std::int64_t high, RandomGenerator* generator = nullptr, SourceLocation where = SourceLocation::current()) const;
  /// Integers from 0 to the largest up to which x holds all.
  Tensor random_(RandomGenerator* generator = nullptr, SourceLocation where = SourceLocation::current()) const;
  /// Running products.  int64 for integers and bool.   dx[i] = y[i - 1] s[i] with s[i] = g[i] + x[i + 1] s[i + 1],
  /// without a quotient, so that zeros have gradients.
  [[nodiscard]] Tensor cumprod(int dim, SourceLocation where = SourceLocation::current()) const;
  /// log(e^x[0] + ... + e^x[i]) without overflow.  DTypeError unless x is floating-point.
  [[nodiscard]] Tensor logcumsumexp(int dim, SourceLocation where = SourceLocation::current()) const;
  /// Differences of neighbours along dim, n times: x[i + 1] - x[i].  ValueError for n below 0, or no dimension.
  [[nodiscard]] Tensor diff(::std::int64_t n = 1, int dim = -1, SourceLocation where = SourceLocation::current()) const;
  /// The largest or smallest element so far, and the index (int64) of the last of equal ones; NaN from the first NaN on.
  [[nodiscard]] Ordered cummax(int dim, SourceLocation where = SourceLocation::current()) const;
  [[nodiscard]] Ordered cummin(int dim, SourceLocation where = SourceLocation::current()) const;
  /// A copy y of x with y[index[i][j]][j] = source[i][j] for dim 0, and so on.   source: a tensor, or a number.  Of
  /// several sources the last one is written, and gets the gradient.  With reduce as scatter_reduce.
  [[nodiscard]] Tensor scatter(int dim, const In& index, const TensorLike& source, ::std::optional<Scatter> reduce = {}, SourceLocation where = SourceLocation::current()) const;
  Tensor scatter_(int dim, const In& index, const TensorLike& source, ::std::optional<Scatter> reduce = {}, SourceLocation where = SourceLocation::current()) const;
  /// scatter_add() in place.
  Tensor scatter_add_(int dim, const In& index, const In& source, SourceLocation where = SourceLocation::current()) const;
  /// A copy of x in which the elements that index means are the sum (product, mean, ...) of their sources, and of their
  /// own value if include_self.  Means of integers round down.  Equal largest elements share the gradient.
  [[nodiscard]] Tensor scatter_reduce(int dim, const In& index, const In& source, Scatter reduce, bool include_self = true, SourceLocation where = SourceLocation::current()) const;
  Tensor scatter_reduce_(int dim, const In& index, const In& source, Scatter reduce, bool include_self = true, SourceLocation where = SourceLocation::current()) const;
  /// A copy of x with the slices of source in the places of index [n] along dim.   source: the shape of x, n along dim.
  /// Of several sources the last one is written, and gets the gradient.
  [[nodiscard]] Tensor index_copy(int dim, const In& index, const In& source, SourceLocation where = SourceLocation::current()) const;
  Tensor index_copy_(int dim, const In& index, const In& source, SourceLocation where = SourceLocation::current()) const;
  /// index_add() in place.
  Tensor index_add_(int dim, const In& index, const In& source, SourceLocation where = SourceLocation::current()) const;
  /// How many elements are in each of `bins` bins of one width between min and max, both included   ->  [bins].  Others
  /// are left out.  The range is that of the elements if min = max.  The dtype of x.  DTypeError unless x is
  /// floating-point; ValueError for no bins, or a range that is not finite.  No gradient.
  [[nodiscard]] Tensor histc(::std::int64_t bins = 100, double min = 0, double max = 0, SourceLocation where = SourceLocation::current()) const;
  /// The different elements of x in ascending order.  Each NaN is another.  The host waits for the device.  No gradient.
  /// With dim the different slices x(dim = i), in ascending order of their first elements, then their second ones, ...;
  /// inverse is then int64 [size of dim].  One sort for each element of a slice.  ShapeError for slices without elements.
  [[nodiscard]] Unique unique(bool return_inverse = false, bool return_counts = false, ::std::optional<int> dim = {}, SourceLocation where = SourceLocation::current()) const;
  /// The elements of x.flatten() that differ from the one before   ->  values [n], inverse of x's shape, counts [n].  No
  /// gradient.
  [[nodiscard]] Unique unique_consecutive(bool return_inverse = false, bool return_counts = false, SourceLocation where = SourceLocation::current()) const;
  /// Whether each element of x is in `elements`, of any shape: bool.  NaN is in nothing.  No gradient.
  [[nodiscard]] Tensor isin(const In& elements, SourceLocation where = SourceLocation::current()) const;
  /// x in ascending or descending order along dim.
  [[nodiscard]] Ordered sort(int dim = -1, bool descending = false, SourceLocation where = SourceLocation::current()) const;
  /// The indices of sort().  No gradient.
  [[nodiscard]] Tensor argsort(int dim = -1, bool descending = false, SourceLocation where = SourceLocation::current()) const;
  /// The k largest (or smallest) elements along dim, in order.  ValueError for k below 0 or above the dimension's size.
  [[nodiscard]] Ordered topk(::std::int64_t k, int dim = -1, bool largest = true, SourceLocation where = SourceLocation::current()) const;
  /// The k-th smallest element along dim, counted from 1.  ValueError for another k than 1 ... size.
  [[nodiscard]] Ordered kthvalue(::std::int64_t k, int dim = -1, bool keepdim = false, SourceLocation where = SourceLocation::current()) const;
  /// The median of all elements: of an even number the lower one of the two in the middle; NaN if there is a NaN, or no
  /// element.  Elements equal to it share the gradient.  ShapeError for an empty integer tensor.
  [[nodiscard]] Tensor median(SourceLocation where = SourceLocation::current()) const;
  /// The median along dim; of a NaN if there is one.  ShapeError for no elements.
  [[nodiscard]] Ordered median(int dim, bool keepdim = false, SourceLocation where = SourceLocation::current()) const;
  /// The median of the elements that are not NaN; NaN if there is none.  Otherwise as median.
  [[nodiscard]] Tensor nanmedian(SourceLocation where = SourceLocation::current()) const;
  /// The same along dim.  ShapeError for no elements.
  [[nodiscard]] Ordered nanmedian(int dim, bool keepdim = false, SourceLocation where = SourceLocation::current()) const;
  /// The q-quantile of all elements, or along dim: the element at q (n - 1) of those in order, interpolated between
  /// neighbours. NaN if there is a NaN.  DTypeError unless float32 or float64; ValueError for q outside of [0, 1],
  /// ShapeError for no elements.
  [[nodiscard]] Tensor quantile(double q, ::std::optional<int> dim = {}, bool keepdim = false, Quantile interpolation = {}, SourceLocation where = SourceLocation::current()) const;
  /// The same for each element of q: [n] or 0-dim, of x's dtype, which is checked on a CPU alone.   -> [n, ...].  It has
  /// a gradient too: that of the line.
  [[nodiscard]] Tensor quantile(const In& q, ::std::optional<int> dim = {}, bool keepdim = false, Quantile interpolation = {}, SourceLocation where = SourceLocation::current()) const;
  /// The most frequent element along dim, the smallest of several, and the index of its last occurrence.  ShapeError for
  /// no elements.
  [[nodiscard]] Ordered mode(int dim = -1, bool keepdim = false, SourceLocation where = SourceLocation::current()) const;
  /// Whether no element is zero, of all or along dims: bool.
  [[nodiscard]] Tensor all(const Dims& dims = {}, bool keepdim = false, SourceLocation where = SourceLocation::current()) const;

 protected:
  Methods() = default;
  Methods(const Methods&) = default;
  Methods& operator=(const Methods&) = default;
  ~Methods() = default;

 private:
  const Tensor& self() const;
};

}  // namespace detail
}  // namespace minnow
