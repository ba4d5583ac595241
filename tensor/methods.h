// Written by ops/make_methods.py from the functions in ops: change those and run it.
// clang-format off
#pragma once

#include <vector>
#include <minnow/tensor/scalar.h>
#include <minnow/tensor/shape.h>
#include <minnow/tensor/source_location.h>

namespace minnow {

class Tensor;
struct In;
struct MinMax;

namespace detail {

/// The functions of ops as members of Tensor, each with the tensor as its first operand; an in-place one ends
/// with an underscore, and gives the tensor itself.
class Methods {
 public:
  /// a + b.
  [[nodiscard]] Tensor add(const In& b, SourceLocation where = SourceLocation::current()) const;
  [[nodiscard]] Tensor add(Scalar b, SourceLocation where = SourceLocation::current()) const;
  /// a - b.
  [[nodiscard]] Tensor sub(const In& b, SourceLocation where = SourceLocation::current()) const;
  [[nodiscard]] Tensor sub(Scalar b, SourceLocation where = SourceLocation::current()) const;
  /// a b.
  [[nodiscard]] Tensor mul(const In& b, SourceLocation where = SourceLocation::current()) const;
  [[nodiscard]] Tensor mul(Scalar b, SourceLocation where = SourceLocation::current()) const;
  /// a / b; integers give float32.
  [[nodiscard]] Tensor div(const In& b, SourceLocation where = SourceLocation::current()) const;
  [[nodiscard]] Tensor div(Scalar b, SourceLocation where = SourceLocation::current()) const;
  /// The largest integer not above a / b.  Gradient: none.
  [[nodiscard]] Tensor floor_divide(const In& b, SourceLocation where = SourceLocation::current()) const;
  [[nodiscard]] Tensor floor_divide(Scalar b, SourceLocation where = SourceLocation::current()) const;
  /// a - b trunc(a / b): the sign of a.
  [[nodiscard]] Tensor fmod(const In& b, SourceLocation where = SourceLocation::current()) const;
  [[nodiscard]] Tensor fmod(Scalar b, SourceLocation where = SourceLocation::current()) const;
  /// a - b floor(a / b): the sign of b.
  [[nodiscard]] Tensor remainder(const In& b, SourceLocation where = SourceLocation::current()) const;
  [[nodiscard]] Tensor remainder(Scalar b, SourceLocation where = SourceLocation::current()) const;
  /// a^b.
  [[nodiscard]] Tensor pow(const In& b, SourceLocation where = SourceLocation::current()) const;
  [[nodiscard]] Tensor pow(Scalar b, SourceLocation where = SourceLocation::current()) const;
  /// The larger; NaN wins.  Equal elements share the gradient.
  [[nodiscard]] Tensor maximum(const In& b, SourceLocation where = SourceLocation::current()) const;
  [[nodiscard]] Tensor maximum(Scalar b, SourceLocation where = SourceLocation::current()) const;
  /// The smaller; NaN wins.  Equal elements share the gradient.
  [[nodiscard]] Tensor minimum(const In& b, SourceLocation where = SourceLocation::current()) const;
  [[nodiscard]] Tensor minimum(Scalar b, SourceLocation where = SourceLocation::current()) const;
  /// The larger; a number wins over NaN.  Equal elements share the gradient.
  [[nodiscard]] Tensor fmax(const In& b, SourceLocation where = SourceLocation::current()) const;
  [[nodiscard]] Tensor fmax(Scalar b, SourceLocation where = SourceLocation::current()) const;
  /// The smaller; a number wins over NaN.  Equal elements share the gradient.
  [[nodiscard]] Tensor fmin(const In& b, SourceLocation where = SourceLocation::current()) const;
  [[nodiscard]] Tensor fmin(Scalar b, SourceLocation where = SourceLocation::current()) const;
  /// The angle of the point (b, a), in radians.
  [[nodiscard]] Tensor atan2(const In& b, SourceLocation where = SourceLocation::current()) const;
  [[nodiscard]] Tensor atan2(Scalar b, SourceLocation where = SourceLocation::current()) const;
  /// sqrt(a² + b²) without overflow.
  [[nodiscard]] Tensor hypot(const In& b, SourceLocation where = SourceLocation::current()) const;
  [[nodiscard]] Tensor hypot(Scalar b, SourceLocation where = SourceLocation::current()) const;
  /// |a| with the sign of b.
  [[nodiscard]] Tensor copysign(const In& b, SourceLocation where = SourceLocation::current()) const;
  [[nodiscard]] Tensor copysign(Scalar b, SourceLocation where = SourceLocation::current()) const;
  /// log(e^a + e^b) without overflow.
  [[nodiscard]] Tensor logaddexp(const In& b, SourceLocation where = SourceLocation::current()) const;
  [[nodiscard]] Tensor logaddexp(Scalar b, SourceLocation where = SourceLocation::current()) const;
  [[nodiscard]] Tensor eq(const In& b, SourceLocation where = SourceLocation::current()) const;
  [[nodiscard]] Tensor eq(Scalar b, SourceLocation where = SourceLocation::current()) const;
  [[nodiscard]] Tensor ne(const In& b, SourceLocation where = SourceLocation::current()) const;
  [[nodiscard]] Tensor ne(Scalar b, SourceLocation where = SourceLocation::current()) const;
  [[nodiscard]] Tensor lt(const In& b, SourceLocation where = SourceLocation::current()) const;
  [[nodiscard]] Tensor lt(Scalar b, SourceLocation where = SourceLocation::current()) const;
  [[nodiscard]] Tensor le(const In& b, SourceLocation where = SourceLocation::current()) const;
  [[nodiscard]] Tensor le(Scalar b, SourceLocation where = SourceLocation::current()) const;
  [[nodiscard]] Tensor gt(const In& b, SourceLocation where = SourceLocation::current()) const;
  [[nodiscard]] Tensor gt(Scalar b, SourceLocation where = SourceLocation::current()) const;
  [[nodiscard]] Tensor ge(const In& b, SourceLocation where = SourceLocation::current()) const;
  [[nodiscard]] Tensor ge(Scalar b, SourceLocation where = SourceLocation::current()) const;
  /// Whether shapes and all elements are equal.  Waits for the device.
  [[nodiscard]] bool equal(const In& b, SourceLocation where = SourceLocation::current()) const;
  /// Whether |a - b| <= atol + rtol |b| everywhere; NaN is equal to nothing, unless equal_nan.  Waits for the device.
  [[nodiscard]] bool allclose(const In& b, double rtol = 1e-5, double atol = 1e-8, bool equal_nan = false, SourceLocation where = SourceLocation::current()) const;
  [[nodiscard]] Tensor logical_and(const In& b, SourceLocation where = SourceLocation::current()) const;
  [[nodiscard]] Tensor logical_or(const In& b, SourceLocation where = SourceLocation::current()) const;
  [[nodiscard]] Tensor logical_xor(const In& b, SourceLocation where = SourceLocation::current()) const;
  [[nodiscard]] Tensor bitwise_and(const In& b, SourceLocation where = SourceLocation::current()) const;
  [[nodiscard]] Tensor bitwise_and(Scalar b, SourceLocation where = SourceLocation::current()) const;
  [[nodiscard]] Tensor bitwise_or(const In& b, SourceLocation where = SourceLocation::current()) const;
  [[nodiscard]] Tensor bitwise_or(Scalar b, SourceLocation where = SourceLocation::current()) const;
  [[nodiscard]] Tensor bitwise_xor(const In& b, SourceLocation where = SourceLocation::current()) const;
  [[nodiscard]] Tensor bitwise_xor(Scalar b, SourceLocation where = SourceLocation::current()) const;
  [[nodiscard]] Tensor left_shift(const In& b, SourceLocation where = SourceLocation::current()) const;
  [[nodiscard]] Tensor left_shift(Scalar b, SourceLocation where = SourceLocation::current()) const;
  [[nodiscard]] Tensor right_shift(const In& b, SourceLocation where = SourceLocation::current()) const;
  [[nodiscard]] Tensor right_shift(Scalar b, SourceLocation where = SourceLocation::current()) const;
  /// a + weight (b - a).
  [[nodiscard]] Tensor lerp(const In& b, const In& weight, SourceLocation where = SourceLocation::current()) const;
  [[nodiscard]] Tensor lerp(const In& b, double weight, SourceLocation where = SourceLocation::current()) const;
  /// a + alpha b, a - alpha b.
  [[nodiscard]] Tensor add(const In& b, Scalar alpha, SourceLocation where = SourceLocation::current()) const;
  [[nodiscard]] Tensor sub(const In& b, Scalar alpha, SourceLocation where = SourceLocation::current()) const;
  /// a + value * b * c.
  [[nodiscard]] Tensor addcmul(const In& b, const In& c, double value = 1, SourceLocation where = SourceLocation::current()) const;
  /// a + value * b / c.
  [[nodiscard]] Tensor addcdiv(const In& b, const In& c, double value = 1, SourceLocation where = SourceLocation::current()) const;
  Tensor add_(const In& other, SourceLocation where = SourceLocation::current()) const;
  Tensor add_(Scalar other, SourceLocation where = SourceLocation::current()) const;
  /// self += alpha other, self -= alpha other.
  Tensor add_(const In& other, Scalar alpha, SourceLocation where = SourceLocation::current()) const;
  Tensor sub_(const In& other, Scalar alpha, SourceLocation where = SourceLocation::current()) const;
  Tensor sub_(const In& other, SourceLocation where = SourceLocation::current()) const;
  Tensor sub_(Scalar other, SourceLocation where = SourceLocation::current()) const;
  Tensor mul_(const In& other, SourceLocation where = SourceLocation::current()) const;
  Tensor mul_(Scalar other, SourceLocation where = SourceLocation::current()) const;
  Tensor div_(const In& other, SourceLocation where = SourceLocation::current()) const;
  Tensor div_(Scalar other, SourceLocation where = SourceLocation::current()) const;
  Tensor floor_divide_(const In& other, SourceLocation where = SourceLocation::current()) const;
  Tensor floor_divide_(Scalar other, SourceLocation where = SourceLocation::current()) const;
  Tensor fmod_(const In& other, SourceLocation where = SourceLocation::current()) const;
  Tensor fmod_(Scalar other, SourceLocation where = SourceLocation::current()) const;
  Tensor remainder_(const In& other, SourceLocation where = SourceLocation::current()) const;
  Tensor remainder_(Scalar other, SourceLocation where = SourceLocation::current()) const;
  Tensor pow_(const In& other, SourceLocation where = SourceLocation::current()) const;
  Tensor pow_(Scalar other, SourceLocation where = SourceLocation::current()) const;
  Tensor maximum_(const In& other, SourceLocation where = SourceLocation::current()) const;
  Tensor maximum_(Scalar other, SourceLocation where = SourceLocation::current()) const;
  Tensor minimum_(const In& other, SourceLocation where = SourceLocation::current()) const;
  Tensor minimum_(Scalar other, SourceLocation where = SourceLocation::current()) const;
  /// Writes source, broadcast and converted, from any device.
  Tensor copy_(const In& source, SourceLocation where = SourceLocation::current()) const;
  Tensor fill_(Scalar value, SourceLocation where = SourceLocation::current()) const;
  Tensor zero_(SourceLocation where = SourceLocation::current()) const;
  /// -x.
  [[nodiscard]] Tensor neg(SourceLocation where = SourceLocation::current()) const;
  /// |x|.
  [[nodiscard]] Tensor abs(SourceLocation where = SourceLocation::current()) const;
  /// -1, 0 or 1.
  [[nodiscard]] Tensor sign(SourceLocation where = SourceLocation::current()) const;
  /// e^x.
  [[nodiscard]] Tensor exp(SourceLocation where = SourceLocation::current()) const;
  /// 2^x.
  [[nodiscard]] Tensor exp2(SourceLocation where = SourceLocation::current()) const;
  /// e^x - 1, exact near 0.
  [[nodiscard]] Tensor expm1(SourceLocation where = SourceLocation::current()) const;
  /// Natural logarithm.
  [[nodiscard]] Tensor log(SourceLocation where = SourceLocation::current()) const;
  /// Logarithm to base 2.
  [[nodiscard]] Tensor log2(SourceLocation where = SourceLocation::current()) const;
  /// Logarithm to base 10.
  [[nodiscard]] Tensor log10(SourceLocation where = SourceLocation::current()) const;
  /// log(1 + x), exact near 0.
  [[nodiscard]] Tensor log1p(SourceLocation where = SourceLocation::current()) const;
  /// √x.
  [[nodiscard]] Tensor sqrt(SourceLocation where = SourceLocation::current()) const;
  /// 1 / √x.
  [[nodiscard]] Tensor rsqrt(SourceLocation where = SourceLocation::current()) const;
  /// x²; of bool as int64, as in PyTorch.
  [[nodiscard]] Tensor square(SourceLocation where = SourceLocation::current()) const;
  /// 1 / x.
  [[nodiscard]] Tensor reciprocal(SourceLocation where = SourceLocation::current()) const;
  /// Of x in radians.
  [[nodiscard]] Tensor sin(SourceLocation where = SourceLocation::current()) const;
  /// Of x in radians.
  [[nodiscard]] Tensor cos(SourceLocation where = SourceLocation::current()) const;
  /// Of x in radians.
  [[nodiscard]] Tensor tan(SourceLocation where = SourceLocation::current()) const;
  /// In radians; NaN outside [-1, 1].
  [[nodiscard]] Tensor asin(SourceLocation where = SourceLocation::current()) const;
  /// In radians; NaN outside [-1, 1].
  [[nodiscard]] Tensor acos(SourceLocation where = SourceLocation::current()) const;
  /// In radians.
  [[nodiscard]] Tensor atan(SourceLocation where = SourceLocation::current()) const;
  [[nodiscard]] Tensor sinh(SourceLocation where = SourceLocation::current()) const;
  [[nodiscard]] Tensor cosh(SourceLocation where = SourceLocation::current()) const;
  [[nodiscard]] Tensor tanh(SourceLocation where = SourceLocation::current()) const;
  [[nodiscard]] Tensor asinh(SourceLocation where = SourceLocation::current()) const;
  [[nodiscard]] Tensor acosh(SourceLocation where = SourceLocation::current()) const;
  [[nodiscard]] Tensor atanh(SourceLocation where = SourceLocation::current()) const;
  /// The error function.
  [[nodiscard]] Tensor erf(SourceLocation where = SourceLocation::current()) const;
  /// 1 - erf(x), exact for large x.
  [[nodiscard]] Tensor erfc(SourceLocation where = SourceLocation::current()) const;
  /// The inverse of erf.
  [[nodiscard]] Tensor erfinv(SourceLocation where = SourceLocation::current()) const;
  /// log |Γ(x)|.
  [[nodiscard]] Tensor lgamma(SourceLocation where = SourceLocation::current()) const;
  /// The derivative of lgamma; it has none of its own here.
  [[nodiscard]] Tensor digamma(SourceLocation where = SourceLocation::current()) const;
  /// log(x / (1 - x)).
  [[nodiscard]] Tensor logit(SourceLocation where = SourceLocation::current()) const;
  /// Gradient 0.
  [[nodiscard]] Tensor floor(SourceLocation where = SourceLocation::current()) const;
  /// Gradient 0.
  [[nodiscard]] Tensor ceil(SourceLocation where = SourceLocation::current()) const;
  /// Half to even; gradient 0.
  [[nodiscard]] Tensor round(SourceLocation where = SourceLocation::current()) const;
  /// Gradient 0.
  [[nodiscard]] Tensor trunc(SourceLocation where = SourceLocation::current()) const;
  /// x - trunc(x).
  [[nodiscard]] Tensor frac(SourceLocation where = SourceLocation::current()) const;
  /// Bool.
  [[nodiscard]] Tensor isnan(SourceLocation where = SourceLocation::current()) const;
  /// Bool.
  [[nodiscard]] Tensor isinf(SourceLocation where = SourceLocation::current()) const;
  /// Bool.
  [[nodiscard]] Tensor isfinite(SourceLocation where = SourceLocation::current()) const;
  /// Bool: x is 0.
  [[nodiscard]] Tensor logical_not(SourceLocation where = SourceLocation::current()) const;
  /// Integers and bool.
  [[nodiscard]] Tensor bitwise_not(SourceLocation where = SourceLocation::current()) const;
  /// 1 / (1 + e^-x).
  [[nodiscard]] Tensor sigmoid(SourceLocation where = SourceLocation::current()) const;
  /// log(sigmoid(x)) without overflow.
  [[nodiscard]] Tensor log_sigmoid(SourceLocation where = SourceLocation::current()) const;
  /// max(x, 0).
  [[nodiscard]] Tensor relu(SourceLocation where = SourceLocation::current()) const;
  /// min(max(x, 0), 6).
  [[nodiscard]] Tensor relu6(SourceLocation where = SourceLocation::current()) const;
  /// Klambauer et al. 2017.
  [[nodiscard]] Tensor selu(SourceLocation where = SourceLocation::current()) const;
  /// x Φ(x), Hendrycks and Gimpel 2016.
  [[nodiscard]] Tensor gelu(SourceLocation where = SourceLocation::current()) const;
  /// GELU by its tanh approximation.
  [[nodiscard]] Tensor gelu_tanh(SourceLocation where = SourceLocation::current()) const;
  /// x sigmoid(x).
  [[nodiscard]] Tensor silu(SourceLocation where = SourceLocation::current()) const;
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
  /// x, or slope x below 0.
  [[nodiscard]] Tensor leaky_relu(double slope = 0.01, SourceLocation where = SourceLocation::current()) const;
  /// x, or alpha (e^x - 1) below 0.
  [[nodiscard]] Tensor elu(double alpha = 1, SourceLocation where = SourceLocation::current()) const;
  /// x, or alpha (e^(x / alpha) - 1) below 0.
  [[nodiscard]] Tensor celu(double alpha = 1, SourceLocation where = SourceLocation::current()) const;
  /// x within [low, high].
  [[nodiscard]] Tensor hardtanh(double low = -1, double high = 1, SourceLocation where = SourceLocation::current()) const;
  /// x moved towards 0 by lambda.
  [[nodiscard]] Tensor softshrink(double lambda = 0.5, SourceLocation where = SourceLocation::current()) const;
  /// x, or 0 within [-lambda, lambda].
  [[nodiscard]] Tensor hardshrink(double lambda = 0.5, SourceLocation where = SourceLocation::current()) const;
  /// x, or value at and below the limit.
  [[nodiscard]] Tensor threshold(double limit, double value, SourceLocation where = SourceLocation::current()) const;
  /// x within [low, high]; NaN stays.
  [[nodiscard]] Tensor clamp(double low = -kInfinity, double high = kInfinity, SourceLocation where = SourceLocation::current()) const;
  /// NaN becomes `nan`, the infinities the largest finite numbers; integers stay as they are.
  [[nodiscard]] Tensor nan_to_num(double nan = 0, SourceLocation where = SourceLocation::current()) const;
  [[nodiscard]] Tensor clamp_min(double low, SourceLocation where = SourceLocation::current()) const;
  [[nodiscard]] Tensor clamp_max(double high, SourceLocation where = SourceLocation::current()) const;
  Tensor neg_(SourceLocation where = SourceLocation::current()) const;
  Tensor abs_(SourceLocation where = SourceLocation::current()) const;
  Tensor exp_(SourceLocation where = SourceLocation::current()) const;
  Tensor log_(SourceLocation where = SourceLocation::current()) const;
  Tensor sqrt_(SourceLocation where = SourceLocation::current()) const;
  Tensor rsqrt_(SourceLocation where = SourceLocation::current()) const;
  Tensor square_(SourceLocation where = SourceLocation::current()) const;
  Tensor reciprocal_(SourceLocation where = SourceLocation::current()) const;
  Tensor sin_(SourceLocation where = SourceLocation::current()) const;
  Tensor cos_(SourceLocation where = SourceLocation::current()) const;
  Tensor tanh_(SourceLocation where = SourceLocation::current()) const;
  Tensor erfinv_(SourceLocation where = SourceLocation::current()) const;
  Tensor floor_(SourceLocation where = SourceLocation::current()) const;
  Tensor ceil_(SourceLocation where = SourceLocation::current()) const;
  Tensor round_(SourceLocation where = SourceLocation::current()) const;
  Tensor trunc_(SourceLocation where = SourceLocation::current()) const;
  Tensor sigmoid_(SourceLocation where = SourceLocation::current()) const;
  Tensor relu_(SourceLocation where = SourceLocation::current()) const;
  Tensor gelu_(SourceLocation where = SourceLocation::current()) const;
  Tensor silu_(SourceLocation where = SourceLocation::current()) const;
  Tensor clamp_(double low = -kInfinity, double high = kInfinity, SourceLocation where = SourceLocation::current()) const;
  /// Integers and bool sum to int64.
  [[nodiscard]] Tensor sum(const Dims& dims = {}, bool keepdim = false, SourceLocation where = SourceLocation::current()) const;
  /// Sum over number; floating only; NaN for no elements.
  [[nodiscard]] Tensor mean(const Dims& dims = {}, bool keepdim = false, SourceLocation where = SourceLocation::current()) const;
  /// The mean squared distance from the mean, over n - correction (1: the unbiased estimate).
  [[nodiscard]] Tensor var(const Dims& dims = {}, double correction = 1, bool keepdim = false, SourceLocation where = SourceLocation::current()) const;
  /// √var; x.std() as a member.  (As a free function std is the name of a namespace.)
  [[nodiscard]] Tensor std(const Dims& dims = {}, double correction = 1, bool keepdim = false, SourceLocation where = SourceLocation::current()) const;
  [[nodiscard]] Tensor prod(const Dims& dims = {}, bool keepdim = false, SourceLocation where = SourceLocation::current()) const;
  /// Largest and smallest; NaN wins; equal ones share the gradient, and so do NaNs (with PyTorch's amax all elements get a
  /// gradient of NaN then).  ShapeError for no elements.
  [[nodiscard]] Tensor amax(const Dims& dims = {}, bool keepdim = false, SourceLocation where = SourceLocation::current()) const;
  [[nodiscard]] Tensor amin(const Dims& dims = {}, bool keepdim = false, SourceLocation where = SourceLocation::current()) const;
  /// Bool: an element is not zero.  all(x) is in tensor/index.h, where `all` is an index as well.
  [[nodiscard]] Tensor any(const Dims& dims = {}, bool keepdim = false, SourceLocation where = SourceLocation::current()) const;
  /// (Σ|x|^p)^(1/p); p may be 0 (count), 1, 2, any number, or ±infinity.
  [[nodiscard]] Tensor norm(double p = 2, const Dims& dims = {}, bool keepdim = false, SourceLocation where = SourceLocation::current()) const;
  /// log Σ e^x without overflow; -infinity for no elements.
  [[nodiscard]] Tensor logsumexp(const Dims& dims = {}, bool keepdim = false, SourceLocation where = SourceLocation::current()) const;
  /// Running sums: y[i] = x[0] + ... + x[i] along dim.  Integers and bool give int64.  float32 is summed in float64, on every
  /// device.  The gradient is the running sum from the end.
  [[nodiscard]] Tensor cumsum(int dim, SourceLocation where = SourceLocation::current()) const;
  [[nodiscard]] MinMax max(int dim, bool keepdim = false, SourceLocation where = SourceLocation::current()) const;
  [[nodiscard]] MinMax min(int dim, bool keepdim = false, SourceLocation where = SourceLocation::current()) const;
  [[nodiscard]] Tensor max(SourceLocation where = SourceLocation::current()) const;
  [[nodiscard]] Tensor min(SourceLocation where = SourceLocation::current()) const;
  /// The same as maximum and minimum.
  [[nodiscard]] Tensor max(const In& b, SourceLocation where = SourceLocation::current()) const;
  [[nodiscard]] Tensor min(const In& b, SourceLocation where = SourceLocation::current()) const;
  /// Over all elements in row-major order, or one dimension.  int64.
  [[nodiscard]] Tensor argmax(SourceLocation where = SourceLocation::current()) const;
  [[nodiscard]] Tensor argmin(SourceLocation where = SourceLocation::current()) const;
  [[nodiscard]] Tensor argmax(int dim, bool keepdim = false, SourceLocation where = SourceLocation::current()) const;
  [[nodiscard]] Tensor argmin(int dim, bool keepdim = false, SourceLocation where = SourceLocation::current()) const;
  /// Matrix product by PyTorch's rules.   a: [..., M, K]  b: [..., K, N]  ->  [..., M, N]; leading dimensions
  /// are broadcast; a vector is a row (a) or column (b) that disappears again.  ShapeError when the inner sizes
  /// differ, DTypeError when the dtypes do.   da = g bᵀ   db = aᵀ g.
  [[nodiscard]] Tensor matmul(const In& b, SourceLocation where = SourceLocation::current()) const;
  /// Matrix products that take one number of dimensions only: two matrices, two batches of matrices, a matrix and a vector,
  /// two vectors (to a 0-dim tensor), two vectors to the matrix a bᵀ.  ShapeError for others.
  [[nodiscard]] Tensor mm(const In& b, SourceLocation where = SourceLocation::current()) const;
  [[nodiscard]] Tensor bmm(const In& b, SourceLocation where = SourceLocation::current()) const;
  [[nodiscard]] Tensor mv(const In& b, SourceLocation where = SourceLocation::current()) const;
  [[nodiscard]] Tensor dot(const In& b, SourceLocation where = SourceLocation::current()) const;
  [[nodiscard]] Tensor outer(const In& b, SourceLocation where = SourceLocation::current()) const;
  /// e^x over its sum along dim.   dx = y (g - Σ g y).
  [[nodiscard]] Tensor softmax(int dim, SourceLocation where = SourceLocation::current()) const;
  /// x - log Σ e^x along dim.   dx = g - e^y Σ g.
  [[nodiscard]] Tensor log_softmax(int dim, SourceLocation where = SourceLocation::current()) const;
  /// out[i][j] = x[index[i][j]][j] for dim 0, and so on; the gradient is scatter_add.
  [[nodiscard]] Tensor gather(int dim, const In& index, SourceLocation where = SourceLocation::current()) const;
  /// A copy of x with source added where index says; the inverse direction of gather.
  [[nodiscard]] Tensor scatter_add(int dim, const In& index, const In& source, SourceLocation where = SourceLocation::current()) const;
  /// The slices of x along dim that index [n] names.
  [[nodiscard]] Tensor index_select(int dim, const In& index, SourceLocation where = SourceLocation::current()) const;
  /// A copy of x with the slices of source added to those that index [n] names.
  [[nodiscard]] Tensor index_add(int dim, const In& index, const In& source, SourceLocation where = SourceLocation::current()) const;
  /// Parts of `size` each, the last one of what is left.  ValueError for a size below 1 (0 for an empty dimension).
  [[nodiscard]] ::std::vector<Tensor> split(::std::int64_t size, int dim = 0, SourceLocation where = SourceLocation::current()) const;
  /// Parts of these sizes.  ShapeError unless they add up to the dimension's.
  [[nodiscard]] ::std::vector<Tensor> split(const ::std::vector<::std::int64_t>& sizes, int dim = 0, SourceLocation where = SourceLocation::current()) const;
  [[nodiscard]] ::std::vector<Tensor> split(::std::initializer_list<::std::int64_t> sizes, int dim = 0, SourceLocation where = SourceLocation::current()) const;
  /// At most `chunks` parts of one size, the last one of what is left.  ValueError for less than 1.
  [[nodiscard]] ::std::vector<Tensor> chunk(::std::int64_t chunks, int dim = 0, SourceLocation where = SourceLocation::current()) const;
  /// All indices of a dimension, which disappears: {x.select(dim, 0), x.select(dim, 1), ...}.
  [[nodiscard]] ::std::vector<Tensor> unbind(int dim = 0, SourceLocation where = SourceLocation::current()) const;
  /// x repeated along each dimension, as often as `times` says; a longer list adds dimensions in front.
  [[nodiscard]] Tensor repeat(const Shape& times, SourceLocation where = SourceLocation::current()) const;
  /// x with the order of the elements along dims turned round: a copy.
  [[nodiscard]] Tensor flip(const Dims& dims, SourceLocation where = SourceLocation::current()) const;
  /// x with the elements along dim moved on by shift, those at the end to the front.
  [[nodiscard]] Tensor roll(::std::int64_t shift, int dim, SourceLocation where = SourceLocation::current()) const;
  /// The places of the elements that are not zero, in row-major order.   x: any shape  ->  int64 [n, x.dim()].  Waits for
  /// the device.  Gradient: none.
  [[nodiscard]] Tensor nonzero(SourceLocation where = SourceLocation::current()) const;
  /// x where the mask is false, value where it is true.   mask: bool, broadcast with x.  The gradient goes where each
  /// element came from.
  [[nodiscard]] Tensor masked_fill(const In& mask, Scalar value, SourceLocation where = SourceLocation::current()) const;
  [[nodiscard]] Tensor masked_fill(const In& mask, const In& value, SourceLocation where = SourceLocation::current()) const;
  Tensor masked_fill_(const In& mask, Scalar value, SourceLocation where = SourceLocation::current()) const;
  /// The elements where the mask is true, one-dimensional.   mask: bool, broadcast with x.  Waits for the device.
  [[nodiscard]] Tensor masked_select(const In& mask, SourceLocation where = SourceLocation::current()) const;
  /// x on and below the diagonal of its last two dimensions, 0 above; diagonal 1 is the one above the main one.
  [[nodiscard]] Tensor tril(::std::int64_t diagonal = 0, SourceLocation where = SourceLocation::current()) const;
  /// x on and above the diagonal, 0 below.
  [[nodiscard]] Tensor triu(::std::int64_t diagonal = 0, SourceLocation where = SourceLocation::current()) const;
  /// Bool: all elements, or those along dims, are not zero.
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
