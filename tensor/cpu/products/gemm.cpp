#include <minnow/tensor/cpu/products/gemm.h>

#include <algorithm>
#include <type_traits>
#include <minnow/tensor/cpu/runtime/isa.h>
#include <minnow/tensor/cpu/runtime/parallel.h>
#include <minnow/tensor/cpu/runtime/scratch.h>

namespace minnow::cpu {
namespace {

template <class T> constexpr std::int64_t kStrip = 2048 / sizeof(T);  // columns of b that are packed at a time
constexpr std::int64_t kColumns = 16;                                 // the step of share()
constexpr std::int64_t kMaxUnpackedRows = 128;                        // up to here packing b costs more than it saves
constexpr std::int64_t kPartGap = 4096;  // elements between the memory of threads, more than the processor prefetches
constexpr std::int64_t kLargeStride = 512;  // elements between columns of a, from here on tiles are copied

template <class T> const GemmLoopsOf<T>& gemm_loops() {
  if constexpr (std::is_same_v<T, float>) return loops().gemm;
  else if constexpr (std::is_same_v<T, double>) return loops().gemm_double;
  else if constexpr (std::is_same_v<T, std::uint32_t>) return loops().gemm_uint32;
  else return loops().gemm_uint64;
}

std::int64_t rounded(std::int64_t n, std::int64_t step) { return (n + step - 1) / step * step; }

/// The depth of packed panels: as few blocks as possible, all of the same depth.
template <class T> std::int64_t block_depth(const ProductOf<T>& p) {
  if (p.packed_b) return kGemmDepth;
  const std::int64_t blocks = (p.k + kGemmDepth - 1) / kGemmDepth;
  return (p.k + blocks - 1) / blocks;
}

/// Packs columns of b, `deep` rows deep, from column `from` on.
template <class T>
void pack_panels(const T* b, std::int64_t b_row, std::int64_t b_col, std::int64_t deep, std::int64_t from,
                 std::int64_t cols, T* panels) {
  const GemmLoopsOf<T>& l = gemm_loops<T>();
  for (std::int64_t j = from; j < cols; j += l.cols)
    l.pack(b + j * b_col, b_row, b_col, deep, static_cast<int>(std::min<std::int64_t>(l.cols, cols - j)),
           panels + j * deep);
}

/// The memory of the parts: panels, and a copy of a part's columns of c if c is divided into few columns each.  If they
/// were written to c directly, each core would prefetch cache lines that the next one writes.
template <class T> class Workspace {
 public:
  Workspace(const ProductOf<T>& p, std::int64_t parts, bool own_c)
      : c_row_(own_c ? (rounded(p.n, kColumns) / kColumns + parts - 1) / parts * kColumns : 0) {
    const std::int64_t packed = p.packed_b ? 0 : rounded(std::min(kStrip<T>, p.n), gemm_loops<T>().cols);
    panel_size_ = block_depth(p) * packed + kPartGap;
    part_size_ = panel_size_ + (own_c ? p.m * c_row_ + kPartGap : 0);
    void* memory = scratch(static_cast<std::size_t>(parts * part_size_) * sizeof(T) + kLine);
    first_ = reinterpret_cast<T*>((reinterpret_cast<std::uintptr_t>(memory) + kLine - 1) / kLine * kLine);
  }
  T* panels(std::int64_t i) const { return first_ + i * part_size_; }
  /// nullptr if parts write to c directly.
  T* c(std::int64_t i) const { return c_row_ == 0 ? nullptr : panels(i) + panel_size_; }
  std::int64_t c_row() const { return c_row_; }

 private:
  static constexpr std::uintptr_t kLine = 64;
  std::int64_t c_row_, panel_size_, part_size_;
  T* first_;
};

/// Rows of a as a tile reads them: directly, or a copy with adjacent columns if the stride of the columns is large,
/// since they would share a few sets of the first-level cache.
template <class T> struct TileRows {
  const T* data;
  std::int64_t row_step, col_step;
};
constexpr std::int64_t kMaxTileRows = 8;  // of the copy

template <class T>
TileRows<T> tile_rows(const ProductOf<T>& p, std::int64_t row, int rows, std::int64_t k, std::int64_t depth,
                      bool copied, T* copy) {
  const T* a = p.a + row * p.a_row + k * p.a_col;
  if (!copied) return {a, p.a_row, p.a_col};
  for (std::int64_t i = 0; i < depth; ++i) std::copy_n(a + i * p.a_col, rows, copy + i * kMaxTileRows);
  return {copy, 1, kMaxTileRows};
}

/// Computes a part of the product to c, or adds it, on one thread.  Writes rows of c from left to right, not the
/// columns of a panel from top to bottom, where the processor would prefetch rows of the next thread.
template <class T> void run_part(const ProductOf<T>& p, Range rows, Range cols, T* c, std::int64_t c_row, T* panels) {
  const GemmLoopsOf<T>& l = gemm_loops<T>();
  const std::int64_t depth = block_depth(p);
  const bool direct = !p.packed_b && p.b_col == 1 && rows.size() <= kMaxUnpackedRows;
  const bool copied = p.a_row == 1 && p.a_col >= kLargeStride && cols.size() >= kLargeStride;
  T copy[kMaxTileRows * kGemmDepth];
  for (std::int64_t left = 0; left < cols.size(); left += kStrip<T>) {
    const std::int64_t strip = std::min(kStrip<T>, cols.size() - left);
    for (std::int64_t k = 0; k < p.k; k += depth) {
      const std::int64_t deep = std::min(depth, p.k - k);
      const T* b = p.packed_b ? nullptr : p.b + k * p.b_row + (cols.begin + left) * p.b_col;
      if (!p.packed_b) pack_panels(b, p.b_row, p.b_col, deep, direct ? strip - strip % l.cols : 0, strip, panels);
      for (std::int64_t i = rows.begin; i < rows.end; i += l.rows) {
        const int height = static_cast<int>(std::min<std::int64_t>(l.rows, rows.end - i));
        const TileRows<T> a = tile_rows(p, i, height, k, deep, copied, copy);
        for (std::int64_t j = 0; j < strip; j += l.cols) {
          const std::int64_t width = std::min<std::int64_t>(l.cols, strip - j);
          const bool in_place = direct && width == l.cols;
          const T* panel = p.packed_b ? p.packed_b->panel(k, cols.begin + left + j) : panels + j * deep;
          const GemmTileOf<T> tile{a.data,
                                   a.row_step,
                                   a.col_step,
                                   in_place ? b + j : panel,
                                   in_place ? p.b_row : l.cols,
                                   deep,
                                   c + (i - rows.begin) * c_row + left + j,
                                   c_row,
                                   k > 0 || p.bias == nullptr ? nullptr : p.bias + cols.begin + left + j,
                                   k > 0 || p.add};
          l.tile(tile, height, static_cast<int>(width));
        }
      }
    }
  }
}

/// Copies columns of c to a part's memory, or back.
template <class T> void copy_columns(const ProductOf<T>& p, Range cols, T* own, std::int64_t own_row, bool back) {
  for (std::int64_t row = 0; row < p.m; ++row) {
    T *const c = p.c + row * p.c_row + cols.begin, *const copy = own + row * own_row;
    if (back) std::copy_n(copy, cols.size(), c);
    else std::copy_n(c, cols.size(), copy);
  }
}

template <class T> void run(const ProductOf<T>& p) {
  constexpr std::int64_t kTiny = 64;  // multiplications that take less time than packing a panel
  if (!p.packed_b && (p.m * p.n * p.k <= kTiny || (std::is_integral_v<T> && p.m == 1 && p.n == 1))) {
    for (std::int64_t i = 0; i < p.m; ++i)
      for (std::int64_t j = 0; j < p.n; ++j) {
        T sum = 0, *const c = p.c + i * p.c_row + j;
        for (std::int64_t k = 0; k < p.k; ++k) sum += p.a[i * p.a_row + k * p.a_col] * p.b[k * p.b_row + j * p.b_col];
        *c = (p.add ? *c : p.bias ? p.bias[j] : T(0)) + sum;
      }
    return;
  }
  constexpr std::int64_t kMinSide = 32, kMinWork = 1 << 16;  // rows or columns, and multiplications, of a part
  const bool by_rows = p.packed_b || p.m * p.k >= p.k * p.n || p.m * p.n > p.k * p.n;
  const std::int64_t max_parts = std::min((by_rows ? p.m : p.n) / kMinSide, p.m * p.n * p.k / kMinWork);
  const std::int64_t parts =
      std::clamp<std::int64_t>(in_parallel() ? 1 : num_threads(), 1, std::max<std::int64_t>(1, max_parts));
  constexpr std::int64_t kManyColumns = 512;  // of a part; the lines at its edge no longer matter
  const Workspace<T> space(p, parts, !by_rows && parts > 1 && p.n / parts < kManyColumns);
  parallel_for(parts, parts > 1 ? kParallelBytes : 0, [&](std::int64_t i) {
    const Range rows = by_rows ? share(p.m, parts, i) : Range{0, p.m};
    const Range cols = by_rows ? Range{0, p.n} : share(p.n, parts, i);
    T* const own = space.c(i);
    if (own && p.add) copy_columns(p, cols, own, space.c_row(), false);
    if (own) run_part(p, rows, cols, own, space.c_row(), space.panels(i));
    else run_part(p, rows, cols, p.c + rows.begin * p.c_row + cols.begin, p.c_row, space.panels(i));
  });
  if (space.c(0))
    parallel_for(parts, 2 * p.m * p.n * static_cast<std::int64_t>(sizeof(T)),
                 [&](std::int64_t i) { copy_columns(p, share(p.n, parts, i), space.c(i), space.c_row(), true); });
}

}  // namespace

template <class T> std::int64_t PackedMatrixOf<T>::floats(std::int64_t k, std::int64_t n) {
  return k * rounded(n, gemm_loops<T>().cols);
}

template <class T>
PackedMatrixOf<T>::PackedMatrixOf(const T* b, std::int64_t b_row, std::int64_t b_col, std::int64_t k, std::int64_t n,
                                  T* memory)
    : data_(memory), rows_(k), cols_(rounded(n, gemm_loops<T>().cols)) {
  for (std::int64_t i = 0; i < k; i += kGemmDepth)
    pack_panels(b + i * b_row, b_row, b_col, std::min(kGemmDepth, k - i), 0, n, memory + i * cols_);
}

template <class T> const T* PackedMatrixOf<T>::panel(std::int64_t k, std::int64_t j) const {
  return data_ + k * cols_ + j * std::min(kGemmDepth, rows_ - k);
}

template class PackedMatrixOf<float>;

void multiply(const ProductOf<float>& p) { run(p); }
void multiply(const ProductOf<double>& p) { run(p); }
void multiply(const ProductOf<std::uint32_t>& p) { run(p); }
void multiply(const ProductOf<std::uint64_t>& p) { run(p); }

}  // namespace minnow::cpu
