#pragma once

#include <cstdint>
#include <limits>
#include <minnow/tensor/kernels/hd.h>

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

/// 2^n for n in [-126, 127], n given as the low bits of a rounded sum with 1.5 * 2^23.
MINNOW_HD float power_of_two(std::int32_t n) { return from_bits(static_cast<std::uint32_t>(n + 127) << 23); }

/// x = n ln 2 + r.  Adding 1.5 * 2^23 rounds to an integer and leaves it in the low bits.
struct ExpParts {
  std::int32_t n;
  float r;
};
MINNOW_HD ExpParts split_exp(float x) {
  constexpr float kMagic = 12582912.0f;
  const float shifted = x * 1.44269504088896341f + kMagic;
  const float n = shifted - kMagic;
  return {static_cast<std::int32_t>(bits(shifted) - bits(kMagic)), (x - n * 0.693359375f) - n * -2.12194440e-4f};
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
MINNOW_HD float scale(float y, std::int32_t n) {
  const std::int32_t half = n >> 1;
  return y * power_of_two(half) * power_of_two(n - half);
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
  constexpr float kMagic = 12582912.0f;
  const float shifted = c + kMagic;
  const float r = (c - (shifted - kMagic)) * 0.693147180559945309f;
  return scale(exp_tail(r) * (r * r) + r + 1.0f, static_cast<std::int32_t>(bits(shifted) - bits(kMagic)));
}

MINNOW_HD float expm1(float x) {
  float c = x > 89.0f ? 89.0f : x;
  c = c < -30.0f ? -30.0f : c;
  const ExpParts e = split_exp(c);
  const float p = exp_tail(e.r) * (e.r * e.r) + e.r;
  const float half = power_of_two(e.n - 1);
  const float y = e.n == 0 ? p : 2.0f * (p * half + (half - 0.5f));
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
MINNOW_HD float log_edges(float x, float y) {
  const float outside = x == 0.0f ? -kInf : kNan;
  const float inside = x < kInf ? y : kInf;
  return x > 0.0f ? inside : outside;
}

MINNOW_HD float log(float x) {
  const LogParts l = split_log(x);
  const float low = l.tail + l.e * -2.12194440e-4f - 0.5f * (l.log * l.log);
  return log_edges(x, (l.log + low) + l.e * 0.693359375f);
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

/// Whether fmod_near(x, y) may be wrong: |x / y| may be 2^27 or more, or y is 0 or subnormal.
MINNOW_HD bool is_far(float x, float y) {
  constexpr std::uint32_t kExponent = 0x7f800000u;
  const auto of_x = static_cast<std::int32_t>(bits(x) & kExponent),
             of_y = static_cast<std::int32_t>(bits(y) & kExponent);
  return (of_x - of_y > (26 << 23)) | (of_y == 0);
}
/// fmod where not is_far(): the quotient's error in double is too small to reach the next integer, and its product with y
/// and the difference are exact.
MINNOW_HD float fmod_near(float x, float y) {
  const double a = static_cast<double>(x), b = static_cast<double>(y);
  const float rest = static_cast<float>(a - __builtin_trunc(a / b) * b);
  const bool whole = __builtin_fabsf(y) == kInf && __builtin_fabsf(x) < kInf;
  return whole ? x : __builtin_copysignf(rest, x);
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
MINNOW_HD double log_wide(double x) {
  constexpr double kWideInf = std::numeric_limits<double>::infinity();
  const double outside = x == 0.0 ? -kWideInf : std::numeric_limits<double>::quiet_NaN();
  const double inside = x < kWideInf ? log_positive(x) : kWideInf;
  return x > 0.0 ? inside : outside;
}
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

MINNOW_HD float log1p(float x) {
  const float y = static_cast<float>(log_wide(1.0 + static_cast<double>(x)));
  return __builtin_fabsf(x) < 1e-8f ? x : y;
}

MINNOW_HD float tanh(float x) {
  const float a = __builtin_fabsf(x);
  const float large = 1.0f - 2.0f / (exp(2.0f * a) + 1.0f);
  const float z = x * x;
  float p = -5.70498872745e-3f;
  p = p * z + 2.06390887954e-2f;
  p = p * z - 5.37397155531e-2f;
  p = p * z + 1.33314422036e-1f;
  p = p * z - 3.33332819422e-1f;
  const float small = p * z * a + a;
  return __builtin_copysignf(a < 0.625f ? small : large, x);
}

/// After N. Juffa's erff.
MINNOW_HD float erf(float x) {
  const float t = __builtin_fabsf(x);
  const float s = x * x;
  float r = -1.72853470e-5f * t + 3.83197126e-4f;
  const float u = -3.88396438e-3f * t + 2.42546219e-2f;
  const float c = t > 4.0f ? 4.0f : t;
  r = r * s + u;
  r = r * t - 1.06777877e-1f;
  r = r * t - 6.34846687e-1f;
  r = r * t - 1.28717512e-1f;
  r = r * t - t;
  const float large = c < 4.0f ? 1.0f - exp(r) : 1.0f;
  float p = -5.96761703e-4f;
  p = p * s + 4.99119423e-3f;
  p = p * s - 2.67681349e-2f;
  p = p * s + 1.12819925e-1f;
  p = p * s - 3.76125336e-1f;
  p = p * s + 1.28379166e-1f;
  const float small = p * t + t;
  const float y = t > 0.927734375f ? large : small;
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

/// Fractional error 1.2e-7 everywhere (Numerical Recipes).
MINNOW_HD float erfc(float x) {
  const double z = static_cast<double>(__builtin_fabsf(x));
  const double t = 1.0 / (1.0 + 0.5 * z);
  double p = 0.17087277;
  p = p * t - 0.82215223;
  p = p * t + 1.48851587;
  p = p * t - 1.13520398;
  p = p * t + 0.27886807;
  p = p * t - 0.18628806;
  p = p * t + 0.09678418;
  p = p * t + 0.37409196;
  p = p * t + 1.00002368;
  p = p * t - 1.26551223;
  const double y = t * exp_wide(p - z * z);
  return static_cast<float>(x < 0.0f ? 2.0 - y : y);
}

/// M. Giles' approximation, relative error 4e-7.
template <class T> MINNOW_HD T erfinv_central(T x, T w) {
  const T c = w - T(2.5);
  T p = T(2.81022636e-08);
  p = p * c + T(3.43273939e-07);
  p = p * c + T(-3.5233877e-06);
  p = p * c + T(-4.39150654e-06);
  p = p * c + T(0.00021858087);
  p = p * c + T(-0.00125372503);
  p = p * c + T(-0.00417768164);
  p = p * c + T(0.246640727);
  return (p * c + T(1.50140941)) * x;
}
template <class T> MINNOW_HD T erfinv_tail(T x, T root) {
  const T c = root - T(3);
  T p = T(-0.000200214257);
  p = p * c + T(0.000100950558);
  p = p * c + T(0.00134934322);
  p = p * c + T(-0.00367342844);
  p = p * c + T(0.00573950773);
  p = p * c + T(-0.0076224613);
  p = p * c + T(0.00943887047);
  p = p * c + T(1.00167406);
  return (p * c + T(2.83297682)) * x;
}
MINNOW_HD float erfinv(float x) {
  const double d = static_cast<double>(x);
  const double w = -log_wide((1.0 - d) * (1.0 + d));
  const double y = w < 5.0 ? erfinv_central(d, w) : erfinv_tail(d, __builtin_sqrt(w));
  const float a = __builtin_fabsf(x);
  return a == 1.0f ? x * kInf : static_cast<float>(y);
}

/// x = n pi/2 + r, |r| <= pi/4, accurate for |x| up to kTrigReach.
inline constexpr float kTrigReach = 1.0e6f;
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

inline constexpr float kPi = 3.14159265358979324f;

MINNOW_HD float asin_tail(float z) {
  float p = 4.2163199048e-2f;
  p = p * z + 2.4181311049e-2f;
  p = p * z + 4.5470025998e-2f;
  p = p * z + 7.4953002686e-2f;
  return (p * z + 1.6666752422e-1f) * z;
}
MINNOW_HD float asin(float x) {
  const float a = __builtin_fabsf(x);
  const bool far = a > 0.5f;
  const float z = far ? 0.5f * (1.0f - a) : a * a;
  const float s = far ? __builtin_sqrtf(z) : a;
  const float p = asin_tail(z) * s + s;
  return __builtin_copysignf(far ? 0.5f * kPi - 2.0f * p : p, x);
}
MINNOW_HD float acos(float x) {
  const float a = __builtin_fabsf(x);
  const bool far = a > 0.5f;
  const float z = far ? 0.5f * (1.0f - a) : a * a;
  const float s = far ? __builtin_sqrtf(z) : x;
  const float p = asin_tail(z) * s + s;
  const float end = x < 0.0f ? kPi - 2.0f * p : 2.0f * p;
  return far ? end : 0.5f * kPi - p;
}
MINNOW_HD float atan_positive(float a) {
  const bool far = a > 2.414213562373095f;
  const bool mid = a > 0.4142135623730950f;
  const float base = far ? 0.5f * kPi : (mid ? 0.25f * kPi : 0.0f);
  const float t = far ? -1.0f / a : (mid ? (a - 1.0f) / (a + 1.0f) : a);
  const float z = t * t;
  float p = 8.05374449538e-2f;
  p = p * z - 1.38776856032e-1f;
  p = p * z + 1.99777106478e-1f;
  p = p * z - 3.33329491539e-1f;
  return base + (p * z * t + t);
}
MINNOW_HD float atan(float x) { return __builtin_copysignf(atan_positive(__builtin_fabsf(x)), x); }

/// The angle of (x, y), with the signs of zeros and infinities as in C.
MINNOW_HD float atan2(float y, float x) {
  const float ax = __builtin_fabsf(x);
  const float ay = __builtin_fabsf(y);
  const bool steep = ay > ax;
  float t = (steep ? ax : ay) / (steep ? ay : ax);
  t = ax == ay ? (ax == 0.0f ? 0.0f : 1.0f) : t;
  float r = atan_positive(t);
  r = steep ? 0.5f * kPi - r : r;
  r = (bits(x) >> 31) != 0 ? kPi - r : r;
  return (x != x || y != y) ? x + y : __builtin_copysignf(r, y);
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

MINNOW_HD float pow(float x, float y) {
  const float a = __builtin_fabsf(x);
  float r = static_cast<float>(exp_wide(static_cast<double>(y) * log_wide(static_cast<double>(a))));
  const bool whole = __builtin_floorf(y) == y;
  const bool odd = whole && __builtin_floorf(0.5f * y) != 0.5f * y;
  r = (odd && (bits(x) >> 31) != 0) ? -r : r;
  r = (x < 0.0f && x > -kInf && !whole) ? kNan : r;
  r = (a == 1.0f && __builtin_fabsf(y) == kInf) ? 1.0f : r;
  return (y == 0.0f || x == 1.0f) ? 1.0f : r;
}

}  // namespace minnow::detail::kernels::math::host
