#pragma once

#include <cstdint>
#include <limits>
#include <type_traits>
#include <minnow/tensor/kernels/hd.h>

namespace minnow::detail::kernels::math {

MINNOW_HD float sqrt(float x) { return __builtin_sqrtf(x); }
MINNOW_HD double sqrt(double x) { return __builtin_sqrt(x); }
MINNOW_HD float abs(float x) { return __builtin_fabsf(x); }
MINNOW_HD double abs(double x) { return __builtin_fabs(x); }
MINNOW_HD float copysign(float x, float y) { return __builtin_copysignf(x, y); }
MINNOW_HD double copysign(double x, double y) { return __builtin_copysign(x, y); }
MINNOW_HD float floor(float x) { return __builtin_floorf(x); }
MINNOW_HD double floor(double x) { return __builtin_floor(x); }

}  // namespace minnow::detail::kernels::math

// float32 functions without branches, which the compiler can vectorize.  The polynomials are those of the Cephes
// library unless a comment says otherwise.  Rarer functions are computed in double, where a short series is accurate
// enough.
namespace minnow::detail::kernels::math::host {

inline constexpr float kInf = std::numeric_limits<float>::infinity();
inline constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

MINNOW_HD std::uint32_t bits(float x) { return __builtin_bit_cast(std::uint32_t, x); }
MINNOW_HD std::uint64_t bits(double x) { return __builtin_bit_cast(std::uint64_t, x); }
MINNOW_HD float from_bits(std::uint32_t x) { return __builtin_bit_cast(float, x); }
MINNOW_HD double from_bits(std::uint64_t x) { return __builtin_bit_cast(double, x); }

MINNOW_HD double poly_steps(double x, double, double a, double b) { return a * x + b; }
template <class... C> MINNOW_HD double poly_steps(double x, double z, double a, double b, double c, C... rest) {
  return poly_steps(x, z, b, a * z + c, rest...);
}
/// c0 x^n + c1 x^(n - 1) + ... + cn: even and odd powers apart, which the processor adds side by side.
template <class... C> MINNOW_HD double poly(double x, C... c) { return poly_steps(x, x * x, c...); }

/// Adding 1.5 * 2^23 rounds to an integer and leaves it in the low bits: here n + 254, two biases of exponents, as
/// whole numbers n are given to the functions below.
inline constexpr float kExpMagic = 12582912.0f + 254.0f;
/// 2^n for n in [-126, 127].
MINNOW_HD float power_of_two(std::uint32_t n) { return from_bits((n - 127u) << 23); }

/// x = n ln 2 + r.
struct ExpParts {
  std::uint32_t n;
  float r;
};
MINNOW_HD ExpParts split_exp(float x) {
  const float shifted = x * 1.44269504088896341f + kExpMagic;
  const float n = shifted - kExpMagic;
  return {bits(shifted), (x - n * 0.693359375f) - n * -2.12194440e-4f};
}
/// (e^r - 1 - r) / r^2 for |r| <= ln 2 / 2.
MINNOW_HD float exp_tail(float r) {
  float p = 1.9875691500e-4f;
  p = p * r + 1.3981999507e-3f;
  p = p * r + 8.3334519073e-3f;
  p = p * r + 4.1665795894e-2f;
  p = p * r + 1.6666665459e-1f;
  return p * r + 5.0000001201e-1f;
}
/// y * 2^n for n in [-160, 160], rounded once if the result is subnormal.
MINNOW_HD float scale(float y, std::uint32_t n) {
  const std::uint32_t half = n >> 1;
  return y * from_bits(half << 23) * from_bits((n - half) << 23);
}

MINNOW_HD float exp(float x) {
  float c = x > 89.0f ? 89.0f : x;
  c = c < -104.0f ? -104.0f : c;
  const ExpParts e = split_exp(c);
  return scale(exp_tail(e.r) * (e.r * e.r) + e.r + 1.0f, e.n);
}

MINNOW_HD float exp2(float x) {
  float c = x > 129.0f ? 129.0f : x;
  c = c < -151.0f ? -151.0f : c;
  const float shifted = c + kExpMagic;
  const float r = (c - (shifted - kExpMagic)) * 0.693147180559945309f;
  return scale(exp_tail(r) * (r * r) + r + 1.0f, bits(shifted));
}

MINNOW_HD float expm1(float x) {
  float c = x > 89.0f ? 89.0f : x;
  c = c < -30.0f ? -30.0f : c;
  const ExpParts e = split_exp(c);
  const float p = exp_tail(e.r) * (e.r * e.r) + e.r;
  const float half = power_of_two(e.n - 1);
  const float y = e.n == bits(kExpMagic) ? p : 2.0f * (p * half + (half - 0.5f));
  return x == 0.0f ? x : y;
}

/// x = 2^e (1 + f), 1 + f in [sqrt(1/2), sqrt(2)), for positive finite x.
struct LogParts {
  float e;
  float log;  // log(1 + f) = f + log_tail
  float tail;
};
MINNOW_HD LogParts split_log(float x) {
  const bool tiny = x < std::numeric_limits<float>::min();
  const float normal = tiny ? x * 8388608.0f : x;
  const std::int32_t i = static_cast<std::int32_t>(bits(normal) - 0x3f3504f3u);
  const float e = static_cast<float>(i >> 23) - (tiny ? 23.0f : 0.0f);
  const float f = from_bits((static_cast<std::uint32_t>(i) & 0x007fffffu) + 0x3f3504f3u) - 1.0f;
  const float z = f * f;
  float p = 7.0376836292e-2f;
  p = p * f - 1.1514610310e-1f;
  p = p * f + 1.1676998740e-1f;
  p = p * f - 1.2420140846e-1f;
  p = p * f + 1.4249322787e-1f;
  p = p * f - 1.6668057665e-1f;
  p = p * f + 2.0000714765e-1f;
  p = p * f - 2.4999993993e-1f;
  p = p * f + 3.3333331174e-1f;
  return {e, f, p * f * z};
}
/// The values of a logarithm outside of (0, inf).
template <class T> MINNOW_HD T log_edges(T x, T y) {
  constexpr T kInfinity = std::numeric_limits<T>::infinity();
  const T outside = x == T(0) ? -kInfinity : std::numeric_limits<T>::quiet_NaN();
  const T inside = x < kInfinity ? y : kInfinity;
  return x > T(0) ? inside : outside;
}

/// log(x) + low.
MINNOW_HD float log_plus(float x, float low) {
  const LogParts l = split_log(x);
  const float rest = l.tail + (l.e * -2.12194440e-4f + low) - 0.5f * (l.log * l.log);
  return (l.log + rest) + l.e * 0.693359375f;
}
MINNOW_HD float log2(float x) {
  const LogParts l = split_log(x);
  const float m = l.log + (l.tail - 0.5f * (l.log * l.log));
  return log_edges(x, m * 1.44269504088896341f + l.e);
}
MINNOW_HD float log10(float x) {
  const LogParts l = split_log(x);
  const float m = l.log + (l.tail - 0.5f * (l.log * l.log));
  return log_edges(x, m * 0.434294481903251828f + l.e * 0.301029995663981195f);
}

/// Whether fmod_near(x, y) may be wrong: |x / y| may be 2^25 or more, or y is 0 or subnormal.
template <class T> MINNOW_HD bool is_far(T x, T y) {
  constexpr int kMantissa = std::numeric_limits<T>::digits - 1;
  const auto infinity = bits(std::numeric_limits<T>::infinity());
  using Signed = std::make_signed_t<decltype(bits(x))>;
  const auto of_x = static_cast<Signed>(bits(x) & infinity), of_y = static_cast<Signed>(bits(y) & infinity);
  return (of_x - of_y > (Signed{24} << kMantissa)) | (of_y == 0);
}
/// fmod where not is_far(): the products of the quotient with the halves of y and the differences are exact; the
/// quotient may be rounded up to the next integer.
template <class T> MINNOW_HD T fmod_near(T x, T y) {
  constexpr T kInfinity = std::numeric_limits<T>::infinity();
  T rest;
  if constexpr (sizeof(T) == 4) {
    const double a = static_cast<double>(x), b = static_cast<double>(y);
    rest = static_cast<T>(a - __builtin_trunc(a / b) * b);
  } else {
    const T a = abs(x), b = abs(y), q = __builtin_trunc(a / b);
    const T high = from_bits(bits(b) & ~std::uint64_t{0x7ffffff});
    const T r = (a - q * high) - q * (b - high);
    rest = r < T(0) ? r + b : r;
  }
  const bool endless = abs(y) == kInfinity, finite = abs(x) < kInfinity;
  return (endless & finite) ? x : copysign(rest, x);
}

/// log in double with a relative error of 1e-12, for positive normal x.
MINNOW_HD double log_positive(double x) {
  constexpr std::uint64_t kRootHalf = 0x3fe6a09e667f3bcdu;
  const std::uint64_t u = bits(x) + (0x3ff0000000000000u - kRootHalf);
  const double e = from_bits((u >> 52) | 0x4330000000000000u) - (4503599627370496.0 + 1023.0);
  const double m = from_bits((u & 0x000fffffffffffffu) + kRootHalf);
  const double s = (m - 1.0) / (m + 1.0);
  const double z = s * s;
  double p = 2.0 / 15;
  p = p * z + 2.0 / 13;
  p = p * z + 2.0 / 11;
  p = p * z + 2.0 / 9;
  p = p * z + 2.0 / 7;
  p = p * z + 2.0 / 5;
  p = p * z + 2.0 / 3;
  return e * 0.693147180559945309 + (s * z * p + 2.0 * s);
}
/// The same for any x that was converted from float, with the right values for 0, negative numbers, infinity and NaN.
MINNOW_HD double log_wide(double x) { return log_edges(x, log_positive(x)); }
/// e^x in double with a relative error of 1e-11, for x limited to [-700, 700].
MINNOW_HD double exp_wide(double x) {
  double c = x > 700.0 ? 700.0 : x;
  c = c < -700.0 ? -700.0 : c;
  constexpr double kMagic = 6755399441055744.0;
  const double shifted = c * 1.44269504088896341 + kMagic;
  const double r = c - (shifted - kMagic) * 0.693147180559945309;
  double p = 1.0 / 362880;
  p = p * r + 1.0 / 40320;
  p = p * r + 1.0 / 5040;
  p = p * r + 1.0 / 720;
  p = p * r + 1.0 / 120;
  p = p * r + 1.0 / 24;
  p = p * r + 1.0 / 6;
  p = p * r + 0.5;
  p = p * r + 1.0;
  p = p * r + 1.0;
  return p * from_bits((bits(shifted) + 1023u) << 52);
}

MINNOW_HD float tanh(float x) {
  const float a = __builtin_fabsf(x);
  const float twice = a + a;
  const ExpParts e = split_exp(twice > 40.0f ? 40.0f : twice);  // of which the result is 1
  const float large = 1.0f - 2.0f / ((exp_tail(e.r) * (e.r * e.r) + e.r + 1.0f) * power_of_two(e.n) + 1.0f);
  const float z = x * x;
  float p = -5.70498872745e-3f;
  p = p * z + 2.06390887954e-2f;
  p = p * z - 5.37397155531e-2f;
  p = p * z + 1.33314422036e-1f;
  p = p * z - 3.33332819422e-1f;
  const float small = p * z * a + a;
  return __builtin_copysignf(a < 0.625f ? small : large, x);
}

/// erf(t) for t in [0, 0.93], where s = t^2; after N. Juffa's erff, as erf.
MINNOW_HD float erf_near(float t, float s) {
  float p = -5.96761703e-4f;
  p = p * s + 4.99119423e-3f;
  p = p * s - 2.67681349e-2f;
  p = p * s + 1.12819925e-1f;
  p = p * s - 3.76125336e-1f;
  p = p * s + 1.28379166e-1f;
  return p * t + t;
}
MINNOW_HD float erf(float x) {
  const float t = __builtin_fabsf(x);
  const float s = x * x;
  float r = -1.72853470e-5f * t + 3.83197126e-4f;
  const float u = -3.88396438e-3f * t + 2.42546219e-2f;
  r = r * s + u;
  r = r * t - 1.06777877e-1f;
  r = r * t - 6.34846687e-1f;
  r = r * t - 1.28717512e-1f;
  r = r * t - t;
  const ExpParts e = split_exp(t < 4.0f ? r : -80.0f);
  const float large = 1.0f - (exp_tail(e.r) * (e.r * e.r) + e.r + 1.0f) * power_of_two(e.n);
  const float y = t > 0.927734375f ? large : erf_near(t, s);
  return __builtin_copysignf(t <= kInf ? y : x, x);
}

/// (1 + erf(x / sqrt 2)) / 2 with an absolute error of 2e-7, in half the time of erf: the quotient of polynomials with
/// which Eigen computes erf.
MINNOW_HD float normal_cdf(float x) {
  constexpr float kReach = 5.65685425f;  // erf(4) is 1 in float32
  const float low = x < -kReach ? -kReach : x;
  const float z = 0.707106781186547524f * (low > kReach ? kReach : low);
  const float s = z * z;
  float p = -2.72614225801306e-10f;
  p = p * s + 2.77068142495902e-08f;
  p = p * s - 2.10102402082508e-06f;
  p = p * s - 5.69250639462346e-05f;
  p = p * s - 7.34990630326855e-04f;
  p = p * s - 2.95459980854025e-03f;
  p = p * s - 1.60960333262415e-02f;
  float q = -1.45660718464996e-05f;
  q = q * s - 2.13374055278905e-04f;
  q = q * s - 1.68282697438203e-03f;
  q = q * s - 7.37332916720468e-03f;
  q = q * s - 1.42647390514189e-02f;
  const float inside = 0.5f + 0.5f * z * p / q;
  const float right = x > kReach ? 1.0f : inside;
  return x < -kReach ? 0.0f : right;
}

/// Relative error 3e-7 inside of (-1, 1), also of float64: a function of (-log(1 - x^2))^(1/2), as in M. Giles'
/// approximation.
MINNOW_HD double erfinv_rough(double x) {
  const double root = __builtin_sqrt(-log_wide((1.0 - x) * (1.0 + x)));
  const bool tail = root > 2.4;
  const double c = root - (tail ? 4.23 : 1.2);
  const double p =
      poly(c, 0.00010518047961145487, 0.0001016840103225145, -0.00073546955332803027, -0.0011439703366743894,
           0.0023683998105623958, 0.0069555630618034315, -0.0038870320820990472, -0.029972695284766592,
           -0.023458979784717317, 0.25749357129932363, 0.60056201633934147, 1.2370456987047691);
  const double q = poly(c, 3.7754605019873622e-7, 1.8161036344445901e-7, -7.3964049232186976e-6, 1.4355368433329772e-5,
                        -4.223491204937045e-6, 7.7530810889516349e-6, -7.2660566038449215e-5, 0.00023183763756725083,
                        -0.00062354035231038186, 0.00074588261030539936, 1.0099489568851338, 4.0720243283395723);
  return (tail ? q : p) * x;
}
/// sin, cos and tan of either type are accurate for |x| up to kTrigReach.
inline constexpr float kTrigReach = 1.0e6f;

/// x = n pi/2 + r, |r| <= pi/4.
struct TrigParts {
  std::uint32_t n;
  float r;
};
MINNOW_HD TrigParts split_trig(float x) {
  constexpr double kMagic = 6755399441055744.0;
  const double d = static_cast<double>(x);
  const double shifted = d * 0.636619772367581343 + kMagic;
  const double n = shifted - kMagic;
  const double r = (d - n * 1.57079632673412561417e+00) - n * 6.07710050650619224932e-11;
  return {static_cast<std::uint32_t>(bits(shifted)), static_cast<float>(r)};
}
MINNOW_HD float sin_near(float r) {
  const float z = r * r;
  float p = -1.9515295891e-4f;
  p = p * z + 8.3321608736e-3f;
  p = p * z - 1.6666654611e-1f;
  return p * z * r + r;
}
MINNOW_HD float cos_near(float r) {
  const float z = r * r;
  float p = 2.443315711809948e-5f;
  p = p * z - 1.388731625493765e-3f;
  p = p * z + 4.166664568298827e-2f;
  return p * z * z - 0.5f * z + 1.0f;
}
MINNOW_HD float sin(float x) {
  const TrigParts t = split_trig(x);
  const float y = (t.n & 1u) != 0 ? cos_near(t.r) : sin_near(t.r);
  const float signed_y = from_bits(bits(y) ^ ((t.n & 2u) << 30));
  return x == 0.0f ? x : signed_y;
}
MINNOW_HD float cos(float x) {
  const TrigParts t = split_trig(x);
  const float y = (t.n & 1u) != 0 ? sin_near(t.r) : cos_near(t.r);
  return from_bits(bits(y) ^ (((t.n + 1u) & 2u) << 30));
}
MINNOW_HD float tan(float x) {
  const TrigParts t = split_trig(x);
  const float s = sin_near(t.r);
  const float c = cos_near(t.r);
  const float y = (t.n & 1u) != 0 ? -c / s : s / c;
  return x == 0.0f ? x : y;
}

/// The nearest to pi, and what is left of pi / 2.
template <class T> inline constexpr T kPi = T(3.14159265358979324);
template <class T>
inline constexpr T kLowOfHalfPi = sizeof(T) == 4 ? T(-4.37113882867379e-8) : T(6.12323399573676604e-17);

/// asin(s) / s - 1 for s^2 = z <= 1/4.
MINNOW_HD float asin_tail(float z) {
  float p = 4.2163199048e-2f;
  p = p * z + 2.4181311049e-2f;
  p = p * z + 4.5470025998e-2f;
  p = p * z + 7.4953002686e-2f;
  return (p * z + 1.6666752422e-1f) * z;
}
MINNOW_HD double asin_tail(double z) {
  return z * poly(z, 0.028169218060881414, -0.010749050339697808, 0.016035514349148822, 0.0078029494773533175,
                  0.011875494382636922, 0.013929652902326633, 0.017355259955786323, 0.02237204763174451,
                  0.03038194736709848, 0.044642857103423646, 0.075000000000207637, 0.16666666666666649);
}
template <class T> MINNOW_HD T asin(T x) {
  const T a = abs(x);
  const bool far = a > T(0.5);
  const T z = far ? T(0.5) * (T(1) - a) : a * a;
  const T s = far ? sqrt(z) : a;
  const T tail = asin_tail(z) * s;
  const T end = (T(0.5) * kPi<T> - T(2) * s) - (T(2) * tail - kLowOfHalfPi<T>);
  return copysign(far ? end : s + tail, x);
}
template <class T> MINNOW_HD T acos(T x) {
  const T a = abs(x);
  const bool far = a > T(0.5);
  const T z = far ? T(0.5) * (T(1) - a) : a * a;
  const T s = far ? sqrt(z) : x;
  const T tail = asin_tail(z) * s, twice = T(2) * (s + tail);
  const T end = x < T(0) ? kPi<T> - (twice - T(2) * kLowOfHalfPi<T>) : twice;
  return far ? end : T(0.5) * kPi<T> - (x - (kLowOfHalfPi<T> - tail));
}
/// atan(t) / t - 1 for t^2 = z <= tan(pi / 8)^2.
MINNOW_HD float atan_tail(float z) {
  float p = 8.05374449538e-2f;
  p = p * z - 1.38776856032e-1f;
  p = p * z + 1.99777106478e-1f;
  return (p * z - 3.33329491539e-1f) * z;
}
MINNOW_HD double atan_tail(double z) {
  return z * poly(z, 0.016148228546771868, -0.034445844423577385, 0.045467195095551666, -0.052293804737818403,
                  0.058787824694439814, -0.066664120777252742, 0.076922956583278732, -0.090909087285874587,
                  0.11111111104652255, -0.14285714285654638, 0.19999999999999785, -0.33333333333333331);
}
/// The angle of the point (x, y) for x, y >= 0.
template <class T> MINNOW_HD T angle(T y, T x) {
  const bool far = y > T(2.414213562373095) * x, same = y == x;
  const bool mid = (y > T(0.4142135623730950) * x) | (same & (y > T(0)));
  const T base = far ? T(0.5) : (mid ? T(0.25) : T(0));
  const T ratio = (far ? -x : (mid ? y - x : y)) / (far ? y : (mid ? y + x : x));
  const T t = same ? T(0) : ratio;
  return base * kPi<T> + (t + (atan_tail(t * t) * t + base * (T(2) * kLowOfHalfPi<T>)));
}
template <class T> MINNOW_HD T atan(T x) { return copysign(angle(abs(x), T(1)), x); }

/// The angle of (x, y), with the signs of zeros and infinities as in C.
template <class T> MINNOW_HD T atan2(T y, T x) {
  constexpr T kHuge = std::numeric_limits<T>::max() / T(4);
  const T ax = abs(x), ay = abs(y), scale = ((ax > kHuge) | (ay > kHuge)) ? T(0.25) : T(1);  // so that sums are finite
  const T r = angle(ay * scale, ax * scale);
  const T turned = copysign(T(1), x) < T(0) ? kPi<T> - (r - T(2) * kLowOfHalfPi<T>) : r;
  return ((x != x) | (y != y)) ? x + y : copysign(turned, y);
}

MINNOW_HD float sinh(float x) {
  const double e = exp_wide(static_cast<double>(x));
  const float y = static_cast<float>(0.5 * (e - 1.0 / e));
  return __builtin_fabsf(x) < 1e-6f ? x : y;
}
MINNOW_HD float cosh(float x) {
  const double e = exp_wide(static_cast<double>(x));
  return static_cast<float>(0.5 * (e + 1.0 / e));
}
MINNOW_HD float asinh(float x) {
  const double a = static_cast<double>(__builtin_fabsf(x));
  const float y = static_cast<float>(log_wide(a + __builtin_sqrt(a * a + 1.0)));
  return __builtin_fabsf(x) < 1e-6f ? x : __builtin_copysignf(y, x);
}
MINNOW_HD float acosh(float x) {
  const double d = static_cast<double>(x);
  const float y = static_cast<float>(log_wide(d + __builtin_sqrt((d - 1.0) * (d + 1.0))));
  return x < 1.0f ? kNan : y;
}
MINNOW_HD float atanh(float x) {
  const double d = static_cast<double>(x);
  const float y = static_cast<float>(0.5 * log_wide((1.0 + d) / (1.0 - d)));
  return __builtin_fabsf(x) < 1e-6f ? x : y;
}

/// x^y from |x|^y.
template <class T> MINNOW_HD T signed_power(T x, T y, T r) {
  constexpr T kInfinity = std::numeric_limits<T>::infinity();
  const bool whole = floor(y) == y;
  const bool odd = whole && floor(T(0.5) * y) != T(0.5) * y;
  r = (odd && bits(x) >> (8 * sizeof(T) - 1) != 0) ? -r : r;
  r = (x < T(0) && x > -kInfinity && !whole) ? std::numeric_limits<T>::quiet_NaN() : r;
  r = (abs(x) == T(1) && abs(y) == kInfinity) ? T(1) : r;
  return (y == T(0) || x == T(1)) ? T(1) : r;
}
MINNOW_HD float pow(float x, float y) {
  const double log = log_wide(static_cast<double>(abs(x)));
  return signed_power(x, y, static_cast<float>(exp_wide(static_cast<double>(y) * log)));
}

}  // namespace minnow::detail::kernels::math::host
