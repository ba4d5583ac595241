#pragma once

#include <minnow/tensor/kernels/binary.h>
#include <minnow/tensor/kernels/unary_traits.h>

namespace minnow::detail::kernels {

/// y = -x.
struct Neg : PiecewiseLinear<Saves::kNothing, 0, Kind::kNumeric> {
  static constexpr std::string_view kName = "neg";
  static constexpr bool kTakesBool = false;
  template <class T> MINNOW_HD static T value(T x) {
    using U = std::make_unsigned_t<std::conditional_t<std::is_integral_v<T>, T, int>>;
    if constexpr (std::is_integral_v<T>) return static_cast<T>(static_cast<U>(U{0} - static_cast<U>(x)));
    else return -x;
  }
  template <class T> MINNOW_HD static T slope(T) { return T(-1); }
};
/// y = |x|;  dy/dx = sign(x).
struct Abs : PiecewiseLinear<Saves::kInput, 0, Kind::kNumeric> {
  static constexpr std::string_view kName = "abs";
  static constexpr bool kTakesBool = false;
  template <class T> MINNOW_HD static T value(T x) {
    if constexpr (std::is_integral_v<T>) return x < 0 ? Neg::value(x) : x;
    else return math::abs(x);
  }
  template <class T> MINNOW_HD static T slope(T x) { return static_cast<T>((x > T(0)) - (x < T(0))); }
};
/// y = -1, 0 or 1 (0 for NaN).
struct Sign : Step<> {
  static constexpr std::string_view kName = "sign";
  template <class T> MINNOW_HD static T value(T x) { return static_cast<T>((x > T(0)) - (x < T(0))); }
};
/// y = e^x;  dy/dx = y.
struct Exp : Unary<Saves::kOutput> {
  static constexpr std::string_view kName = "exp";
  template <class T> MINNOW_HD static T value(T x) { return math::exp(x); }
  template <class T> MINNOW_HD static T slope(T y) { return y; }
};
/// y = 2^x;  dy/dx = y ln 2.
struct Exp2 : Unary<Saves::kOutput> {
  static constexpr std::string_view kName = "exp2";
  template <class T> MINNOW_HD static T value(T x) { return math::exp2(x); }
  template <class T> MINNOW_HD static T slope(T y) { return y * T(0.693147180559945309); }
};
/// y = e^x - 1;  dy/dx = y + 1.
struct Expm1 : Unary<Saves::kOutput> {
  static constexpr std::string_view kName = "expm1";
  template <class T> MINNOW_HD static T value(T x) { return math::expm1(x); }
  template <class T> MINNOW_HD static T slope(T y) { return y + T(1); }
};
/// y = ln x;  dy/dx = 1 / x.
struct Log : Unary<Saves::kInput> {
  static constexpr std::string_view kName = "log";
  template <class T> MINNOW_HD static T value(T x) { return math::log(x); }
  template <class T> MINNOW_HD static T slope(T x) { return T(1) / x; }
};
/// y = log2 x;  dy/dx = 1 / (x ln 2).
struct Log2 : Unary<Saves::kInput> {
  static constexpr std::string_view kName = "log2";
  template <class T> MINNOW_HD static T value(T x) { return math::log2(x); }
  template <class T> MINNOW_HD static T slope(T x) { return T(1.44269504088896341) / x; }
};
/// y = log10 x;  dy/dx = 1 / (x ln 10).
struct Log10 : Unary<Saves::kInput> {
  static constexpr std::string_view kName = "log10";
  template <class T> MINNOW_HD static T value(T x) { return math::log10(x); }
  template <class T> MINNOW_HD static T slope(T x) { return T(0.434294481903251828) / x; }
};
/// y = ln(1 + x);  dy/dx = 1 / (1 + x).
struct Log1p : Unary<Saves::kInput> {
  static constexpr std::string_view kName = "log1p";
  template <class T> MINNOW_HD static T value(T x) { return math::log1p(x); }
  template <class T> MINNOW_HD static T slope(T x) { return T(1) / (T(1) + x); }
};
/// y = sqrt x;  dy/dx = 1 / (2 y).
struct Sqrt : Unary<Saves::kOutput> {
  static constexpr std::string_view kName = "sqrt";
  template <class T> MINNOW_HD static T value(T x) { return math::sqrt(x); }
  template <class T> MINNOW_HD static T slope(T y) { return T(0.5) / y; }
};
/// y = 1 / sqrt x;  dy/dx = -y^3 / 2.
struct Rsqrt : Unary<Saves::kOutput> {
  static constexpr std::string_view kName = "rsqrt";
  template <class T> MINNOW_HD static T value(T x) { return T(1) / math::sqrt(x); }
  template <class T> MINNOW_HD static T slope(T y) { return T(-0.5) * y * y * y; }
};
/// y = x^2;  dy/dx = 2 x.
struct Square : Unary<Saves::kInput, 0, Kind::kNumeric> {
  static constexpr std::string_view kName = "square";
  static constexpr bool kTakesBool = false;
  template <class T> MINNOW_HD static T value(T x) {
    if constexpr (std::is_integral_v<T>)
      return static_cast<T>(static_cast<std::uint64_t>(x) * static_cast<std::uint64_t>(x));
    else return x * x;
  }
  template <class T> MINNOW_HD static T slope(T x) { return T(2) * x; }
};
/// y = 1 / x;  dy/dx = -y^2.
struct Reciprocal : Unary<Saves::kOutput> {
  static constexpr std::string_view kName = "reciprocal";
  template <class T> MINNOW_HD static T value(T x) { return T(1) / x; }
  template <class T> MINNOW_HD static T slope(T y) { return -(y * y); }
};
/// y = sin x;  dy/dx = cos x.  Beyond kReach libm computes it.
struct Sin : Unary<Saves::kInput> {
  static constexpr std::string_view kName = "sin";
  static constexpr float kReach = math::host::kTrigReach;
  template <class T> MINNOW_HD static T value(T x) { return math::sin(x); }
  template <class T> MINNOW_HD static T slope(T x) { return math::cos(x); }
};
/// y = cos x;  dy/dx = -sin x.
struct Cos : Unary<Saves::kInput> {
  static constexpr std::string_view kName = "cos";
  static constexpr float kReach = math::host::kTrigReach;
  template <class T> MINNOW_HD static T value(T x) { return math::cos(x); }
  template <class T> MINNOW_HD static T slope(T x) { return -math::sin(x); }
};
/// y = tan x;  dy/dx = 1 + y^2.
struct Tan : Unary<Saves::kOutput> {
  static constexpr std::string_view kName = "tan";
  static constexpr float kReach = math::host::kTrigReach;
  template <class T> MINNOW_HD static T value(T x) { return math::tan(x); }
  template <class T> MINNOW_HD static T slope(T y) { return T(1) + y * y; }
};
/// y = arcsin x;  dy/dx = 1 / sqrt(1 - x^2).
struct Asin : Unary<Saves::kInput> {
  static constexpr std::string_view kName = "asin";
  template <class T> MINNOW_HD static T value(T x) { return math::asin(x); }
  template <class T> MINNOW_HD static T slope(T x) { return T(1) / math::sqrt(T(1) - x * x); }
};
/// y = arccos x;  dy/dx = -1 / sqrt(1 - x^2).
struct Acos : Unary<Saves::kInput> {
  static constexpr std::string_view kName = "acos";
  template <class T> MINNOW_HD static T value(T x) { return math::acos(x); }
  template <class T> MINNOW_HD static T slope(T x) { return -Asin::slope(x); }
};
/// y = arctan x;  dy/dx = 1 / (1 + x^2).
struct Atan : Unary<Saves::kInput> {
  static constexpr std::string_view kName = "atan";
  template <class T> MINNOW_HD static T value(T x) { return math::atan(x); }
  template <class T> MINNOW_HD static T slope(T x) { return T(1) / (T(1) + x * x); }
};
/// y = sinh x;  dy/dx = cosh x.
struct Sinh : Unary<Saves::kInput> {
  static constexpr std::string_view kName = "sinh";
  template <class T> MINNOW_HD static T value(T x) { return math::sinh(x); }
  template <class T> MINNOW_HD static T slope(T x) { return math::cosh(x); }
};
/// y = cosh x;  dy/dx = sinh x.
struct Cosh : Unary<Saves::kInput> {
  static constexpr std::string_view kName = "cosh";
  template <class T> MINNOW_HD static T value(T x) { return math::cosh(x); }
  template <class T> MINNOW_HD static T slope(T x) { return math::sinh(x); }
};
/// y = tanh x;  dy/dx = 1 - y^2.
struct Tanh : Unary<Saves::kOutput> {
  static constexpr std::string_view kName = "tanh";
  template <class T> MINNOW_HD static T value(T x) { return math::tanh(x); }
  template <class T> MINNOW_HD static T slope(T y) { return T(1) - y * y; }
};
/// y = arsinh x;  dy/dx = 1 / sqrt(x^2 + 1).
struct Asinh : Unary<Saves::kInput> {
  static constexpr std::string_view kName = "asinh";
  template <class T> MINNOW_HD static T value(T x) { return math::asinh(x); }
  template <class T> MINNOW_HD static T slope(T x) { return T(1) / math::sqrt(x * x + T(1)); }
};
/// y = arcosh x;  dy/dx = 1 / sqrt(x^2 - 1).
struct Acosh : Unary<Saves::kInput> {
  static constexpr std::string_view kName = "acosh";
  template <class T> MINNOW_HD static T value(T x) { return math::acosh(x); }
  template <class T> MINNOW_HD static T slope(T x) { return T(1) / math::sqrt(x * x - T(1)); }
};
/// y = artanh x;  dy/dx = 1 / (1 - x^2).
struct Atanh : Unary<Saves::kInput> {
  static constexpr std::string_view kName = "atanh";
  template <class T> MINNOW_HD static T value(T x) { return math::atanh(x); }
  template <class T> MINNOW_HD static T slope(T x) { return T(1) / (T(1) - x * x); }
};
/// y = erf x;  dy/dx = 2 / sqrt(pi) e^(-x^2).
struct Erf : Unary<Saves::kInput> {
  static constexpr std::string_view kName = "erf";
  template <class T> MINNOW_HD static T value(T x) { return math::erf(x); }
  template <class T> MINNOW_HD static T slope(T x) { return T(1.12837916709551257) * math::exp(-(x * x)); }
};
/// y = 1 - erf x;  dy/dx = -2 / sqrt(pi) e^(-x^2).
struct Erfc : Unary<Saves::kInput> {
  static constexpr std::string_view kName = "erfc";
  template <class T> MINNOW_HD static T value(T x) { return math::erfc(x); }
  template <class T> MINNOW_HD static T slope(T x) { return -Erf::slope(x); }
};
/// erf y = x;  dy/dx = sqrt(pi) / 2 e^(y^2).
struct Erfinv : Unary<Saves::kOutput> {
  static constexpr std::string_view kName = "erfinv";
  template <class T> MINNOW_HD static T value(T x) { return math::erfinv(x); }
  template <class T> MINNOW_HD static T slope(T y) { return T(0.886226925452758014) * math::exp(y * y); }
};
/// y = ln |gamma(x)|;  dy/dx = digamma(x).
struct Lgamma : Unary<Saves::kInput> {
  static constexpr std::string_view kName = "lgamma";
  template <class T> MINNOW_HD static T value(T x) { return math::lgamma(x); }
  template <class T> MINNOW_HD static T slope(T x) { return math::digamma(x); }
};
/// y = (ln gamma)'(x);  dy/dx = trigamma(x).
struct Digamma : Unary<Saves::kInput> {
  static constexpr std::string_view kName = "digamma";
  template <class T> MINNOW_HD static T value(T x) { return math::digamma(x); }
  template <class T> MINNOW_HD static T slope(T x) { return math::trigamma(x); }
};
/// The p-th derivative of digamma;  dy/dx is the next one.
struct Polygamma : Unary<Saves::kInput, 1> {
  static constexpr std::string_view kName = "polygamma";
  template <class T> MINNOW_HD static T value(T x, T p) { return math::polygamma(static_cast<int>(p), x); }
  template <class T> MINNOW_HD static T slope(T x, T p) { return math::polygamma(static_cast<int>(p) + 1, x); }
};
/// y = ln(x / (1 - x));  dy/dx = 1 / (x (1 - x)), NaN outside of [0, 1] as y.
struct Logit : Unary<Saves::kInput> {
  static constexpr std::string_view kName = "logit";
  template <class T> MINNOW_HD static T value(T x) { return math::log(x / (T(1) - x)); }
  template <class T> MINNOW_HD static T slope(T x) {
    const T product = x * (T(1) - x);
    return product < T(0) ? math::kNan<T> : T(1) / product;
  }
};
/// The largest integer <= x.
struct Floor : Step<> {
  static constexpr std::string_view kName = "floor";
  static constexpr bool kTakesBool = false;
  template <class T> MINNOW_HD static T value(T x) {
    if constexpr (std::is_integral_v<T>) return x;
    else return math::floor(x);
  }
};
/// The smallest integer >= x.
struct Ceil : Step<> {
  static constexpr std::string_view kName = "ceil";
  static constexpr bool kTakesBool = false;
  template <class T> MINNOW_HD static T value(T x) {
    if constexpr (std::is_integral_v<T>) return x;
    else return math::ceil(x);
  }
};
/// The nearest integer, halves to even.
struct Round : Step<> {
  static constexpr std::string_view kName = "round";
  static constexpr bool kTakesBool = false;
  template <class T> MINNOW_HD static T value(T x) {
    if constexpr (std::is_integral_v<T>) return x;
    else return math::round(x);
  }
};
/// x rounded towards 0.
struct Trunc : Step<> {
  static constexpr std::string_view kName = "trunc";
  static constexpr bool kTakesBool = false;
  template <class T> MINNOW_HD static T value(T x) {
    if constexpr (std::is_integral_v<T>) return x;
    else return math::trunc(x);
  }
};
/// y = x - trunc x;  dy/dx = 1.
struct Frac : PiecewiseLinear<Saves::kNothing> {
  static constexpr std::string_view kName = "frac";
  template <class T> MINNOW_HD static T value(T x) { return x - math::trunc(x); }
  template <class T> MINNOW_HD static T slope(T) { return T(1); }
};
/// y = min(max(x, lo), hi), NaN where x is NaN;  dy/dx = 1 strictly inside, else 0.  An infinite bound is none.
struct Clamp : PiecewiseLinear<Saves::kInput, 2, Kind::kNumeric> {
  static constexpr std::string_view kName = "clamp";
  static constexpr bool kTakesBool = false;
  template <class T> MINNOW_HD static T value(T x, T lo, T hi) {
    const T raised = x < lo ? lo : x;
    return raised > hi ? hi : raised;
  }
  template <class T> MINNOW_HD static T slope(T x, T lo, T hi) {
    if constexpr (std::is_integral_v<T>) return T(0);  // never asked
    const bool above = x > lo || lo == -math::kInfinity<T>;
    const bool below = x < hi || hi == math::kInfinity<T>;
    return above && below ? T(1) : T(0);
  }
};
/// y = x^p;  dy/dx = p x^(p-1), 0 where p = 0.  Integers take p >= 0.
struct PowScalar : Unary<Saves::kInput, 1, Kind::kNumeric> {
  static constexpr std::string_view kName = "pow_scalar";
  static constexpr bool kTakesBool = false;
  template <class T> MINNOW_HD static T value(T x, T p) {
    if constexpr (std::is_integral_v<T>) return Pow::value(x, p);
    else return math::pow(x, p);
  }
  template <class T> MINNOW_HD static T slope(T x, T p) { return p == T(0) ? T(0) : p * math::pow(x, p - T(1)); }
};
/// NaN becomes p, the infinities the largest and lowest finite numbers of the tensor's dtype, max and -max (T is float
/// for halves); dy/dx = 1 where x is finite, else 0.
struct NanToNum : PiecewiseLinear<Saves::kInput, 2> {
  static constexpr std::string_view kName = "nan_to_num";
  template <class T> MINNOW_HD static T value(T x, T p, T max) {
    const T low = x < -max ? -max : x;
    const T finite = low > max ? max : low;
    return x != x ? p : finite;
  }
  template <class T> MINNOW_HD static T slope(T x, T, T max) { return math::abs(x) <= max ? T(1) : T(0); }
};
/// Whether x is NaN.
struct IsNan : Unary<Saves::kNothing, 0, Kind::kPredicate, 0> {
  static constexpr std::string_view kName = "isnan";
  template <class T> MINNOW_HD static bool value(T x) { return x != x; }
};
/// Whether x is an infinity.
struct IsInf : Unary<Saves::kNothing, 0, Kind::kPredicate, 0> {
  static constexpr std::string_view kName = "isinf";
  template <class T> MINNOW_HD static bool value(T x) {
    if constexpr (std::is_integral_v<T>) return false;
    else return math::isinf(x);
  }
};
/// Whether x is neither NaN nor infinite.
struct IsFinite : Unary<Saves::kNothing, 0, Kind::kPredicate, 0> {
  static constexpr std::string_view kName = "isfinite";
  template <class T> MINNOW_HD static bool value(T x) {
    if constexpr (std::is_integral_v<T>) return true;
    else return math::isfinite(x);
  }
};
/// Whether x is zero.
struct LogicalNot : Unary<Saves::kNothing, 0, Kind::kPredicate, 0> {
  static constexpr std::string_view kName = "logical_not";
  template <class T> MINNOW_HD static bool value(T x) { return x == T(0); }
};
/// All bits of an integer inverted.  For bool, LogicalNot is used.
struct BitwiseNot : Unary<Saves::kNothing, 0, Kind::kIntegral, 0> {
  static constexpr std::string_view kName = "bitwise_not";
  template <class T> MINNOW_HD static T value(T x) { return static_cast<T>(~x); }
};

}  // namespace minnow::detail::kernels
