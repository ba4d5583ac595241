#include <minnow/tensor/cpu/isa/vector.h>

namespace minnow::cpu::MINNOW_ISA {
namespace {

// A tile's sums stay in registers: 6 x 4 of 32, or 6 x 2 of 16.
constexpr int kRows = 6;
constexpr int kVectors = kVectorBytes == 64 ? 4 : 2;
constexpr int kCols = kVectors * kLanes32;

void pack_plain(const float* b, std::int64_t b_row, std::int64_t depth, int width, float* panel) {
  for (std::int64_t k = 0; k < depth; ++k) {
    const float* from = b + k * b_row;
    float* to = panel + k * kCols;
    if (width == kCols) {
#pragma GCC unroll 4
      for (int v = 0; v < kVectors; ++v) store(load(from + v * kLanes32), to + v * kLanes32);
    } else {
      for (int j = 0; j < kCols; ++j) to[j] = j < width ? from[j] : 0.0f;
    }
  }
}

void pack_transposed(const float* b, std::int64_t b_col, std::int64_t depth, int width, float* panel) {
  for (int left = 0; left < kCols; left += kLanes32) {
    const int cols = width - left < kLanes32 ? width - left : kLanes32;
    const float* from = b + left * b_col;
    std::int64_t k = 0;
    for (; k + kLanes32 <= depth && cols > 0; k += kLanes32) {
      Vector v[kLanes32];
#pragma GCC unroll 16
      for (int j = 0; j < kLanes32; ++j) v[j] = j < cols ? load(from + j * b_col + k) : Vector{};
      transpose_square<kLanes32>(v);
#pragma GCC unroll 16
      for (int i = 0; i < kLanes32; ++i) store(v[i], panel + (k + i) * kCols + left);
    }
    for (; k < depth; ++k)
      for (int j = 0; j < kLanes32; ++j) panel[k * kCols + left + j] = j < cols ? from[j * b_col + k] : 0.0f;
  }
}

void pack(const float* b, std::int64_t b_row, std::int64_t b_col, std::int64_t depth, int width, float* panel) {
  if (b_col == 1) pack_plain(b, b_row, depth, width, panel);
  else pack_transposed(b, b_col, depth, width, panel);
}

/// Computes a tile of R rows and V vectors of columns.
template <int R, int V> void sums(const GemmTile& t, int width) {
  Vector sum[R][V] = {};
  const float* a = t.a;
  const float* b = t.b;
  for (std::int64_t k = 0; k < t.depth; ++k) {
    Vector row[V];
#pragma GCC unroll 4
    for (int v = 0; v < V; ++v) row[v] = load(b + v * kLanes32);
#pragma GCC unroll 6
    for (int r = 0; r < R; ++r) {
      const float x = a[r * t.a_row];
#pragma GCC unroll 4
      for (int v = 0; v < V; ++v) sum[r][v] += x * row[v];
    }
    a += t.a_col;
    b += t.b_row;
  }
#pragma GCC unroll 6
  for (int r = 0; r < R; ++r) {
    float* c = t.c + r * t.c_row;
#pragma GCC unroll 4
    for (int v = 0; v < V; ++v) {
      const int first = v * kLanes32;
      if (first + kLanes32 <= width) {
        const Vector before = t.more ? load(c + first) : t.start != nullptr ? load(t.start + first) : Vector{};
        store(before + sum[r][v], c + first);
      } else {
        float rest[kLanes32];
        store(sum[r][v], rest);
        for (int j = first; j < width; ++j)
          c[j] = (t.more ? c[j] : t.start != nullptr ? t.start[j] : 0.0f) + rest[j - first];
      }
    }
  }
}

using Sums = void (*)(const GemmTile& tile, int width);
struct SumsTable {
  Sums of[kRows][kVectors];
};
template <int... I> constexpr SumsTable make_table(std::integer_sequence<int, I...>) {
  SumsTable table{};
  ((table.of[I / kVectors][I % kVectors] = sums<I / kVectors + 1, I % kVectors + 1>), ...);
  return table;
}
constexpr SumsTable kSums = make_table(std::make_integer_sequence<int, kRows * kVectors>());

void tile(const GemmTile& t, int height, int width) { kSums.of[height - 1][(width - 1) / kLanes32](t, width); }

}  // namespace

template <> void install_loops<family::Gemm>(Kernels& k) { k.gemm = {kRows, kCols, pack, tile}; }

}  // namespace minnow::cpu::MINNOW_ISA
