#pragma once

#include <cmath>
#include <cstdint>
#include <limits>
#include <minnow/tensor/kernels/math_host.h>

// Mathematics for functors, for float and double.  Only here do host and device differ: on a device these are CUDA's
// functions; on the host they are libm's for double and those of math_host.h for float.
namespace minnow::detail::kernels::math {

template <class T> inline constexpr T kInfinity = std::numeric_limits<T>::infinity();
template <class T> inline constexpr T kNan = std::numeric_limits<T>::quiet_NaN();

MINNOW_HD double exp(double x) { return ::exp(x); }
MINNOW_HD double exp2(double x) { return ::exp2(x); }
MINNOW_HD double expm1(double x) { return ::expm1(x); }
MINNOW_HD double log(double x) { return ::log(x); }
MINNOW_HD double log2(double x) { return ::log2(x); }
MINNOW_HD double log10(double x) { return ::log10(x); }
MINNOW_HD double log1p(double x) { return ::log1p(x); }
MINNOW_HD double sin(double x) { return ::sin(x); }
MINNOW_HD double cos(double x) { return ::cos(x); }
MINNOW_HD double tan(double x) { return ::tan(x); }
MINNOW_HD double asin(double x) { return ::asin(x); }
MINNOW_HD double acos(double x) { return ::acos(x); }
MINNOW_HD double atan(double x) { return ::atan(x); }
MINNOW_HD double sinh(double x) { return ::sinh(x); }
MINNOW_HD double cosh(double x) { return ::cosh(x); }
MINNOW_HD double tanh(double x) { return ::tanh(x); }
MINNOW_HD double asinh(double x) { return ::asinh(x); }
MINNOW_HD double acosh(double x) { return ::acosh(x); }
MINNOW_HD double atanh(double x) { return ::atanh(x); }
MINNOW_HD double erf(double x) { return ::erf(x); }
MINNOW_HD double erfc(double x) { return ::erfc(x); }
MINNOW_HD double atan2(double y, double x) { return ::atan2(y, x); }
MINNOW_HD double pow(double x, double y) { return ::pow(x, y); }

#ifdef __CUDA_ARCH__
MINNOW_HD float exp(float x) { return ::expf(x); }
MINNOW_HD float exp2(float x) { return ::exp2f(x); }
MINNOW_HD float expm1(float x) { return ::expm1f(x); }
MINNOW_HD float log(float x) { return ::logf(x); }
MINNOW_HD float log2(float x) { return ::log2f(x); }
MINNOW_HD float log10(float x) { return ::log10f(x); }
MINNOW_HD float log1p(float x) { return ::log1pf(x); }
MINNOW_HD float sin(float x) { return ::sinf(x); }
MINNOW_HD float cos(float x) { return ::cosf(x); }
MINNOW_HD float tan(float x) { return ::tanf(x); }
MINNOW_HD float asin(float x) { return ::asinf(x); }
MINNOW_HD float acos(float x) { return ::acosf(x); }
MINNOW_HD float atan(float x) { return ::atanf(x); }
MINNOW_HD float sinh(float x) { return ::sinhf(x); }
MINNOW_HD float cosh(float x) { return ::coshf(x); }
MINNOW_HD float tanh(float x) { return ::tanhf(x); }
MINNOW_HD float asinh(float x) { return ::asinhf(x); }
MINNOW_HD float acosh(float x) { return ::acoshf(x); }
MINNOW_HD float atanh(float x) { return ::atanhf(x); }
MINNOW_HD float erf(float x) { return ::erff(x); }
MINNOW_HD float erfc(float x) { return ::erfcf(x); }
MINNOW_HD float atan2(float y, float x) { return ::atan2f(y, x); }
MINNOW_HD float pow(float x, float y) { return ::powf(x, y); }
MINNOW_HD float lgamma(float x) { return ::lgammaf(x); }
MINNOW_HD double lgamma(double x) { return ::lgamma(x); }
MINNOW_HD float erfinv(float x) { return ::erfinvf(x); }
MINNOW_HD double erfinv(double x) { return ::erfinv(x); }
#else
MINNOW_HD float exp(float x) { return host::exp(x); }
MINNOW_HD float exp2(float x) { return host::exp2(x); }
MINNOW_HD float expm1(float x) { return host::expm1(x); }
MINNOW_HD float log(float x) { return host::log(x); }
MINNOW_HD float log2(float x) { return host::log2(x); }
MINNOW_HD float log10(float x) { return host::log10(x); }
MINNOW_HD float log1p(float x) { return host::log1p(x); }
MINNOW_HD float sin(float x) { return host::sin(x); }
MINNOW_HD float cos(float x) { return host::cos(x); }
MINNOW_HD float tan(float x) { return host::tan(x); }
MINNOW_HD float asin(float x) { return host::asin(x); }
MINNOW_HD float acos(float x) { return host::acos(x); }
MINNOW_HD float atan(float x) { return host::atan(x); }
MINNOW_HD float sinh(float x) { return host::sinh(x); }
MINNOW_HD float cosh(float x) { return host::cosh(x); }
MINNOW_HD float tanh(float x) { return host::tanh(x); }
MINNOW_HD float asinh(float x) { return host::asinh(x); }
MINNOW_HD float acosh(float x) { return host::acosh(x); }
MINNOW_HD float atanh(float x) { return host::atanh(x); }
MINNOW_HD float erf(float x) { return host::erf(x); }
MINNOW_HD float erfc(float x) { return host::erfc(x); }
MINNOW_HD float atan2(float y, float x) { return host::atan2(y, x); }
MINNOW_HD float pow(float x, float y) { return host::pow(x, y); }
// lgamma_r, because lgamma writes the sign of gamma(x) to a global.
MINNOW_HD double lgamma(double x) {
  int sign = 0;
  return ::lgamma_r(x, &sign);
}
MINNOW_HD float lgamma(float x) { return static_cast<float>(lgamma(static_cast<double>(x))); }
MINNOW_HD float erfinv(float x) { return host::erfinv(x); }
/// The approximation for float, refined by two steps of Newton's method.
MINNOW_HD double erfinv(double x) {
  const double a = ::fabs(x);
  if (!(a < 1.0)) return a == 1.0 ? x * kInfinity<double> : kNan<double>;
  const double w = -::log((1.0 - x) * (1.0 + x));
  double y = w < 5.0 ? host::erfinv_central(x, w) : host::erfinv_tail(x, ::sqrt(w));
  for (int step = 0; step < 2; ++step) y -= (::erf(y) - x) * 0.886226925452758014 * ::exp(y * y);
  return y;
}
#endif

MINNOW_HD float sqrt(float x) { return __builtin_sqrtf(x); }
MINNOW_HD double sqrt(double x) { return __builtin_sqrt(x); }
MINNOW_HD float abs(float x) { return __builtin_fabsf(x); }
MINNOW_HD double abs(double x) { return __builtin_fabs(x); }
MINNOW_HD float floor(float x) { return __builtin_floorf(x); }
MINNOW_HD double floor(double x) { return __builtin_floor(x); }
MINNOW_HD float ceil(float x) { return __builtin_ceilf(x); }
MINNOW_HD double ceil(double x) { return __builtin_ceil(x); }
MINNOW_HD float trunc(float x) { return __builtin_truncf(x); }
MINNOW_HD double trunc(double x) { return __builtin_trunc(x); }
/// Rounds half to even.
MINNOW_HD float round(float x) { return __builtin_nearbyintf(x); }
MINNOW_HD double round(double x) { return __builtin_nearbyint(x); }
MINNOW_HD float copysign(float x, float y) { return __builtin_copysignf(x, y); }
MINNOW_HD double copysign(double x, double y) { return __builtin_copysign(x, y); }
MINNOW_HD float fmod(float x, float y) { return ::fmodf(x, y); }
MINNOW_HD double fmod(double x, double y) { return ::fmod(x, y); }
MINNOW_HD double hypot(double x, double y) { return ::hypot(x, y); }
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

/// The distribution function of the normal distribution.
MINNOW_HD double normal_cdf(double x) { return 0.5 * (1.0 + erf(x * 0.707106781186547524)); }
#ifdef __CUDA_ARCH__
MINNOW_HD float normal_cdf(float x) { return 0.5f * (1.0f + erf(x * 0.707106781186547524f)); }
#else
MINNOW_HD float normal_cdf(float x) { return host::normal_cdf(x); }
#endif

/// 1 / (1 + e^-x).
template <class T> MINNOW_HD T sigmoid(T x) { return T(1) / (T(1) + exp(-x)); }

/// log(1 + e^x) without overflow.
template <class T> MINNOW_HD T softplus(T x) { return (x < T(0) ? T(0) : x) + log1p(exp(-abs(x))); }

/// The logarithmic derivative of the gamma function; -inf at 0, NaN at the negative integers.
MINNOW_HD double digamma(double x) {
  if (x == 0) return copysign(kInfinity<double>, -x);
  double result = 0;
  if (x < 0) {
    if (x == floor(x)) return kNan<double>;
    const double fraction = x - trunc(x);
    result = -3.14159265358979323846 / tan(3.14159265358979323846 * fraction);
    x = 1 - x;
  }
  for (; x < 10; x += 1) result -= 1 / x;
  const double z = 1 / (x * x);
  double p = 1.0 / 12;
  p = p * z - 691.0 / 32760;
  p = p * z + 1.0 / 132;
  p = p * z - 1.0 / 240;
  p = p * z + 1.0 / 252;
  p = p * z - 1.0 / 120;
  p = p * z + 1.0 / 12;
  return result + log(x) - 0.5 / x - (x < 1e17 ? p * z : 0);
}
MINNOW_HD float digamma(float x) { return static_cast<float>(digamma(static_cast<double>(x))); }

/// Whether x is 0, -1, -2, ...: the poles of digamma and of its derivatives.
MINNOW_HD bool is_pole_of_digamma(double x) { return x <= 0 && x - floor(x) == 0; }  // not -infinity

/// The derivative of digamma; infinite at the poles.
MINNOW_HD double trigamma(double x) {
  if (is_pole_of_digamma(x)) return kInfinity<double>;
  double sign = 1;
  double result = 0;
  if (x < 0.5) {
    const double s = sin(3.14159265358979323846 * x);
    result = -9.86960440108935861883 / (s * s);
    sign = -1;
    x = 1 - x;
  }
  for (; x < 10; x += 1) result += 1 / (x * x);
  const double z = 1 / (x * x);
  double p = 5.0 / 66;
  p = p * z - 1.0 / 30;
  p = p * z + 1.0 / 42;
  p = p * z - 1.0 / 30;
  p = p * z + 1.0 / 6;
  return sign * (result + (1 + 0.5 / x + p * z) / x);
}
MINNOW_HD float trigamma(float x) { return static_cast<float>(trigamma(static_cast<double>(x))); }

/// The second derivative of digamma; -infinity at the poles, as on their right.
MINNOW_HD double tetragamma(double x) {
  if (is_pole_of_digamma(x)) return -kInfinity<double>;
  double result = 0;
  if (x < 0.5) {  // psi''(1 - x) - psi''(x) = 2 pi^3 cos(pi x) / sin^3(pi x)
    const double s = sin(3.14159265358979323846 * x);
    result = -62.0125533605995829 * cos(3.14159265358979323846 * x) / (s * s * s);
    x = 1 - x;
  }
  for (; x < 10; x += 1) result -= 2 / (x * x * x);
  const double z = 1 / (x * x);
  double p = -35.0 / 2;
  p = p * z + 691.0 / 210;
  p = p * z - 5.0 / 6;
  p = p * z + 3.0 / 10;
  p = p * z - 1.0 / 6;
  p = p * z + 1.0 / 6;
  p = p * z - 1.0 / 2;
  return result + ((p * z - 1 / x) - 1) * z;
}
MINNOW_HD float tetragamma(float x) { return static_cast<float>(tetragamma(static_cast<double>(x))); }

}  // namespace minnow::detail::kernels::math
