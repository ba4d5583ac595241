#include <minnow/tensor/cpu/gemm.h>

#include <algorithm>
#include <minnow/tensor/cpu/isa.h>
#include <minnow/tensor/cpu/parallel.h>
#include <minnow/tensor/cpu/scratch.h>

namespace minnow::cpu {
namespace {

constexpr int kAdd = kernels::kIndexOf<kernels::BinaryOps, kernels::Add>;
constexpr std::int64_t kStrip = 512;            // columns of b that are packed at a time
constexpr std::int64_t kColumns = 16;           // the step of share()
constexpr std::int64_t kMaxUnpackedRows = 128;  // up to here packing b costs more than it saves
constexpr std::int64_t kPartGap = 4096;     // floats between the memory of threads, more than the processor prefetches
constexpr std::int64_t kLargeStride = 512;  // floats between columns of a, from here on tiles are copied

std::int64_t rounded(std::int64_t n, std::int64_t step) { return (n + step - 1) / step * step; }

/// The depth of packed panels: as few blocks as possible, all of the same depth.
std::int64_t block_depth(std::int64_t k) {
  const std::int64_t blocks = (k + kGemmDepth - 1) / kGemmDepth;
  return (k + blocks - 1) / blocks;
}

/// The memory of the parts: panels, and a copy of a part's columns of c if c is divided by columns.  If they were
/// written to c directly, each core would prefetch cache lines that the next one writes.
class Workspace {
 public:
  Workspace(const Product& p, std::int64_t parts, bool own_c)
      : c_row_(own_c ? (rounded(p.n, kColumns) / kColumns + parts - 1) / parts * kColumns : 0) {
    const std::int64_t packed = rounded(std::min(kStrip, p.n), loops().gemm.cols);
    panel_floats_ = block_depth(p.k) * packed + kPartGap;
    part_floats_ = panel_floats_ + (own_c ? p.m * c_row_ + kPartGap : 0);
    void* memory = scratch(static_cast<std::size_t>(parts * part_floats_) * sizeof(float) + kLine);
    first_ = reinterpret_cast<float*>((reinterpret_cast<std::uintptr_t>(memory) + kLine - 1) / kLine * kLine);
  }
  float* panels(std::int64_t i) const { return first_ + i * part_floats_; }
  /// nullptr if parts write to c directly.
  float* c(std::int64_t i) const { return c_row_ == 0 ? nullptr : panels(i) + panel_floats_; }
  std::int64_t c_row() const { return c_row_; }

 private:
  static constexpr std::uintptr_t kLine = 64;
  std::int64_t c_row_, panel_floats_, part_floats_;
  float* first_;
};

/// Rows of a as a tile reads them: directly, or a copy with adjacent columns if the stride of the columns is large,
/// since they would share a few sets of the first-level cache.
struct TileRows {
  const float* data;
  std::int64_t row_step, col_step;
};
constexpr std::int64_t kMaxTileRows = 8;  // of the copy

TileRows tile_rows(const Product& p, std::int64_t row, int rows, std::int64_t k, std::int64_t depth, bool copied,
                   float* copy) {
  const float* a = p.a + row * p.a_row + k * p.a_col;
  if (!copied) return {a, p.a_row, p.a_col};
  for (std::int64_t i = 0; i < depth; ++i) std::copy_n(a + i * p.a_col, rows, copy + i * kMaxTileRows);
  return {copy, 1, kMaxTileRows};
}

/// Computes a part of the product to c, or with `add` adds it, on one thread.  Writes rows of c from left to right, not the columns of a panel
/// from top to bottom, where the processor would prefetch rows of the next thread.
void run_part(const Product& p, Range rows, Range cols, float* c, std::int64_t c_row, float* panels, bool add) {
  const GemmLoops& l = loops().gemm;
  const std::int64_t depth = block_depth(p.k);
  const bool direct = p.b_col == 1 && rows.size() <= kMaxUnpackedRows;
  const bool copied = p.a_row == 1 && p.a_col >= kLargeStride && cols.size() >= kLargeStride;
  float copy[kMaxTileRows * kGemmDepth];
  for (std::int64_t left = 0; left < cols.size(); left += kStrip) {
    const std::int64_t strip = std::min(kStrip, cols.size() - left);
    for (std::int64_t k = 0; k < p.k; k += depth) {
      const std::int64_t deep = std::min(depth, p.k - k);
      const float* b = p.b + k * p.b_row + (cols.begin + left) * p.b_col;
      for (std::int64_t j = direct ? strip - strip % l.cols : 0; j < strip; j += l.cols)
        l.pack(b + j * p.b_col, p.b_row, p.b_col, deep, static_cast<int>(std::min<std::int64_t>(l.cols, strip - j)),
               panels + j * deep);
      for (std::int64_t i = rows.begin; i < rows.end; i += l.rows) {
        const int height = static_cast<int>(std::min<std::int64_t>(l.rows, rows.end - i));
        const TileRows a = tile_rows(p, i, height, k, deep, copied, copy);
        for (std::int64_t j = 0; j < strip; j += l.cols) {
          const std::int64_t width = std::min<std::int64_t>(l.cols, strip - j);
          const bool in_place = direct && width == l.cols;
          const GemmTile tile{a.data,
                              a.row_step,
                              a.col_step,
                              in_place ? b + j : panels + j * deep,
                              in_place ? p.b_row : l.cols,
                              deep,
                              c + (i - rows.begin) * c_row + left + j,
                              c_row,
                              k > 0 || p.bias == nullptr ? nullptr : p.bias + cols.begin + left + j,
                              k > 0 || add};
          l.tile(tile, height, static_cast<int>(width));
        }
      }
    }
  }
}

/// Copies the columns of the parts to c, or adds them.
void join_columns(const Product& p, const Workspace& space, std::int64_t parts) {
  parallel_for(p.m, 2 * p.m * p.n * static_cast<std::int64_t>(sizeof(float)), [&](std::int64_t row) {
    for (std::int64_t i = 0; i < parts; ++i) {
      const Range cols = share(p.n, parts, i);
      const float* from = space.c(i) + row * space.c_row();
      float* to = p.c + row * p.c_row + cols.begin;
      if (p.add) loops().binary[static_cast<int>(Compute::kFloat)][kAdd](to, from, to, cols.size());
      else std::copy_n(from, cols.size(), to);
    }
  });
}

}  // namespace

bool is_worth_packing(const Product& p) {
  constexpr std::int64_t kRowsToPack = 16;
  return p.b_col == 1 || p.m >= kRowsToPack;
}

void multiply(const Product& p) {
  constexpr std::int64_t kMinSide = 32, kMinWork = 1 << 16;  // rows or columns, and multiplications, of a part
  const bool by_rows = p.m * p.k > p.k * p.n || p.m * p.n > p.k * p.n;
  const std::int64_t max_parts = std::min((by_rows ? p.m : p.n) / kMinSide, p.m * p.n * p.k / kMinWork);
  const std::int64_t parts =
      std::clamp<std::int64_t>(in_parallel() ? 1 : num_threads(), 1, std::max<std::int64_t>(1, max_parts));
  // A sum is added to c as a whole, for any number of parts: the bits are the same.
  const Workspace space(p, parts, !by_rows && (parts > 1 || p.add));
  parallel_for(parts, parts > 1 ? kParallelBytes : 0, [&](std::int64_t i) {
    const Range rows = by_rows ? share(p.m, parts, i) : Range{0, p.m};
    const Range cols = by_rows ? Range{0, p.n} : share(p.n, parts, i);
    if (space.c(i)) run_part(p, rows, cols, space.c(i), space.c_row(), space.panels(i), false);
    else run_part(p, rows, cols, p.c + rows.begin * p.c_row, p.c_row, space.panels(i), p.add);
  });
  if (space.c(0)) join_columns(p, space, parts);
}

}  // namespace minnow::cpu
