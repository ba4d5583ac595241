#pragma once

#include <cmath>
#include <cstdint>
#include <limits>
#include <minnow/tensor/kernels/math_host.h>
#include <minnow/tensor/kernels/math_wide.h>

// Mathematics for functors, for float and double.  Only here do host and device differ: on a device these are CUDA's
// functions; on the host they are those of math_host.h and math_wide.h, for double in part libm's.
namespace minnow::detail::kernels::math {

template <class T> inline constexpr T kInfinity = std::numeric_limits<T>::infinity();
template <class T> inline constexpr T kNan = std::numeric_limits<T>::quiet_NaN();

/// A number beyond the reach of the host's formulas, whose functions are libm's.
struct Far {
  double value;
  MINNOW_HD Far operator-() const { return {-value}; }
};

// A function of float and double.
#ifdef __CUDA_ARCH__
#define MINNOW_MATH(name)                                \
  MINNOW_HD float name(float x) { return ::name##f(x); } \
  MINNOW_HD double name(double x) { return ::name(x); }
#define MINNOW_MATH_LIBM(name) MINNOW_MATH(name)
#define MINNOW_MATH_FAR(name) MINNOW_MATH(name)
#else
#define MINNOW_MATH(name)                                 \
  MINNOW_HD float name(float x) { return host::name(x); } \
  MINNOW_HD double name(double x) { return host::name(x); }
#define MINNOW_MATH_LIBM(name)                            \
  MINNOW_HD float name(float x) { return host::name(x); } \
  MINNOW_HD double name(double x) { return ::name(x); }
#define MINNOW_MATH_FAR(name) \
  MINNOW_MATH(name)           \
  MINNOW_HD Far name(Far x) { return {::name(x.value)}; }
#endif
MINNOW_MATH(exp)
MINNOW_MATH(exp2)
MINNOW_MATH(expm1)
MINNOW_MATH(log)
MINNOW_MATH(log2)
MINNOW_MATH(log10)
MINNOW_MATH(log1p)
MINNOW_MATH_FAR(sin)
MINNOW_MATH_FAR(cos)
MINNOW_MATH_FAR(tan)
MINNOW_MATH(asin)
MINNOW_MATH(acos)
MINNOW_MATH(atan)
MINNOW_MATH(sinh)
MINNOW_MATH(cosh)
MINNOW_MATH(tanh)
MINNOW_MATH_LIBM(asinh)
MINNOW_MATH_LIBM(acosh)
MINNOW_MATH(atanh)
MINNOW_MATH(erf)
MINNOW_MATH(erfc)
#undef MINNOW_MATH
#undef MINNOW_MATH_LIBM
#undef MINNOW_MATH_FAR

#ifdef __CUDA_ARCH__
MINNOW_HD float atan2(float y, float x) { return ::atan2f(y, x); }
MINNOW_HD double atan2(double y, double x) { return ::atan2(y, x); }
MINNOW_HD double hypot(double x, double y) { return ::hypot(x, y); }
MINNOW_HD float pow(float x, float y) { return ::powf(x, y); }
MINNOW_HD float lgamma(float x) { return ::lgammaf(x); }
MINNOW_HD double lgamma(double x) { return ::lgamma(x); }
MINNOW_HD float erfinv(float x) { return ::erfinvf(x); }
MINNOW_HD double erfinv(double x) { return ::erfinv(x); }
/// The distribution function of the normal distribution.
template <class T> MINNOW_HD T normal_cdf(T x) { return T(0.5) * (T(1) + erf(x * T(0.707106781186547524))); }
#else
using host::atan2, host::erfinv, host::hypot, host::normal_cdf;
MINNOW_HD float pow(float x, float y) { return host::pow(x, y); }
MINNOW_HD float lgamma(float x) { return host::lgamma(x); }
#ifdef _WIN32
MINNOW_HD double lgamma(double x) { return ::lgamma(x); }
#else
// lgamma_r, because lgamma writes the sign of gamma(x) to a global.
MINNOW_HD double lgamma(double x) {
  int sign = 0;
  return ::lgamma_r(x, &sign);
}
#endif
#endif
MINNOW_HD double pow(double x, double y) { return ::pow(x, y); }

MINNOW_HD float ceil(float x) { return __builtin_ceilf(x); }
MINNOW_HD double ceil(double x) { return __builtin_ceil(x); }
MINNOW_HD float trunc(float x) { return __builtin_truncf(x); }
MINNOW_HD double trunc(double x) { return __builtin_trunc(x); }
/// Rounds half to even.
MINNOW_HD float round(float x) { return __builtin_nearbyintf(x); }
MINNOW_HD double round(double x) { return __builtin_nearbyint(x); }
MINNOW_HD float fmod(float x, float y) { return ::fmodf(x, y); }
MINNOW_HD double fmod(double x, double y) { return ::fmod(x, y); }
MINNOW_HD float hypot(float x, float y) {
  const double a = static_cast<double>(x);
  const double b = static_cast<double>(y);
  const float r = static_cast<float>(__builtin_sqrt(a * a + b * b));
  const bool infinite = abs(x) == kInfinity<float> || abs(y) == kInfinity<float>;
  return infinite ? kInfinity<float> : r;
}

template <class T> MINNOW_HD bool isnan(T x) { return x != x; }
template <class T> MINNOW_HD bool isinf(T x) { return abs(x) == kInfinity<T>; }
template <class T> MINNOW_HD bool isfinite(T x) { return abs(x) < kInfinity<T>; }

/// 1 / (1 + e^-x).
template <class T> MINNOW_HD T sigmoid(T x) { return T(1) / (T(1) + exp(-x)); }

/// log(1 + e^x) without overflow.
template <class T> MINNOW_HD T softplus(T x) { return (x < T(0) ? T(0) : x) + log1p(exp(-abs(x))); }

/// 1 / x^p + 1 / (x + 1)^p + ... + 1 / (x + 9)^p for small x, as one quotient; what carries x over to x + 10.  No loop
/// up to 10: without branches, vectors compute it.
template <int P> MINNOW_HD double ten_reciprocals(double x) {
  double up = 0, down = 1;
  const auto add = [&](double t) {
    const double power = P == 1 ? t : t * t;
    up = up * power + down, down *= power;
  };
  add(x), add(x + 1), add(x + 2), add(x + 3), add(x + 4), add(x + 5), add(x + 6), add(x + 7), add(x + 8), add(x + 9);
  return up / down;
}

/// The logarithmic derivative of the gamma function; -inf at 0, NaN at the negative integers.
MINNOW_HD double digamma(double x) {
  const bool left = x < 0;
  const double t = left ? 1 - x : x, y = t < 10 ? t + 10 : t, z = 1 / (y * y);
  double p = 1.0 / 12;
  p = p * z - 691.0 / 32760;
  p = p * z + 1.0 / 132;
  p = p * z - 1.0 / 240;
  p = p * z + 1.0 / 252;
  p = p * z - 1.0 / 120;
  p = p * z + 1.0 / 12;
  const double far = log(y) - 0.5 / y - p * z, right = t < 10 ? far - ten_reciprocals<1>(t) : far;
  const double r = left ? right - 3.14159265358979323846 / tan(3.14159265358979323846 * (x - trunc(x))) : right;
  const double inside = (left & (x == floor(x))) ? kNan<double> : r;
  return x == 0 ? copysign(kInfinity<double>, -x) : inside;
}
MINNOW_HD float digamma(float x) { return static_cast<float>(digamma(static_cast<double>(x))); }

/// Whether x is 0, -1, -2, ...: the poles of digamma and of its derivatives.
MINNOW_HD bool is_pole_of_digamma(double x) { return (x <= 0) & (x - floor(x) == 0); }  // not -infinity

/// The derivative of digamma; infinite at the poles.
MINNOW_HD double trigamma(double x) {
  const bool left = x < 0.5;
  const double t = left ? 1 - x : x, y = t < 10 ? t + 10 : t, z = 1 / (y * y);
  double p = 5.0 / 66;
  p = p * z - 1.0 / 30;
  p = p * z + 1.0 / 42;
  p = p * z - 1.0 / 30;
  p = p * z + 1.0 / 6;
  const double far = (1 + 0.5 / y + p * z) / y, right = t < 10 ? far + ten_reciprocals<2>(t) : far;
  const double s = sin(3.14159265358979323846 * (x - round(x)));
  const double r = left ? 9.86960440108935861883 / (s * s) - right : right;
  return is_pole_of_digamma(x) ? kInfinity<double> : r;
}
MINNOW_HD float trigamma(float x) { return static_cast<float>(trigamma(static_cast<double>(x))); }

/// The n-th derivative of digamma, (-1)^(n+1) n! zeta(n + 1, x) with Hurwitz' zeta function by Euler and Maclaurin's
/// sum; infinite at the poles, as on their right; NaN below -1000.
MINNOW_HD double polygamma(int n, double x) {
  if (n == 0) return digamma(x);
  if (n == 1) return trigamma(x);
  const double sign = n % 2 == 0 ? -1 : 1;
  if (is_pole_of_digamma(x)) return sign * kInfinity<double>;
  if (!(x > -1000)) return kNan<double>;
  const double s = n + 1;
  double sum = 0, factorial = 1;
  for (; x < n + 10; x += 1) sum += pow(x, -s);
  for (int i = 2; i <= n; ++i) factorial *= i;
  constexpr double kBernoulli[] = {
      1.0 / 12,       -1.0 / 720,
      1.0 / 30240,  // of 2k, by (2k)!
      -1.0 / 1209600, 1.0 / 47900160, -691.0 / 1307674368000, 1.0 / 74724249600, -3617.0 / 10670622842880000};
  sum += pow(x, 1 - s) / n + pow(x, -s) / 2;
  double power = s * pow(x, -s - 1);  // s (s + 1) ... (s + 2k - 2) / x^(s + 2k - 1)
  for (int k = 0; k < 8; ++k) {
    sum += kBernoulli[k] * power;
    power *= (s + 2 * k + 1) * (s + 2 * k + 2) / (x * x);
  }
  return sign * factorial * sum;
}
MINNOW_HD float polygamma(int n, float x) { return static_cast<float>(polygamma(n, static_cast<double>(x))); }

}  // namespace minnow::detail::kernels::math
