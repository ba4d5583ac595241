// The derivatives of the elementwise functions' slopes, out of functions that record, so that every order has the next
// one.
#include <array>
#include <cstdint>
#include <limits>
#include <numbers>
#include <utility>
#include <minnow/ops/detail/unary.h>
#include <minnow/ops/elementwise/arithmetic.h>
#include <minnow/ops/elementwise/unary.h>
#include <minnow/tensor/create.h>
#include <minnow/tensor/kernels/unary.h>

namespace minnow::detail {
namespace {

using Curve = UnaryCurve;

template <class F> constexpr Curve kCurve = nullptr;
template <class F> constexpr double kFactor = 0;

namespace k = kernels;
using T = const Tensor&;

/// h where condition holds, else 0, also where h is infinite or NaN.
Tensor only_where(const Tensor& condition, const Tensor& h) { return where(condition, h, 0.0); }
/// h a e^(x / b) where x < 0, else 0.  exp takes nothing positive, so that its gradient is finite where it is not
/// chosen.
Tensor left_exp(T h, T x, double a, double b) {
  return only_where(lt(x, 0.0), h * exp(clamp(x, -std::numeric_limits<double>::infinity(), 0) / b) * a);
}
/// The normal distribution's density.
Tensor normal_density(T x) { return exp(square(x) * -0.5) * 0.398942280401432678; }

template <> constexpr Curve kCurve<k::Exp> = [](T h, T, double, double) { return h; };
template <> constexpr Curve kCurve<k::Exp2> = [](T h, T, double, double) { return h * std::numbers::ln2; };
template <> constexpr Curve kCurve<k::Expm1> = [](T h, T, double, double) { return h; };
template <> constexpr Curve kCurve<k::Log> = [](T h, T x, double, double) { return -h / square(x); };
template <>
constexpr Curve kCurve<k::Log2> = [](T h, T x, double, double) { return h / square(x) * -std::numbers::log2e; };
template <>
constexpr Curve kCurve<k::Log10> = [](T h, T x, double, double) { return h / square(x) * -std::numbers::log10e; };
template <> constexpr Curve kCurve<k::Log1p> = [](T h, T x, double, double) { return -h / square(x + 1); };
template <> constexpr Curve kCurve<k::Sqrt> = [](T h, T y, double, double) { return h / square(y) * -0.5; };
template <> constexpr Curve kCurve<k::Rsqrt> = [](T h, T y, double, double) { return h * square(y) * -1.5; };
template <> constexpr Curve kCurve<k::Square> = [](T h, T, double, double) { return h * 2; };
template <> constexpr double kFactor<k::Reciprocal> = -2;
template <> constexpr Curve kCurve<k::Sin> = [](T h, T x, double, double) { return h * -sin(x); };
template <> constexpr Curve kCurve<k::Cos> = [](T h, T x, double, double) { return h * -cos(x); };
template <> constexpr double kFactor<k::Tan> = 2;
template <>
constexpr Curve kCurve<k::Asin> = [](T h, T x, double, double) { return h * x * pow_scalar(1 - square(x), -1.5); };
template <>
constexpr Curve kCurve<k::Acos> = [](T h, T x, double, double) { return -h * x * pow_scalar(1 - square(x), -1.5); };
template <>
constexpr Curve kCurve<k::Atan> =
    [](T h, T x, double, double) { return h * x * square(reciprocal(square(x) + 1)) * -2; };
template <> constexpr Curve kCurve<k::Sinh> = [](T h, T x, double, double) { return h * sinh(x); };
template <> constexpr Curve kCurve<k::Cosh> = [](T h, T x, double, double) { return h * cosh(x); };
template <> constexpr double kFactor<k::Tanh> = -2;
template <>
constexpr Curve kCurve<k::Asinh> = [](T h, T x, double, double) { return -h * x * pow_scalar(square(x) + 1, -1.5); };
template <>
constexpr Curve kCurve<k::Acosh> = [](T h, T x, double, double) { return -h * x * pow_scalar(square(x) - 1, -1.5); };
template <>
constexpr Curve kCurve<k::Atanh> =
    [](T h, T x, double, double) { return h * x * square(reciprocal(1 - square(x))) * 2; };
template <>
constexpr Curve kCurve<k::Erf> =
    [](T h, T x, double, double) { return h * x * exp(-square(x)) * (-4 * std::numbers::inv_sqrtpi); };
template <>
constexpr Curve kCurve<k::Erfc> =
    [](T h, T x, double, double) { return h * x * exp(-square(x)) * (4 * std::numbers::inv_sqrtpi); };
template <>
constexpr Curve kCurve<k::Erfinv> =
    [](T h, T y, double, double) { return h * y * exp(square(y)) / std::numbers::inv_sqrtpi; };
template <> constexpr Curve kCurve<k::Lgamma> = [](T h, T x, double, double) { return h * polygamma(1, x); };
template <> constexpr Curve kCurve<k::Digamma> = [](T h, T x, double, double) { return h * polygamma(2, x); };
template <>
constexpr Curve kCurve<k::Polygamma> =
    [](T h, T x, double n, double) { return h * polygamma(static_cast<std::int64_t>(n) + 2, x); };
template <>
constexpr Curve kCurve<k::Logit> = [](T h, T x, double, double) {
  const Tensor product = x * (1 - x);
  return where(lt(product, 0.0), std::numeric_limits<double>::quiet_NaN(), h * (x * 2 - 1) / square(product));
};
template <>
constexpr Curve kCurve<k::PowScalar> = [](T h, T x, double p, double) {
  return p == 0 || p == 1 ? zeros_like(h) : h * pow_scalar(x, p - 2) * (p * (p - 1));
};
template <> constexpr Curve kCurve<k::Sigmoid> = [](T h, T y, double, double) { return h * (1 - y * 2); };
template <>
constexpr Curve kCurve<k::LogSigmoid> = [](T h, T x, double, double) { return -h * sigmoid(x) * sigmoid(-x); };
template <>
constexpr Curve kCurve<k::Softplus> = [](T h, T x, double beta, double threshold) {
  const Tensor z = x * beta;
  return only_where(lt(z, threshold), h * sigmoid(z) * sigmoid(-z) * beta);
};
template <> constexpr Curve kCurve<k::Elu> = [](T h, T x, double a, double) { return left_exp(h, x, a, 1); };
template <>
constexpr Curve kCurve<k::Selu> =
    [](T h, T x, double, double) { return left_exp(h, x, k::Selu::kScale * k::Selu::kAlpha, 1); };
template <> constexpr Curve kCurve<k::Celu> = [](T h, T x, double a, double) { return left_exp(h, x, 1 / a, a); };
template <>
constexpr Curve kCurve<k::Gelu> = [](T h, T x, double, double) { return h * normal_density(x) * (2 - square(x)); };
template <>
constexpr Curve kCurve<k::GeluTanh> = [](T h, T all, double, double) {
  using k::GeluTanh;
  const Tensor x = clamp(all, -30, 30);  // beyond, sech^2 is 0, and powers of x overflow in float16
  const Tensor u = (x + x * square(x) * GeluTanh::kCubic) * GeluTanh::kRoot;
  const Tensor du = (square(x) * (3 * GeluTanh::kCubic) + 1) * GeluTanh::kRoot;
  const Tensor ddu = x * (6 * GeluTanh::kRoot * GeluTanh::kCubic);
  const Tensor bell = h * sigmoid(u * 2) * sigmoid(u * -2) * 4;
  return bell * du + bell * x * 0.5 * (ddu - tanh(u) * square(du) * 2);
};
template <>
constexpr Curve kCurve<k::Silu> = [](T h, T x, double, double) {
  const Tensor s = sigmoid(x);
  return h * s * sigmoid(-x) * (x * (1 - s * 2) + 2);
};
template <>
constexpr Curve kCurve<k::Mish> = [](T h, T x, double, double) {
  const Tensor t = tanh(softplus(x)), s = sigmoid(x), ws = (1 - square(t)) * s;
  return h * ws * (x * (1 - s - t * s * 2) + 2);
};
template <>
constexpr Curve kCurve<k::Hardswish> = [](T h, T x, double, double) { return only_where(lt(abs(x), 3.0), h / 3); };
template <>
constexpr Curve kCurve<k::Softsign> =
    [](T h, T x, double, double) { return h * sign(x) * pow_scalar(abs(x) + 1, -3) * -2; };
template <>
constexpr Curve kCurve<k::Tanhshrink> = [](T h, T x, double, double) {
  const Tensor t = tanh(x);
  return h * t * (1 - square(t)) * 2;
};
template <>
constexpr Curve kCurve<k::SmoothL1> = [](T h, T x, double b, double s) {
  const bool wide = h.dtype() == DType::float64;  // in float32, s / b is limited to what it holds
  const double c = wide ? k::SmoothL1::bend(b, s) : k::SmoothL1::bend(static_cast<float>(b), static_cast<float>(s));
  return only_where(lt(abs(x), b), h * c);
};

template <class... F> constexpr auto table(k::List<F...>) {
  static_assert((((F::kOrder > 1) == (kCurve<F> != nullptr || kFactor<F> != 0)) && ...));
  return std::array<std::pair<Curve, double>, sizeof...(F)>{std::pair{kCurve<F>, kFactor<F>}...};
}
constexpr auto kCurves = table(k::UnaryOps{});

}  // namespace

UnaryCurve unary_curve(int op) { return kCurves[static_cast<std::size_t>(op)].first; }
double unary_curve_factor(int op) { return kCurves[static_cast<std::size_t>(op)].second; }

}  // namespace minnow::detail
