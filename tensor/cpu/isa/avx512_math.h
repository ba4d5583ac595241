#pragma once

#include <minnow/tensor/cpu/isa/roots.h>
#include <minnow/tensor/kernels/unary.h>

// Exponentials, logarithms and error functions of AVX-512, whose instructions take numbers apart, scale them and look
// up coefficients: a fifth to two thirds of the time of the formulas that every processor knows.

namespace minnow::cpu::MINNOW_ISA {
namespace {

#if defined(__AVX512F__)
alignas(64) inline constexpr float kPowersOf2[] = {  // 2^(i / 16)
    1.0f,
    1.0442737824274138f,
    1.0905077326652577f,
    1.1387886347566916f,
    1.189207115002721f,
    1.241857812073484f,
    1.2968395546510096f,
    1.3542555469368927f,
    1.4142135623730951f,
    1.4768261459394993f,
    1.5422108254079407f,
    1.6104903319492543f,
    1.681792830507429f,
    1.7562521603732995f,
    1.8340080864093424f,
    1.9152065613971474f};
alignas(64) inline constexpr double kWidePowersOf2[] = {  // 2^(i / 16)
    1.0,
    1.0442737824274138,
    1.0905077326652577,
    1.1387886347566916,
    1.189207115002721,
    1.241857812073484,
    1.2968395546510096,
    1.3542555469368927,
    1.4142135623730951,
    1.4768261459394993,
    1.5422108254079407,
    1.6104903319492543,
    1.681792830507429,
    1.7562521603732995,
    1.8340080864093424,
    1.9152065613971474};

/// e^x = 2^n e^r for whole 16 n.  The polynomials interpolate at Chebyshev's points.
MINNOW_HD __m512 lanes_of(kernels::Exp, __m512 x) {
  const __m512 least = _mm512_set1_ps(-1000.0f), most = _mm512_set1_ps(1000.0f);
  const __m512 c = _mm512_maskz_min_ps(0xffff, most, _mm512_maskz_max_ps(0xffff, least, x));  // x, if it is NaN
  const __m512 shifted = c * 1.44269504088896341f + 786432.0f, n = shifted - 786432.0f;       // 1.5 * 2^19
  const __m512 r = (c - n * 0.693359375f) - n * -2.12194440e-4f;
  const __m512 power = _mm512_maskz_permutexvar_ps(0xffff, _mm512_castps_si512(shifted), _mm512_load_ps(kPowersOf2));
  const __m512 p = (r * 0.16666862555784012f + 0.50000979447779434f) * r + 1.0f;
  return _mm512_maskz_scalef_ps(0xffff, p * r * power + power, n);
}
MINNOW_HD __m512d lanes_of(kernels::Exp, __m512d x) {
  const __m512d least = _mm512_set1_pd(-2000.0), most = _mm512_set1_pd(2000.0);
  const __m512d c = _mm512_maskz_min_pd(0xff, most, _mm512_maskz_max_pd(0xff, least, x));
  const __m512d shifted = c * 1.44269504088896341 + 422212465065984.0, n = shifted - 422212465065984.0;
  const __m512d r = (c - n * 6.93147180369123816490e-01) - n * 1.90821492927058770002e-10;
  const __m512d power = _mm512_permutex2var_pd(_mm512_load_pd(kWidePowersOf2), _mm512_castpd_si512(shifted),
                                               _mm512_load_pd(kWidePowersOf2 + 8));
  __m512d p = (r * 0.0013889034639665865 + 0.0083334499341071854) * r + 0.041666666664953615;
  p = ((p * r + 0.16666666665296223) * r + 0.5) * r + 1.0;
  return _mm512_maskz_scalef_pd(0xff, p * r * power + power, n);
}

/// As kernels::math::host::tanh.
MINNOW_HD __m512 lanes_of(kernels::Tanh, __m512 x) {
  const __m512 a = _mm512_abs_ps(x), z = x * x;
  const __m512 large = 1.0f - 2.0f / (lanes_of(kernels::Exp(), a + a) + 1.0f);
  __m512 p = z * -5.70498872745e-3f + 2.06390887954e-2f;
  p = (p * z - 5.37397155531e-2f) * z + 1.33314422036e-1f;
  p = (p * z - 3.33332819422e-1f) * z;
  const __mmask16 is_small = _mm512_cmp_ps_mask(a, _mm512_set1_ps(0.625f), _CMP_LT_OQ);
  const __m512 y = _mm512_mask_mov_ps(large, is_small, p * a + a), sign = _mm512_set1_ps(-0.0f);
  return _mm512_or_ps(y, _mm512_and_ps(x, sign));
}
void lanes_of(kernels::Tanh, __m512d) = delete;

/// As kernels::math::host::split_log, of any x.
struct LogLanes {
  __m512 e, f, rest;
};
struct WideLogLanes {
  __m512d e, f, rest;
};
MINNOW_HD LogLanes split_log_lanes(__m512 x) {
  const __m512 m = _mm512_maskz_getmant_ps(0xffff, x, _MM_MANT_NORM_1_2, _MM_MANT_SIGN_zero),
               e = _mm512_maskz_getexp_ps(0xffff, x);
  const __m512 one = _mm512_set1_ps(1.0f);
  const __mmask16 large = _mm512_cmp_ps_mask(m, _mm512_set1_ps(1.41421356f), _CMP_GE_OQ);
  const __m512 f = _mm512_mask_mul_ps(m, large, m, _mm512_set1_ps(0.5f)) - one, z = f * f;
  __m512 p = f * 7.0376836292e-2f - 1.1514610310e-1f;
  p = (p * f + 1.1676998740e-1f) * f - 1.2420140846e-1f;
  p = (p * f + 1.4249322787e-1f) * f - 1.6668057665e-1f;
  p = (p * f + 2.0000714765e-1f) * f - 2.4999993993e-1f;
  p = p * f + 3.3333331174e-1f;
  return {_mm512_mask_add_ps(e, large, e, one), f, 0.5f * z - p * f * z};
}
MINNOW_HD WideLogLanes split_log_lanes(__m512d x) {
  const __m512d m = _mm512_maskz_getmant_pd(0xff, x, _MM_MANT_NORM_1_2, _MM_MANT_SIGN_zero),
                e = _mm512_maskz_getexp_pd(0xff, x);
  const __m512d one = _mm512_set1_pd(1.0);
  const __mmask8 large = _mm512_cmp_pd_mask(m, _mm512_set1_pd(1.4142135623730951), _CMP_GE_OQ);
  const __m512d f = _mm512_mask_mul_pd(m, large, m, _mm512_set1_pd(0.5)) - one;
  const __m512d s = f / (2.0 + f), z = s * s, half = 0.5 * f * f, w = z * z;
  const __m512d even =
      ((w * 0.13267418596474884 + 0.18181794700897799) * w + 0.28571428570764451) * w + 0.66666666666666663;
  const __m512d odd =
      ((w * 0.13100721383503491 + 0.15386290534658992) * w + 0.22222222400547759) * w + 0.4000000000000094;
  return {_mm512_mask_add_pd(e, large, e, one), f, half - s * (half + (odd * z + even) * z)};
}
/// y, but a logarithm's values for x that are not in (0, inf): a digit of the table for each class of numbers.
constexpr int kLogEdges = 0x03530422;
MINNOW_HD __m512 with_log_edges(__m512 y, __m512 x) {
  return _mm512_fixupimm_ps(y, x, _mm512_set1_epi32(kLogEdges), 0);
}
MINNOW_HD __m512d with_log_edges(__m512d y, __m512d x) {
  return _mm512_fixupimm_pd(y, x, _mm512_set1_epi64(kLogEdges), 0);
}
/// high and low: the logarithm of 2; factor: that of e.
template <class T, class V> MINNOW_HD V log_lanes(V x, T high, T low, T factor) {
  const auto l = split_log_lanes(x);
  if (factor == T(1)) return with_log_edges(l.e * high - ((l.rest - l.e * low) - l.f), x);
  return with_log_edges((l.e * low + (l.f - l.rest) * factor) + l.e * high, x);
}
MINNOW_HD __m512 lanes_of(kernels::Log, __m512 x) { return log_lanes(x, 0.693359375f, -2.12194440e-4f, 1.0f); }
MINNOW_HD __m512 lanes_of(kernels::Log2, __m512 x) { return log_lanes(x, 1.0f, 0.0f, 1.44269504088896341f); }
MINNOW_HD __m512 lanes_of(kernels::Log10, __m512 x) {
  return log_lanes(x, 0.301025390625f, 4.60503898e-6f, 0.434294481903251828f);
}
MINNOW_HD __m512d lanes_of(kernels::Log, __m512d x) {
  return log_lanes(x, 6.93147180369123816490e-01, 1.90821492927058770002e-10, 1.0);
}
MINNOW_HD __m512d lanes_of(kernels::Log2, __m512d x) { return log_lanes(x, 1.0, 0.0, 1.44269504088896341); }
MINNOW_HD __m512d lanes_of(kernels::Log10, __m512d x) {
  return log_lanes(x, 3.01029995663611771306e-01, 3.69423907715893078616e-13, 0.434294481903251828);
}

/// Taylor's coefficients of erf at 3 / 8 k, those of the highest power first.
struct ErfTaylor {
  static constexpr int kTerms = 16;
  alignas(64) double of[kTerms][16];

  ErfTaylor() {
    for (int k = 0; k < 16; ++k) {
      const double at = 0.375 * k;
      double before = 0, c = 1.1283791670955126 * __builtin_exp(-at * at);  // of the slope g, for which g' = -2 x g
      of[kTerms - 1][k] = __builtin_erf(at);
      for (int n = 1; n < kTerms; ++n) {
        of[kTerms - 1 - n][k] = c / n;
        const double next = -2 * (at * c + before) / n;
        before = c, c = next;
      }
    }
  }
};
inline const ErfTaylor& erf_taylor() {
  static const ErfTaylor kTable;
  return kTable;
}
void lanes_of(kernels::Erf, __m512) = delete;  // or clang converts it to an __m512d
MINNOW_HD __m512d lanes_of(kernels::Erf, __m512d x) {
  const ErfTaylor& taylor = erf_taylor();
  const __m512d a = _mm512_maskz_min_pd(0xff, _mm512_set1_pd(6.0), _mm512_abs_pd(x));  // x, if it is NaN
  const __m512d shifted =
      _mm512_maskz_min_pd(0xff, a, _mm512_set1_pd(5.625)) * (1 / 0.375) + kernels::math::host::kWideMagic;
  const __m512d t = a - (shifted - kernels::math::host::kWideMagic) * 0.375;
  const __m512i k = _mm512_castpd_si512(shifted);
  __m512d y = _mm512_setzero_pd();
#pragma GCC unroll 16
  for (const auto& c : taylor.of) y = y * t + _mm512_permutex2var_pd(_mm512_load_pd(c), k, _mm512_load_pd(c + 8));
  const __m512d one = _mm512_set1_pd(1.0);
  y = _mm512_maskz_min_pd(0xff, one, y);
  return _mm512_or_pd(y, _mm512_and_pd(x, _mm512_set1_pd(-0.0)));
}

MINNOW_HD __m512 load_lanes(const float* from, unsigned mask) {
  return _mm512_maskz_loadu_ps(static_cast<__mmask16>(mask), from);
}
MINNOW_HD __m512d load_lanes(const double* from, unsigned mask) {
  return _mm512_maskz_loadu_pd(static_cast<__mmask8>(mask), from);
}
MINNOW_HD void store_lanes(__m512 v, float* to, unsigned mask) {
  _mm512_mask_storeu_ps(to, static_cast<__mmask16>(mask), v);
}
MINNOW_HD void store_lanes(__m512d v, double* to, unsigned mask) {
  _mm512_mask_storeu_pd(to, static_cast<__mmask8>(mask), v);
}

/// y[i] = Op(x[i]), the same for every i: the result of an element depends on no others.
template <class Op, class T> void map_lanes(const T* x, T* y, std::int64_t n) {
  constexpr std::int64_t kLanes = 64 / sizeof(T);
  std::int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) store_lanes(lanes_of(Op(), load_lanes(x + i)), y + i);
  if (i == n) return;
  const unsigned mask = (1U << (n - i)) - 1U;
  store_lanes(lanes_of(Op(), load_lanes(x + i, mask)), y + i, mask);
}

inline constexpr double kErfinv[][2] = {  // of even and of odd powers, but the first two
    {9.0720759478929093e-9, -8.627191009014394e-9},    {-1.0514990713371437e-7, 3.9315111576465583e-8},
    {5.4564205722097816e-7, -1.0412692841159636e-8},   {-6.8765518072549399e-7, -1.0591188097818531e-6},
    {-1.125565398396942e-5, 7.1299397431469503e-6},    {9.3366927876240584e-5, -1.5027665773117194e-5},
    {-0.00026439358646646057, -0.0001168888508125076}, {-0.0012716922769885114, 0.0012324855702994215},
    {0.017808361818756902, -0.0041373143775478949},    {-0.058922567103787597, -0.022604447453444732}};
/// erfinv of float64: up to |x| = 0.999 x times a polynomial of w = -log(1 - x^2), which interpolates at Chebyshev's
/// points, with an error of at most 2.6 ulp; the formula of other processors where that does not hold.
inline void map_erfinv(const double* x, double* y, std::int64_t n) {
  constexpr double kMost = 6.25;
  for (std::int64_t i = 0; i < n; i += 8) {
    const unsigned mask = n - i < 8 ? (1U << (n - i)) - 1U : 0xffU;
    const __m512d v = load_lanes(x + i, mask);
    const __m512d w = -lanes_of(kernels::Log(), _mm512_fnmadd_pd(v, v, _mm512_set1_pd(1.0))),
                  c = w * (2.0 / kMost) - 1.0;
    __m512d even = _mm512_set1_pd(-8.5779669396399415e-11), odd = _mm512_set1_pd(7.8017121990362521e-10);
    const __m512d z = c * c;
    for (const auto& [a, b] : kErfinv) even = even * z + a, odd = odd * z + b;
    const __m512d rest = (odd * z + 0.75049432007996351) + even * c, p = rest * c + 1.6536545626831027;
    __m512d r = v * p + v * (rest * c + (1.6536545626831027 - p));  // with what p lost by rounding
    const __mmask8 far = _mm512_cmp_pd_mask(w, _mm512_set1_pd(kMost), _CMP_NLE_UQ);
    if (far != 0) {
      alignas(64) double other[8];
      _mm512_store_pd(other, v);
      for (double& one : other) one = kernels::Erfinv::value(one);
      r = _mm512_mask_load_pd(r, far, other);
    }
    store_lanes(r, y + i, mask);
  }
}
#endif

}  // namespace
}  // namespace minnow::cpu::MINNOW_ISA
