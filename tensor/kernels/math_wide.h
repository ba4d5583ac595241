#pragma once

#include <cstdint>
#include <limits>
#include <minnow/tensor/kernels/math_host.h>

// float64 functions without branches, and templates for both types.  The error in float64 is at most 2.5 ulp, of tan
// and erfc 4; the polynomials interpolate at Chebyshev's points.
namespace minnow::detail::kernels::math::host {

inline constexpr double kWideMagic = 6755399441055744.0;  // 1.5 * 2^52
inline constexpr double kLn2 = 0.693147180559945309;

/// As kExpMagic: whole numbers n are given as the bits of n + kWideExpMagic.
inline constexpr double kWideExpMagic = kWideMagic + 2046.0;
/// 2^n for n in [-1022, 1023].
MINNOW_HD double power_of_two(std::uint64_t n) { return from_bits((n - 1023u) << 52); }
/// y 2^n for n in [-2044, 2046], rounded once if the result is subnormal.
MINNOW_HD double scale(double y, std::uint64_t n) {
  const std::uint64_t half = n >> 1;
  return y * from_bits(half << 52) * from_bits((n - half) << 52);
}
/// e^r - 1 for |r| <= ln 2 / 2.
MINNOW_HD double expm1_near(double r) {
  return poly(r, 2.0915442297780116e-09, 2.5106274733573296e-08, 2.75572718102198e-07, 2.7557252833516911e-06,
              2.4801587327007187e-05, 0.00019841269876864356, 0.0013888888888883327, 0.0083333333333255443,
              0.041666666666666671, 0.16666666666666671, 0.5) *
             (r * r) +
         r;
}
/// x = n ln 2 + r.
struct WideExpParts {
  std::uint64_t n;
  double r;
};
/// For x in [-1000, 1000]: of limits compilers make branches, and copies of all that follows.
MINNOW_HD WideExpParts split_exp_within(double x) {
  const double shifted = x * 1.44269504088896341 + kWideExpMagic, n = shifted - kWideExpMagic;
  return {bits(shifted), (x - n * 6.93147180369123816490e-01) - n * 1.90821492927058770002e-10};
}
/// x limited to what e^x can be.
MINNOW_HD WideExpParts split_exp(double x) {
  const double low = x < -750.0 ? -750.0 : x;
  return split_exp_within(low > 720.0 ? 720.0 : low);
}
/// The upper half of the digits.
MINNOW_HD double upper(double x) { return from_bits(bits(x) & ~std::uint64_t{0x7ffffff}); }
/// e^x / 2^shift.
MINNOW_HD double exp_shifted(double x, unsigned shift) {
  const WideExpParts e = split_exp(x);
  return scale(expm1_near(e.r) + 1.0, e.n - shift);
}
MINNOW_HD double exp(double x) { return exp_shifted(x, 0); }
MINNOW_HD double exp2(double x) {
  const double low = x < -1080.0 ? -1080.0 : x, c = low > 1030.0 ? 1030.0 : low;
  const double shifted = c + kWideExpMagic;
  return scale(expm1_near((c - (shifted - kWideExpMagic)) * kLn2) + 1.0, bits(shifted));
}
MINNOW_HD double expm1(double x) {
  const double low = x < -50.0 ? -50.0 : x;
  const WideExpParts e = split_exp(low > 710.0 ? 710.0 : low);
  const double p = expm1_near(e.r), half = power_of_two(e.n - 1);
  const double y = e.n == bits(kWideExpMagic) ? p : 2.0 * (p * half + (half - 0.5));
  return x == 0.0 ? x : y;
}

/// x = 2^e (1 + f), 1 + f in [sqrt(1/2), sqrt(2)), for positive finite x;  log(1 + f) = f - rest.
struct WideLogParts {
  double e, f, rest;
};
MINNOW_HD WideLogParts split_log(double x) {
  constexpr std::uint64_t kRootHalf = 0x3fe6a09e667f3bcdu;
  const bool tiny = x < std::numeric_limits<double>::min();
  const std::uint64_t u = bits(tiny ? x * 0x1p54 : x) + (0x3ff0000000000000u - kRootHalf);
  const double e = from_bits((u >> 52) | 0x4330000000000000u) - (4503599627370496.0 + 1023.0) - (tiny ? 54.0 : 0.0);
  const double f = from_bits((u & 0x000fffffffffffffu) + kRootHalf) - 1.0;
  const double s = f / (2.0 + f), z = s * s, half = 0.5 * f * f;
  const double p = poly(z, 0.13100721383503491, 0.13267418596474884, 0.15386290534658992, 0.18181794700897799,
                        0.22222222400547759, 0.28571428570764451, 0.4000000000000094, 0.66666666666666663);
  return {e, f, half - s * (half + p * z)};
}
/// log(x) + low.
MINNOW_HD double log_plus(double x, double low) {
  const WideLogParts l = split_log(x);
  return l.e * 6.93147180369123816490e-01 - ((l.rest - (l.e * 1.90821492927058770002e-10 + low)) - l.f);
}
template <class T> MINNOW_HD T log(T x) { return log_edges(x, log_plus(x, T(0))); }
MINNOW_HD double log2(double x) {
  const WideLogParts l = split_log(x);
  return log_edges(x, (l.f - l.rest) * 1.44269504088896341 + l.e);
}
MINNOW_HD double log10(double x) {
  const WideLogParts l = split_log(x);
  const double low = l.e * 3.69423907715893078616e-13 + (l.f - l.rest) * 0.434294481903251828;
  return log_edges(x, low + l.e * 3.01029995663611771306e-01);
}
template <class T> MINNOW_HD T log1p(T x) {
  const T u = T(1) + x;
  const T lost = x < T(1) ? x - (u - T(1)) : T(1) - (u - x);  // by rounding
  const T y = log_edges(u, log_plus(u, lost / u));
  return x == T(0) ? x : y;
}

MINNOW_HD double tanh(double x) {
  const double t = expm1(-2.0 * abs(x));
  return copysign(t / (2.0 + t), x);
}
MINNOW_HD double sinh(double x) {
  const double a = abs(x), t = expm1(a), e = exp_shifted(a, 1);
  return copysign(a < 1.0 ? 0.5 * (t + t / (t + 1.0)) : e - 0.25 / e, x);
}
MINNOW_HD double cosh(double x) {
  const double e = exp_shifted(abs(x), 1);
  return e + 0.25 / e;
}
MINNOW_HD double atanh(double x) {
  const double a = abs(x);
  return copysign(0.5 * log1p(2.0 * a / (1.0 - a)), x);
}

/// x - m pi/2 = r + low for whole m, |m| < 2^20: pi/2 in parts of 33 bits, so that their products with m are exact.
struct WideTrigParts {
  double r, low;
};
MINNOW_HD WideTrigParts split_trig(double x, double m) {
  const double a = x - m * 1.57079632673412561417e+00, second = m * 6.07710050630396597660e-11;
  const double b = a - second, third = m * 2.02226624871116645580e-21, r = b - third;
  return {r, ((b - r) - third) + (((a - b) - second) - m * 8.47842766036889956997e-32)};
}
/// sin(r + low) for |r| <= pi/2.
MINNOW_HD double sin_near(double r, double low) {
  const double z = r * r;
  const double p =
      poly(z, 2.7313658674940167e-15, -7.6439639659253567e-13, 1.6058977114074673e-10, -2.505210761393476e-8,
           2.7557319219139182e-6, -0.00019841269841254885, 0.0083333333333333157, -0.16666666666666667);
  return r + (p * z * r + low * (1.0 - 0.5 * z));
}
MINNOW_HD double sin(double x) {
  const double shifted = x * 0.318309886183790672 + kWideMagic;
  const WideTrigParts t = split_trig(x, 2.0 * (shifted - kWideMagic));
  const double y = from_bits(bits(sin_near(t.r, t.low)) ^ (bits(shifted) << 63));
  return x == 0.0 ? x : y;
}
MINNOW_HD double cos(double x) {
  const double shifted = (x * 0.318309886183790672 - 0.5) + kWideMagic;
  const WideTrigParts t = split_trig(x, 2.0 * (shifted - kWideMagic) + 1.0);
  return from_bits(bits(sin_near(t.r, t.low)) ^ (~bits(shifted) << 63));
}
MINNOW_HD double tan(double x) {
  const double shifted = x * 0.636619772367581343 + kWideMagic;
  const WideTrigParts t = split_trig(x, shifted - kWideMagic);
  const double a = abs(t.r), rest = 0.5 * kPi<double> - a, lost = (0.5 * kPi<double> - rest) - a;
  const double s = sin_near(t.r, t.low), c = sin_near(rest, kLowOfHalfPi<double> + lost - copysign(1.0, t.r) * t.low);
  const bool odd = (bits(shifted) & 1u) != 0;
  const double y = (odd ? -c : s) / (odd ? s : c);
  return x == 0.0 ? x : y;
}

/// x^y with an error of 1.3 ulp: the logarithm and its product with y in two parts, of which the first has half of the
/// digits, so that products are exact.
MINNOW_HD double pow(double x, double y) {
  const double a = abs(x), e = split_log(a).e, f = split_log(a).f, t = 2.0 + f, inverse = 1.0 / t;
  // log(1 + f) = 2 / 3 s (3 + s^2 + more) with s = f / t = sh + sl
  const double s = f * inverse, sh = upper(s), th = upper(t), z = s * s, zh = sh * sh;
  const double sl = inverse * ((f - sh * th) - sh * ((t - th) + (f - (t - 2.0))));
  const double more =
      sl * (sh + s) + poly(z, 0.17584767935814777, 0.1755935450923681, 0.20002207040770967, 0.23076892443777647,
                           0.272727275030892, 0.3333333333248383, 0.4285714285714405, 0.6) *
                          (z * z);
  const double qh = upper(3.0 + zh + more), ql = more - ((qh - 3.0) - zh);
  const double ph = sh * qh, pl = sl * qh + ql * s, p = upper(ph + pl);
  // 2 / (3 ln 2) = 0.96...: log2 |x| = lh + ll
  const double high = 0.9617966860532761 * p, low = 7.872699542894897e-9 * p + (pl - (p - ph)) * 0.9617966939259756;
  const double lh = upper((high + low) + e), ll = low - ((lh - e) - high);
  const double edge = log_edges(a, 0.0), yh = upper(y);
  const double w = edge == 0.0 ? yh * lh : y * edge, rest = abs(w) < 1100.0 ? (y - yh) * lh + y * ll : 0.0;
  const double sum = w + rest, shifted = sum + kWideExpMagic, n = shifted - kWideExpMagic;
  const double inside = scale(expm1_near(((w - n) + rest) * kLn2) + 1.0, bits(shifted)),
               left = sum < -1100.0 ? 0.0 : inside;
  return signed_power(x, y, sum > 1100.0 ? std::numeric_limits<double>::infinity() : left);
}

/// sqrt(x^2 + y^2), scaled where a square would be too large or too small.
MINNOW_HD double hypot(double x, double y) {
  const double a = abs(x), b = abs(y), most = a > b ? a : b;
  const bool large = most > 0x1p500, small = most < 0x1p-400;
  const double up = large ? 0x1p-600 : (small ? 0x1p600 : 1.0), down = large ? 0x1p600 : (small ? 0x1p-600 : 1.0);
  const double r = sqrt((a * up) * (a * up) + (b * up) * (b * up)) * down;
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  return ((a == kInfinity) | (b == kInfinity)) ? kInfinity : r;
}

/// (1 + more) e^(x^2) erfc(x) for x in [0, 28], after Shepherd and Laframboise (1981): (1 + 2 x) e^(x^2) erfc(x) as a
/// polynomial of (x - 4) / (x + 4).
MINNOW_HD double erfcx(double x, double more) {
  const double p =
      poly(2.0 * x / (x + 4.0) - 1.0, -1.8206098680308683e-9, -1.3670989863347382e-8, -7.7154186144178301e-9,
           1.1534943745754157e-7, 6.2707271571983109e-8, -8.3516196886968471e-7, 3.0135049944875395e-7,
           5.7178872846321852e-6, -1.1224789135154701e-5, -2.4403169244974075e-5, 0.00015062224394830299,
           -0.00019925550755614952, -0.00075777334141333004, 0.0050319697558954261, -0.016197734059115007,
           0.037167515562492866, -0.066330365811529384, 0.093732834996794116, -0.10103906603635213,
           0.068097054254737324, 0.015379652102620741, -0.13962111684056289, 1.2329951186255526);
  return (p + p * more) / (1.0 + 2.0 * x);
}
/// erf(x) / x - 1 for x^2 = z <= 1.
MINNOW_HD double erf_tail(double z) {
  return poly(z, -7.7958988270021422e-10, 1.3720064546777686e-8, -1.6208483801871706e-7, 1.6447424703317362e-6,
              -1.492473690741966e-5, 0.00012055294904839708, -0.00085483259753896921, 0.0052239776071164227,
              -0.02686617064323777, 0.11283791670945006, -0.3761263890318354, 0.12837916709551257);
}
/// erfc for x >= 0.  x^2 is exact as high^2 + (x - high) (x + high).
MINNOW_HD double erfc_positive(double x) {
  const double c = x > 28.0 ? 28.0 : x, high = upper(c);
  const WideExpParts e = split_exp_within(-high * high);
  return scale(erfcx(c, expm1_near(e.r - (c - high) * (c + high))), e.n);
}
MINNOW_HD double erfc(double x) {
  const double far = erfc_positive(abs(x));
  return abs(x) < 0.5 ? 1.0 - (x + x * erf_tail(x * x)) : (x < 0.0 ? 2.0 - far : far);
}
/// As in float64, with (x - 3) / (x + 3); the error is at most 6 ulp.
MINNOW_HD float erfc(float x) {
  const float t = abs(x), c = t > 10.5f ? 10.5f : t, high = from_bits(bits(c) & ~0xfffu);
  const float a = c + 3.0f, b = 1.0f + 2.0f * c, inverse = 1.0f / (a * b), u = (c - 3.0f) * (inverse * b);
  float p = -2.76390256e-4f;
  p = p * u - 7.95749233e-4f;
  p = p * u + 1.99637574e-3f;
  p = p * u + 2.57884536e-3f;
  p = p * u - 2.3791348e-2f;
  p = p * u + 6.82933674e-2f;
  p = p * u - 1.19272474e-1f;
  p = p * u + 1.29646612e-1f;
  p = p * u - 4.75622894e-2f;
  p = p * u - 1.35621145e-1f;
  p = p * u + 1.25300806f;
  const ExpParts e = split_exp(-high * high);
  const float r = e.r - (c - high) * (c + high);
  const float far = scale((p + p * (exp_tail(r) * (r * r) + r)) * (inverse * a), e.n);
  const float left = x < 0.0f ? 2.0f - far : far;
  const float y = t < 0.5f ? 1.0f - copysign(erf_near(t, t * t), x) : left;
  return t <= kInf ? y : x;
}
MINNOW_HD double erf(double x) {
  const double a = abs(x);
  return copysign(a < 1.0 ? a + a * erf_tail(a * a) : 1.0 - erfc_positive(a), x);
}
MINNOW_HD double normal_cdf(double x) {
  const double half = 0.5 * erfc_positive(0.707106781186547524 * abs(x));
  return x > 0.0 ? 1.0 - half : half;
}
/// M. Giles' approximation, "Approximating the erfinv function" (2011): a function of -log(1 - x^2).
MINNOW_HD float erfinv(float x) {
  const float w = -log((1.0f - x) * (1.0f + x));
  const bool tail = w >= 5.0f;
  const float c = tail ? sqrt(w) - 3.0f : w - 2.5f;
  float p = tail ? -2.00214257e-4f : 2.81022636e-8f;
  p = p * c + (tail ? 1.00950558e-4f : 3.43273939e-7f);
  p = p * c + (tail ? 1.34934322e-3f : -3.5233877e-6f);
  p = p * c + (tail ? -3.67342844e-3f : -4.39150654e-6f);
  p = p * c + (tail ? 5.73950773e-3f : 2.1858087e-4f);
  p = p * c + (tail ? -7.6224613e-3f : -1.25372503e-3f);
  p = p * c + (tail ? 9.43887047e-3f : -4.17768164e-3f);
  p = p * c + (tail ? 1.00167406f : 2.46640727e-1f);
  p = p * c + (tail ? 2.83297682f : 1.50140941f);
  return x * (abs(x) == 1.0f ? kInf : p);
}
/// A step of Halley's method from an approximation.
MINNOW_HD double erfinv(double x) {
  const double a = abs(x), y = erfinv_rough(a), z = y * y, e = exp(z);
  const double error = y < 0.8 ? (y + y * erf_tail(z) - a) * e : (1.0 - a) * e - erfcx(y, 0.0);
  const double d = 0.886226925452758014 * error;
  return copysign(a == 1.0 ? std::numeric_limits<double>::infinity() : y - d / (1.0 + y * d), x);
}

/// ln |gamma(x)|, computed in double with a relative error of about 1e-11: Stirling's series from 2.5 on, a polynomial
/// around 2, reached in one step from the left, and Euler's reflection below 1/2.
MINNOW_HD float lgamma(float x) {
  const double d = static_cast<double>(x);
  const bool left = d < 0.5;
  const double t = left ? 1.0 - d : d, log_t = log_wide(t), z = 1.0 / t, s = z * z;
  const double tail =
      poly(s, -0.0028705513280526907, 0.0028258303217744027, -0.001566877711180605, 0.00081968225669278777,
           -0.00059442549883124502, 0.00079363546053548524, -0.0027777776643577041, 0.083333333333192386);
  const double far = ((t - 0.5) * log_t - t) + (0.918938533204672742 + tail * z);
  const bool step = t < 1.5;
  const double u = step ? t - 1.0 : t - 2.0;
  const double near = u * poly(u, -1.1296499102214296e-5, 2.4487052975853987e-5, -4.4324684533065817e-5,
                               9.8168704508963732e-5, -0.00022324653987287443, 0.00050986613481370042,
                               -0.0011927471573807306, 0.0028904958630843015, -0.0073855512407916017,
                               0.020580808882117914, -0.067352301051300445, 0.32246703342004872, 0.42278433509846714);
  const double right = t < 2.5 ? near - (step ? log_t : 0.0) : far;
  const double sine = sin_near(kPi<double> * (d - __builtin_nearbyint(d)), 0.0);
  const float y = static_cast<float>(left ? (1.14472988584940017 - log_wide(abs(sine))) - right : right);
  return abs(x) == kInf ? kInf : y;
}

}  // namespace minnow::detail::kernels::math::host
