#pragma once

#include <minnow/tensor/cpu/isa/vector.h>

// Square roots of AVX-512 in half the time of its instruction, and rounded as by it.

namespace minnow::cpu::MINNOW_ISA {
namespace {

#if defined(__AVX512F__)

/// Whether root() takes all lanes: normal numbers, of which the residues are too.
MINNOW_HD bool takes_root(__m512 x) {
  const __m512i from = _mm512_sub_epi32(_mm512_castps_si512(x), _mm512_set1_epi32(0x10000000));
  return _mm512_cmplt_epu32_mask(from, _mm512_set1_epi32(0x6f800000)) == 0xffff;
}
MINNOW_HD bool takes_root(__m512d x) {
  const __m512i from = _mm512_sub_epi64(_mm512_castpd_si512(x), _mm512_set1_epi64(0x1000000000000000));
  return _mm512_cmplt_epu64_mask(from, _mm512_set1_epi64(0x6ff0000000000000)) == 0xff;
}

/// Newton's steps for g = sqrt(x) and h = 1 / (2 g), and a last one with the exact residue: its error is far below what
/// lies between a root and the middle of two floats.
MINNOW_HD __m512 root(__m512 x) {
  const __m512 half = _mm512_set1_ps(0.5f), y = _mm512_maskz_rsqrt14_ps(0xffff, x);
  __m512 g = x * y, h = half * y;
  const __m512 r = _mm512_fnmadd_ps(g, h, half);
  g = _mm512_fmadd_ps(g, r, g), h = _mm512_fmadd_ps(h, r, h);
  return _mm512_fmadd_ps(_mm512_fnmadd_ps(g, g, x), h, g);
}
MINNOW_HD __m512d root(__m512d x) {
  const __m512d half = _mm512_set1_pd(0.5), y = _mm512_maskz_rsqrt14_pd(0xff, x);
  __m512d g = x * y, h = half * y;
  for (int step = 0; step < 2; ++step) {
    const __m512d r = _mm512_fnmadd_pd(g, h, half);
    g = _mm512_fmadd_pd(g, r, g), h = _mm512_fmadd_pd(h, r, h);
  }
  return _mm512_fmadd_pd(_mm512_fnmadd_pd(g, g, x), h, g);
}

MINNOW_HD __m512 load_lanes(const float* from) { return _mm512_loadu_ps(from); }
MINNOW_HD __m512d load_lanes(const double* from) { return _mm512_loadu_pd(from); }
MINNOW_HD void store_lanes(__m512 v, float* to) { _mm512_storeu_ps(to, v); }
MINNOW_HD void store_lanes(__m512d v, double* to) { _mm512_storeu_pd(to, v); }

/// y[i] = f(x[i]), which is the square root of what root() takes.
template <class T, class F> void map_roots(const T* x, T* y, std::int64_t n, const F& f) {
  constexpr std::int64_t kLanes = 64 / sizeof(T);
  std::int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    const auto v = load_lanes(x + i);
    if (takes_root(v)) store_lanes(root(v), y + i);
    else
      for (std::int64_t l = i; l < i + kLanes; ++l) y[l] = f(x[l]);
  }
  for (; i < n; ++i) y[i] = f(x[i]);
}
#else
template <class T, class F> void map_roots(const T* x, T* y, std::int64_t n, const F& f) {
#pragma GCC ivdep
  for (std::int64_t i = 0; i < n; ++i) y[i] = f(x[i]);
}
#endif

}  // namespace
}  // namespace minnow::cpu::MINNOW_ISA
