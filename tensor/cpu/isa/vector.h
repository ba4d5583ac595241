#pragma once

#include <cstring>
#include <minnow/tensor/cpu/elementwise/transpose_square.h>
#include <minnow/tensor/cpu/isa/variant.h>

#if defined(__F16C__)
#include <immintrin.h>
#elif defined(__aarch64__)
#include <arm_neon.h>
#endif

// Vectors of float32 with the width of the instruction set, for loops that the compiler does not vectorize.

namespace minnow::cpu::MINNOW_ISA {
namespace {

inline constexpr int kLanes32 = kVectorBytes / 4;
typedef float Vector __attribute__((vector_size(kVectorBytes)));

MINNOW_HD Vector load(const float* from) {
  Vector v;
  std::memcpy(&v, from, sizeof v);
  return v;
}
MINNOW_HD void store(Vector v, float* to) { std::memcpy(to, &v, sizeof v); }

// The same of halves: float16 as Half, bfloat16 as its bits.

struct Half {
  std::uint16_t bits;
};
typedef std::uint16_t Halves __attribute__((vector_size(kVectorBytes / 2)));
typedef std::uint32_t Bits __attribute__((vector_size(kVectorBytes)));

MINNOW_HD Bits widened(Halves v) {
#if defined(__AVX512F__)
  return reinterpret_cast<Bits>(_mm512_maskz_cvtepu16_epi32(0xffff, reinterpret_cast<__m256i>(v)));
#elif defined(__AVX2__)
  return reinterpret_cast<Bits>(_mm256_cvtepu16_epi32(reinterpret_cast<__m128i>(v)));
#else
  return __builtin_convertvector(v, Bits);
#endif
}
MINNOW_HD Halves narrowed(Bits v) {
#if defined(__AVX512F__)
  return reinterpret_cast<Halves>(_mm512_maskz_cvtepi32_epi16(0xffff, reinterpret_cast<__m512i>(v)));
#else
  return __builtin_convertvector(v, Halves);
#endif
}

MINNOW_HD Vector load(const std::uint16_t* from) {
  Halves v;
  std::memcpy(&v, from, sizeof v);
  return reinterpret_cast<Vector>(widened(v) << 16);
}
/// Rounds to nearest even.
MINNOW_HD void store(Vector v, std::uint16_t* to) {
  const Bits bits = reinterpret_cast<Bits>(v), high = bits >> 16;
  const Halves half = narrowed(v == v ? (bits + 0x7fffU + (high & 1U)) >> 16 : high | 0x40U);
  std::memcpy(to, &half, sizeof half);
}

MINNOW_HD Vector load(const Half* from) {
  Halves v;
  std::memcpy(&v, from, sizeof v);
#if defined(__AVX512F__)
  return reinterpret_cast<Vector>(_mm512_maskz_cvtph_ps(0xffff, reinterpret_cast<__m256i>(v)));
#elif defined(__F16C__)
  return reinterpret_cast<Vector>(_mm256_cvtph_ps(reinterpret_cast<__m128i>(v)));
#elif defined(__aarch64__)
  return reinterpret_cast<Vector>(vcvt_f32_f16(reinterpret_cast<float16x4_t>(v)));
#else
  // Scaling by 2^112 moves the exponent's bias from 15 to 127 and normalizes subnormals.
  const Bits bits = widened(v), magnitude = bits & 0x7fffU;
  const Bits finite = reinterpret_cast<Bits>(reinterpret_cast<Vector>(magnitude << 13) * 0x1p112f);
  const Bits special = 0x7f800000U | (magnitude & 0x3ffU) << 13;
  return reinterpret_cast<Vector>((magnitude >= 0x7c00U ? special : finite) | (bits & 0x8000U) << 16);
#endif
}
/// Rounds to nearest even; a NaN loses its payload.
MINNOW_HD void store(Vector v, Half* to) {
#if defined(__AVX512F__)
  const __m512 x = reinterpret_cast<__m512>(v);
  const __m256i h = _mm512_maskz_cvtps_ph(0xffff, x, _MM_FROUND_TO_NEAREST_INT);
  const __m256i quiet = _mm256_or_si256(_mm256_and_si256(h, _mm256_set1_epi16(-0x8000)), _mm256_set1_epi16(0x7e00));
  const __m256i half = _mm256_mask_blend_epi16(_mm512_cmp_ps_mask(x, x, _CMP_UNORD_Q), h, quiet);
#elif defined(__F16C__) || defined(__aarch64__)
  typedef std::int16_t Lanes __attribute__((vector_size(kVectorBytes / 2)));
#ifdef __F16C__
  const Lanes h = reinterpret_cast<Lanes>(_mm256_cvtps_ph(reinterpret_cast<__m256>(v), _MM_FROUND_TO_NEAREST_INT));
#else
  const Lanes h = reinterpret_cast<Lanes>(vcvt_f16_f32(reinterpret_cast<float32x4_t>(v)));
#endif
  const Lanes quiet = (h & std::int16_t{-0x8000}) | std::int16_t{0x7e00};
  const Lanes half = (h & std::int16_t{0x7fff}) > std::int16_t{0x7c00} ? quiet : h;
#else
  const Bits bits = reinterpret_cast<Bits>(v), magnitude = bits & 0x7fffffffU;
  const Bits small = reinterpret_cast<Bits>(reinterpret_cast<Vector>(magnitude) + 0.5f) - 0x3f000000U;
  const Bits normal = (magnitude - 0x38000000U + 0xfffU + ((magnitude >> 13) & 1U)) >> 13;
  Bits r = magnitude < 0x38800000U ? small : normal;
  r = magnitude >= 0x47800000U ? Bits{} + 0x7c00U : r;
  r = magnitude > 0x7f800000U ? Bits{} + 0x7e00U : r;
  const Halves half = narrowed(r | ((bits >> 16) & 0x8000U));
#endif
  std::memcpy(to, &half, sizeof half);
}

}  // namespace
}  // namespace minnow::cpu::MINNOW_ISA
