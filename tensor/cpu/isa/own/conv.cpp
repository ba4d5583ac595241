#include <minnow/tensor/cpu/isa/row_vectors.h>
#include <minnow/tensor/cpu/own/conv_loops.h>
#include <minnow/tensor/cpu/runtime/isa.h>

MINNOW_ISA_TABLE(ConvLoops, conv_table)

namespace minnow::cpu::MINNOW_ISA {
namespace {

// A tile's sums stay in registers: 6 x 4 of 32, or 6 x 2 of 16.
constexpr int kRows = kConvRows, kVectors = kRegisters == 32 ? 4 : 2, kCols = kVectors * kLanes32;

/// Stores V vectors of each row, `width` columns in all.
template <int V>
MINNOW_HD void store_tile(const ConvTile& t, Vector (&sum)[kRows][V], int height, int first, int width) {
#pragma GCC unroll 6
  for (int r = 0; r < kRows; ++r) {
    if (r >= height) break;
    float* const out = t.out[r] + first;
#pragma GCC unroll 4
    for (int v = 0; v < V; ++v) {
      const int at = v * kLanes32, n = width - at < kLanes32 ? width - at : kLanes32;
      if (n <= 0) break;
      const float* const from = t.more ? out : t.start == nullptr ? nullptr : t.start + first;
      if (n == kLanes32) {
        store((from == nullptr ? Vector{} : load(from + at)) + sum[r][v], out + at);
      } else {
        store_first((from == nullptr ? Vector{} : load_first(from + at, n)) + sum[r][v], out + at, n);
      }
    }
  }
}

template <int V> void tile_of(const ConvTile& t, int height, int width) {
  Vector sum[kRows][V] = {};
  for (const ConvRun *run = t.runs, *const end = run + t.count; run != end; ++run) {
    const float *const a0 = run->rows[0], *const a1 = run->rows[1], *const a2 = run->rows[2], *const a3 = run->rows[3],
                       *const a4 = run->rows[4], *const a5 = run->rows[5];
    const float* b = t.b + run->b;
    std::int64_t at = t.from;
    for (std::int64_t k = 0; k < run->depth; ++k, at += t.step) {
      Vector row[V];
#pragma GCC unroll 4
      for (int v = 0; v < V; ++v) row[v] = load(b + v * kLanes32);
      const float x[kRows] = {a0[at], a1[at], a2[at], a3[at], a4[at], a5[at]};
#pragma GCC unroll 6
      for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 4
        for (int v = 0; v < V; ++v) sum[r][v] += x[r] * row[v];
      }
      b += kCols;
    }
  }
  store_tile(t, sum, height, 0, width);
}

void tile(const ConvTile& t, int height, int width) {
  if (width <= kLanes32) tile_of<1>(t, height, width);
  else if (width <= 2 * kLanes32 || kVectors == 2) tile_of<2>(t, height, width);
  else tile_of<kVectors>(t, height, width);
}

template <int C> void dots_of(const ConvTile& t, int height) {
  Vector sum[kRows][C] = {};
  for (const ConvRun *run = t.runs, *const end = run + t.count; run != end; ++run) {
    const float* const b = t.b + run->b;
    for_some<float>(run->depth, [&](std::int64_t k, int n) {
      Vector column[C];
#pragma GCC unroll 4
      for (int c = 0; c < C; ++c) column[c] = load_some(b + c * t.b_column + k, n);
#pragma GCC unroll 6
      for (int r = 0; r < kRows; ++r) {
        const Vector x = load_some(run->rows[r] + t.from + k, n);
#pragma GCC unroll 4
        for (int c = 0; c < C; ++c) sum[r][c] += x * column[c];
      }
    });
  }
  constexpr int kSums = kRows * C, kFolded = (kSums + kLanes32 - 1) / kLanes32 * kLanes32;
  Vector all[kFolded] = {};
#pragma GCC unroll 24
  for (int i = 0; i < kSums; ++i) all[i] = sum[i / C][i % C];
  float totals[kFolded];
  for (int i = 0; i < kFolded; i += kLanes32)
    store(fold_each(all + i, [](Vector u, Vector v) { return u + v; }), totals + i);
  for (int r = 0; r < height; ++r)
    for (int c = 0; c < C; ++c) {
      float* const out = t.out[r] + c;
      *out = (t.more ? *out : t.start == nullptr ? 0.0f : t.start[c]) + totals[r * C + c];
    }
}

void dots(const ConvTile& t, int height, int width) {
  if (width == 1) dots_of<1>(t, height);
  else if (width == 2 || kVectors == 2) dots_of<2>(t, height);
  else if (width == 3) dots_of<3>(t, height);
  else dots_of<kVectors>(t, height);
}

/// Columns [first, first + width) of channels(): all of V vectors, or some of one.
template <int V> MINNOW_HD void some_channels(const ConvTile& t, int height, std::int64_t first, int width) {
  Vector sum[kRows][V] = {};
  for (const ConvRun *run = t.runs, *const end = run + t.count; run != end; ++run) {
    const float* const b = t.b + run->b + first;
    Vector factor[V];
#pragma GCC unroll 4
    for (int v = 0; v < V; ++v) factor[v] = V == 1 ? load_some(b, width) : load(b + v * kLanes32);
#pragma GCC unroll 6
    for (int r = 0; r < kRows; ++r) {
      const float* const x = run->rows[r] + first;
#pragma GCC unroll 4
      for (int v = 0; v < V; ++v) sum[r][v] += factor[v] * (V == 1 ? load_some(x, width) : load(x + v * kLanes32));
    }
  }
  store_tile(t, sum, height, static_cast<int>(first), width);
}

void channels(const ConvTile& t, int height, std::int64_t n) {
  std::int64_t j = 0;
  for (; j + kCols <= n; j += kCols) some_channels<kVectors>(t, height, j, kCols);
  if (kVectors > 2 && j + 2 * kLanes32 <= n) {
    some_channels<2>(t, height, j, 2 * kLanes32);
    j += 2 * kLanes32;
  }
  for (; j + kLanes32 <= n; j += kLanes32) some_channels<1>(t, height, j, kLanes32);
  if (j < n) some_channels<1>(t, height, j, static_cast<int>(n - j));
}

void channel_sums(const float* x, std::int64_t x_step, const float* grad, std::int64_t count, float* sums,
                  std::int64_t n) {
  for_some<float>(n, [&](std::int64_t j, int some) {
    Vector a = load_some(sums + j, some), b{}, c{}, d{};
    std::int64_t p = 0;
    const auto product = [&](std::int64_t at) {
      return load_some(x + at * x_step + j, some) * load_some(grad + at * n + j, some);
    };
    for (; p + 4 <= count; p += 4) {
      a += product(p);
      b += product(p + 1);
      c += product(p + 2);
      d += product(p + 3);
    }
    for (; p < count; ++p) a += product(p);
    store_some((a + b) + (c + d), sums + j, some);
  });
}

}  // namespace

extern const ConvLoops conv_table = {kCols, tile, kVectors, dots, channels, channel_sums};

}  // namespace minnow::cpu::MINNOW_ISA

#ifdef MINNOW_ISA_ONCE
namespace minnow::cpu {

const ConvLoops& conv_loops() { return MINNOW_ISA_LOOPS(conv_table); }

}  // namespace minnow::cpu
#endif
