#include <minnow/tensor/cpu/isa/vector.h>

namespace minnow::cpu::MINNOW_ISA {
namespace {

template <class T> struct VectorOf { typedef T type __attribute__((vector_size(kVectorBytes))); };

// A tile's sums stay in registers: 6 x 4 of 32, or 6 x 2 of 16.
constexpr int kRows = 6;
constexpr int kVectors = kRegisters == 32 ? 4 : 2;

/// The loops for elements of type T.
template <class T> struct Gemm {
  using Vector = typename VectorOf<T>::type;
  using Tile = GemmTileOf<T>;
  static constexpr int kLanes = kVectorBytes / static_cast<int>(sizeof(T)), kCols = kVectors * kLanes;

  static MINNOW_HD Vector load(const T* from) {
    Vector v;
    std::memcpy(&v, from, sizeof v);
    return v;
  }
  static MINNOW_HD void store(Vector v, T* to) { std::memcpy(to, &v, sizeof v); }

  static void pack_plain(const T* b, std::int64_t b_row, std::int64_t depth, int width, T* panel) {
    for (std::int64_t k = 0; k < depth; ++k) {
      const T* from = b + k * b_row;
      T* to = panel + k * kCols;
      if (width == kCols) {
#pragma GCC unroll 4
        for (int v = 0; v < kVectors; ++v) store(load(from + v * kLanes), to + v * kLanes);
      } else {
        for (int j = 0; j < kCols; ++j) to[j] = j < width ? from[j] : T(0);
      }
    }
  }

  static void pack_transposed(const T* b, std::int64_t b_col, std::int64_t depth, int width, T* panel) {
    for (int left = 0; left < kCols; left += kLanes) {
      const int cols = width - left < kLanes ? width - left : kLanes;
      const T* from = b + left * b_col;
      std::int64_t k = 0;
      for (; k + kLanes <= depth && cols > 0; k += kLanes) {
        Vector v[kLanes];
#pragma GCC unroll 16
        for (int j = 0; j < kLanes; ++j) v[j] = j < cols ? load(from + j * b_col + k) : Vector{};
        transpose_square<kLanes>(v);
#pragma GCC unroll 16
        for (int i = 0; i < kLanes; ++i) store(v[i], panel + (k + i) * kCols + left);
      }
      for (; k < depth; ++k)
        for (int j = 0; j < kLanes; ++j) panel[k * kCols + left + j] = j < cols ? from[j * b_col + k] : T(0);
    }
  }

  static void pack(const T* b, std::int64_t b_row, std::int64_t b_col, std::int64_t depth, int width, T* panel) {
    if (b_col == 1) pack_plain(b, b_row, depth, width, panel);
    else pack_transposed(b, b_col, depth, width, panel);
  }

  /// A tile that ends within a vector: rows of `cols` sums, the first `width` of which count.
  [[gnu::noinline]] static void add_to_part(const Tile& t, const T* sums, int rows, int cols, int width) {
    for (int r = 0; r < rows; ++r) {
      T* c = t.c + r * t.c_row;
      if (!t.more && t.start == nullptr) std::memcpy(c, sums + r * cols, static_cast<std::size_t>(width) * sizeof(T));
      else
        for (int j = 0; j < width; ++j)
          c[j] = (t.more ? c[j] : t.start != nullptr ? t.start[j] : T(0)) + sums[r * cols + j];
    }
  }

  /// Computes a tile of R rows and V vectors of columns.
  template <int R, int V> static void sums(const Tile& t, int width) {
    Vector sum[R][V] = {};
    const T* a = t.a;
    const T* b = t.b;
    for (std::int64_t k = 0; k < t.depth; ++k) {
      Vector row[V];
#pragma GCC unroll 4
      for (int v = 0; v < V; ++v) row[v] = load(b + v * kLanes);
#pragma GCC unroll 6
      for (int r = 0; r < R; ++r) {
        const T x = a[r * t.a_row];
#pragma GCC unroll 4
        for (int v = 0; v < V; ++v) sum[r][v] += x * row[v];
      }
      a += t.a_col;
      b += t.b_row;
    }
    if (width < V * kLanes) {
      T rest[R * V * kLanes];
#pragma GCC unroll 24
      for (int i = 0; i < R * V; ++i) store(sum[i / V][i % V], rest + i * kLanes);
      return add_to_part(t, rest, R, V * kLanes, width);
    }
#pragma GCC unroll 6
    for (int r = 0; r < R; ++r) {
      T* c = t.c + r * t.c_row;
#pragma GCC unroll 4
      for (int v = 0; v < V; ++v) {
        const T* from = t.more ? c : t.start;
        const Vector before = from != nullptr ? load(from + v * kLanes) : Vector{};
        store(before + sum[r][v], c + v * kLanes);
      }
    }
  }

  using Sums = void (*)(const Tile& tile, int width);
  struct SumsTable {
    Sums of[kRows][kVectors];
  };
  template <int... I> static constexpr SumsTable make_table(std::integer_sequence<int, I...>) {
    SumsTable table{};
    ((table.of[I / kVectors][I % kVectors] = sums<I / kVectors + 1, I % kVectors + 1>), ...);
    return table;
  }

  static void tile(const Tile& t, int height, int width) {
    static constexpr SumsTable kSums = make_table(std::make_integer_sequence<int, kRows * kVectors>());
    kSums.of[height - 1][(width - 1) / kLanes](t, width);
  }

  static constexpr GemmLoopsOf<T> kLoops = {kRows, kCols, pack, tile};
};

}  // namespace

template <> void install_loops<family::Gemm>(Kernels& k) {
  k.gemm = Gemm<float>::kLoops;
  k.gemm_double = Gemm<double>::kLoops;
  k.gemm_uint32 = Gemm<std::uint32_t>::kLoops;
  k.gemm_uint64 = Gemm<std::uint64_t>::kLoops;
}

}  // namespace minnow::cpu::MINNOW_ISA
