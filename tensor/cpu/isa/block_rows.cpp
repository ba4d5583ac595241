#include <minnow/tensor/cpu/isa/row_vectors.h>
#include <minnow/tensor/cpu/products/block_loops.h>
#include <minnow/tensor/cpu/runtime/isa.h>

MINNOW_ISA_TABLE(BlockLoops, block_table)

namespace minnow::cpu::MINNOW_ISA {
namespace {

constexpr int kBlock = 32, kVectors = kBlock / kLanes32;  // of a block

/// kLanes32 bytes, with a sign or without.
template <bool Signed> MINNOW_HD IntVector bytes_at(const std::uint8_t* from) {
#if defined(__AVX512F__)
  const __m128i v = _mm_loadu_si128(reinterpret_cast<const __m128i*>(from));
  return reinterpret_cast<IntVector>(Signed ? _mm512_maskz_cvtepi8_epi32(0xffff, v)
                                            : _mm512_maskz_cvtepu8_epi32(0xffff, v));
#elif defined(__AVX2__)
  const __m128i v = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(from));
  return reinterpret_cast<IntVector>(Signed ? _mm256_cvtepi8_epi32(v) : _mm256_cvtepu8_epi32(v));
#else
  IntVector v = {};
  for (int l = 0; l < kLanes32; ++l) v[l] = Signed ? static_cast<std::int8_t>(from[l]) : from[l];
  return v;
#endif
}
MINNOW_HD Vector as_floats(IntVector v) { return __builtin_convertvector(v, Vector); }

/// A float16 that is finite.
MINNOW_HD float half_at(const std::uint8_t* from) {
  std::uint16_t bits;
  std::memcpy(&bits, from, sizeof bits);
  // Scaling by 2^112 moves the exponent's bias from 15 to 127 and normalizes subnormals.
  const std::uint32_t shifted = static_cast<std::uint32_t>(bits & 0x7fffU) << 13;
  float magnitude;
  std::memcpy(&magnitude, &shifted, sizeof magnitude);
  magnitude *= 0x1p112f;
  return (bits & 0x8000U) != 0 ? -magnitude : magnitude;
}

/// The numbers of a block.
template <BlockFormat F> MINNOW_HD void load_block(const std::uint8_t* from, Vector (&w)[kVectors]) {
  if constexpr (F == BlockFormat::bf16) {
    for (int i = 0; i < kVectors; ++i) {
      std::uint16_t halves[kLanes32];
      std::memcpy(halves, from + 2 * i * kLanes32, sizeof halves);
      w[i] = load(halves);
    }
  } else if constexpr (F == BlockFormat::q8_0) {
    const Vector d = splat(half_at(from));
    for (int i = 0; i < kVectors; ++i) w[i] = d * as_floats(bytes_at<true>(from + 2 + i * kLanes32));
  } else {
    constexpr bool kLeast = F == BlockFormat::q4_1;
    const Vector d = splat(half_at(from)), m = kLeast ? splat(half_at(from + 2)) : d * splat(-8.0F);
    const std::uint8_t* const q = from + (kLeast ? 4 : 2);
    constexpr int kHalf = kVectors / 2;
    for (int i = 0; i < kHalf; ++i) {
      const IntVector both = bytes_at<false>(q + i * kLanes32);
      w[i] = d * as_floats(both & 15) + m;
      w[i + kHalf] = d * as_floats(both >> 4) + m;
    }
  }
}

struct PlusLanes {
  MINNOW_HD Vector operator()(Vector a, Vector b) const { return a + b; }
};

/// Rows [row, row + R) of x.
template <BlockFormat F, int R> void product_of(const BlockRows& p, std::int64_t row) {
  constexpr std::int64_t kBytes = block_bytes(F);
  const float* const x = p.x + row * p.in;
  for (std::int64_t j = 0; j < p.out; ++j) {
    const std::uint8_t* from = p.w + j * (p.in / kBlock) * kBytes;
    Vector sum[R][2] = {};
    for (std::int64_t k = 0; k < p.in; k += kBlock, from += kBytes) {
      Vector w[kVectors];
      load_block<F>(from, w);
#pragma GCC unroll 4
      for (int r = 0; r < R; ++r)
#pragma GCC unroll 8
        for (int i = 0; i < kVectors; ++i) sum[r][i % 2] += w[i] * load(x + r * p.in + k + i * kLanes32);
    }
    for (int r = 0; r < R; ++r)
      p.y[(row + r) * p.y_row + j] = fold<kLanes32 / 2>(sum[r][0] + sum[r][1], PlusLanes())[0];
  }
}

template <BlockFormat F> void product_in(const BlockRows& p) {
  std::int64_t row = 0;
  for (; row + 4 <= p.rows; row += 4) product_of<F, 4>(p, row);
  for (; row < p.rows; ++row) product_of<F, 1>(p, row);
}

void product(BlockFormat format, const BlockRows& p) {
  switch (format) {
    case BlockFormat::q8_0: return product_in<BlockFormat::q8_0>(p);
    case BlockFormat::q4_0: return product_in<BlockFormat::q4_0>(p);
    case BlockFormat::q4_1: return product_in<BlockFormat::q4_1>(p);
    case BlockFormat::bf16: return product_in<BlockFormat::bf16>(p);
  }
}

template <BlockFormat F> void numbers_of(const std::uint8_t* from, float* y, std::int64_t count) {
  for (std::int64_t k = 0; k < count; k += kBlock, from += block_bytes(F)) {
    Vector w[kVectors];
    load_block<F>(from, w);
    for (int i = 0; i < kVectors; ++i) store(w[i], y + k + i * kLanes32);
  }
}

void dequantize(BlockFormat format, const std::uint8_t* w, float* y, std::int64_t count) {
  switch (format) {
    case BlockFormat::q8_0: return numbers_of<BlockFormat::q8_0>(w, y, count);
    case BlockFormat::q4_0: return numbers_of<BlockFormat::q4_0>(w, y, count);
    case BlockFormat::q4_1: return numbers_of<BlockFormat::q4_1>(w, y, count);
    case BlockFormat::bf16: return numbers_of<BlockFormat::bf16>(w, y, count);
  }
}

}  // namespace

const BlockLoops block_table = {product, dequantize};

}  // namespace minnow::cpu::MINNOW_ISA

#ifdef MINNOW_ISA_ONCE
namespace minnow::cpu {

const BlockLoops& block_loops() { return MINNOW_ISA_LOOPS(block_table); }

}  // namespace minnow::cpu
#endif
