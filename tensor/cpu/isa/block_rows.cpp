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

/// A float16 that is finite, in every lane.
MINNOW_HD Vector half_at(const std::uint8_t* from) {
  std::uint16_t bits;
  std::memcpy(&bits, from, sizeof bits);
#if defined(__AVX512F__)
  return reinterpret_cast<Vector>(_mm512_maskz_cvtph_ps(0xffff, _mm256_set1_epi16(static_cast<std::int16_t>(bits))));
#elif defined(__F16C__)
  return reinterpret_cast<Vector>(_mm256_cvtph_ps(_mm_set1_epi16(static_cast<std::int16_t>(bits))));
#else
  // Scaling by 2^112 moves the exponent's bias from 15 to 127 and normalizes subnormals.
  const std::uint32_t shifted = static_cast<std::uint32_t>(bits & 0x7fffU) << 13;
  float magnitude;
  std::memcpy(&magnitude, &shifted, sizeof magnitude);
  magnitude *= 0x1p112f;
  return splat((bits & 0x8000U) != 0 ? -magnitude : magnitude);
#endif
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
    const Vector d = half_at(from);
    for (int i = 0; i < kVectors; ++i) w[i] = d * as_floats(bytes_at<true>(from + 2 + i * kLanes32));
  } else {
    constexpr bool kLeast = F == BlockFormat::q4_1;
    const Vector d = half_at(from), m = kLeast ? half_at(from + 2) : d * splat(-8.0F);
    const std::uint8_t* const q = from + (kLeast ? 4 : 2);
    constexpr int kHalf = kVectors / 2;
#if defined(__AVX512F__)
    // A lane's lowest 4 bits choose one of the 16 numbers that the block can have.
    const Vector of = d * Vector{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15} + m;
    const IntVector both = bytes_at<false>(q);
    const auto chosen = [&](IntVector v) {
      return reinterpret_cast<Vector>(
          _mm512_maskz_permutexvar_ps(0xffff, reinterpret_cast<__m512i>(v), reinterpret_cast<__m512>(of)));
    };
    w[0] = chosen(both), w[kHalf] = chosen(both >> 4);
#else
    for (int i = 0; i < kHalf; ++i) {
      const IntVector both = bytes_at<false>(q + i * kLanes32);
      w[i] = d * as_floats(both & 15) + m;
      w[i + kHalf] = d * as_floats(both >> 4) + m;
    }
#endif
  }
}

struct PlusLanes {
  MINNOW_HD Vector operator()(Vector a, Vector b) const { return a + b; }
};

/// Adds the products of a block of w with R rows of x.
template <BlockFormat F, int R>
MINNOW_HD void add_block(const std::uint8_t* from, const float* x, std::int64_t x_row, Vector (&sum)[R][2]) {
  Vector w[kVectors];
  load_block<F>(from, w);
#pragma GCC unroll 4
  for (int r = 0; r < R; ++r)
#pragma GCC unroll 8
    for (int i = 0; i < kVectors; ++i) sum[r][i % 2] += w[i] * load(x + r * x_row + i * kLanes32);
}

/// Rows [row, row + R) of x.
template <BlockFormat F, int R> void product_of(const BlockRows& p, std::int64_t row) {
  constexpr std::int64_t kBytes = block_bytes(F);
  constexpr int kUnroll = R == 1 ? 4 : 1;  // sums enough that none waits for the one before
  const float* const x = p.x + row * p.in;
  const std::uint8_t* from = p.w;
  for (std::int64_t j = 0; j < p.out; ++j) {
    Vector sum[kUnroll][R][2] = {};
    std::int64_t k = 0;
    for (; k + kUnroll * kBlock <= p.in; k += kUnroll * kBlock, from += kUnroll * kBytes) {
#pragma GCC unroll 4
      for (int u = 0; u < kUnroll; ++u) add_block<F, R>(from + u * kBytes, x + k + u * kBlock, p.in, sum[u]);
    }
    for (; k < p.in; k += kBlock, from += kBytes) add_block<F, R>(from, x + k, p.in, sum[0]);
    for (int r = 0; r < R; ++r) {
      Vector all = {};
      for (int u = 0; u < kUnroll; ++u) all += sum[u][r][0] + sum[u][r][1];
      p.y[(row + r) * p.y_row + j] = fold<kLanes32 / 2>(all, PlusLanes())[0];
    }
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
