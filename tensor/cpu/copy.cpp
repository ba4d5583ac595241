#include <algorithm>
#include <array>
#include <cstring>
#include <minnow/tensor/cpu/cpu_backend.h>
#include <minnow/tensor/cpu/isa.h>
#include <minnow/tensor/cpu/parallel.h>
#include <minnow/tensor/cpu/streamed.h>
#include <minnow/tensor/cpu/transpose_square.h>
#include <minnow/tensor/cpu/traverse.h>
#include <minnow/tensor/internal.h>

namespace minnow::cpu {
namespace {

constexpr std::int64_t kCopyElements = 1 << 16;

char* bytes_at(const View& t, std::int64_t element) {
  return static_cast<char*>(t.raw_data()) + element * static_cast<std::int64_t>(t.itemsize());
}

/// A batch of matrices with dense rows in one tensor and dense columns in the other.
struct Transpose {
  std::int64_t rows = 0, cols = 0;  // to[r, c] = from[c, r]
  std::int64_t to_stride = 0;       // between rows of `to`, in elements
  std::int64_t from_stride = 0;     // between columns of `from`
  int batch_rank = 0;
  std::int64_t batch[kMaxRank] = {};
  std::int64_t batch_from[kMaxRank] = {}, batch_to[kMaxRank] = {};
  std::int64_t batches = 1;
};

/// Whether a copy is a transpose: the dense dimensions differ.  Merges neighboring dimensions that are one dimension
/// in both tensors.
bool find_transpose(const View& from, const View& to, Transpose& t) {
  std::int64_t size[kMaxRank], sf[kMaxRank], st[kMaxRank];
  int rank = 0;
  for (int d = 0; d < to.dim(); ++d) {
    const std::int64_t n = to.shape()[d], f = from.strides()[d], o = to.strides()[d];
    if (n == 1) continue;
    if (rank > 0 && sf[rank - 1] == f * n && st[rank - 1] == o * n) {
      size[rank - 1] *= n, sf[rank - 1] = f, st[rank - 1] = o;
    } else {
      size[rank] = n, sf[rank] = f, st[rank] = o, ++rank;
    }
  }
  int dense_from = -1, dense_to = -1;
  for (int d = 0; d < rank; ++d) {
    if (sf[d] == 1) dense_from = d;
    if (st[d] == 1) dense_to = d;
  }
  if (dense_from < 0 || dense_to < 0 || dense_from == dense_to) return false;
  if (size[dense_from] < 4) return false;
  t.rows = size[dense_from], t.cols = size[dense_to];
  t.to_stride = st[dense_from], t.from_stride = sf[dense_to];
  for (int d = 0; d < rank; ++d) {
    if (d == dense_from || d == dense_to) continue;
    t.batch[t.batch_rank] = size[d];
    t.batch_from[t.batch_rank] = sf[d];
    t.batch_to[t.batch_rank++] = st[d];
    t.batches *= size[d];
  }
  return true;
}

/// Elements of one or two bytes: a square of as many as a vector of 16 bytes has.
template <class T> void transpose_block(const T* from, std::int64_t from_stride, T* to, std::int64_t to_stride) {
  typedef T Lanes __attribute__((vector_size(16)));
  constexpr int kLanes = 16 / sizeof(T);
  Lanes v[kLanes];
  for (int i = 0; i < kLanes; ++i) std::memcpy(&v[i], from + i * from_stride, sizeof(Lanes));
  transpose_square<kLanes>(v);
  for (int i = 0; i < kLanes; ++i) std::memcpy(to + i * to_stride, &v[i], sizeof(Lanes));
}

/// Tiles of 16 x 16 stay in the first-level cache on both sides.
template <class T> void transpose_rows(const Transpose& t, const T* from, T* to, std::int64_t begin, std::int64_t end) {
  if constexpr (sizeof(T) == 4)
    return loops().transpose(from + begin, t.from_stride, to + begin * t.to_stride, t.to_stride, end - begin, t.cols);
  constexpr std::int64_t kTile = 16;
  for (std::int64_t c0 = 0; c0 < t.cols; c0 += kTile) {
    const std::int64_t width = std::min(kTile, t.cols - c0);
    if constexpr (sizeof(T) <= 2) {
      if (width == kTile && end - begin == kTile) {
        constexpr std::int64_t kSide = 16 / sizeof(T);
        for (std::int64_t r = begin; r < end; r += kSide)
          for (std::int64_t c = c0; c < c0 + kTile; c += kSide)
            transpose_block(from + c * t.from_stride + r, t.from_stride, to + r * t.to_stride + c, t.to_stride);
        continue;
      }
    }
    T tile[kTile][kTile];
    for (std::int64_t c = 0; c < width; ++c) {
      const T* column = from + (c0 + c) * t.from_stride;
      for (std::int64_t r = begin; r < end; ++r) tile[r - begin][c] = column[r];
    }
    for (std::int64_t r = begin; r < end; ++r)
      std::memcpy(to + r * t.to_stride + c0, tile[r - begin], static_cast<std::size_t>(width) * sizeof(T));
  }
}

template <class T> void run_transpose(const Transpose& t, const View& from, const View& to) {
  constexpr std::int64_t kRows = 16;
  const T* source = static_cast<const T*>(from.raw_data());
  T* target = static_cast<T*>(to.raw_data());
  const std::int64_t strips = (t.rows + kRows - 1) / kRows;
  parallel_for(t.batches * strips, 2 * to.nbytes(), [&](std::int64_t i) {
    const std::int64_t begin = i % strips * kRows;
    std::int64_t at = i / strips, f = 0, o = 0;
    for (int d = t.batch_rank - 1; d >= 0; --d) {
      f += at % t.batch[d] * t.batch_from[d];
      o += at % t.batch[d] * t.batch_to[d];
      at /= t.batch[d];
    }
    transpose_rows(t, source + f, target + o, begin, std::min(t.rows, begin + kRows));
  });
}

/// Rows along the dimension in which `to` has its smallest stride; dimensions that are one in both tensors are merged.
/// Strides are in elements; those of `from` may be 0 or negative.
struct RowCopy {
  int rank = 0;  ///< of the dimensions before the rows
  std::int64_t sizes[kMaxRank] = {}, from[kMaxRank] = {}, to[kMaxRank] = {};
  std::int64_t rows = 1, n = 1, from_step = 1, to_step = 1;

  RowCopy(const View& source, const View& target) {
    int order[kMaxRank], used = 0;
    for (int d = 0; d < target.dim(); ++d) {
      if (target.shape()[d] == 1) continue;
      int at = used++;
      for (; at > 0 && target.strides()[order[at - 1]] < target.strides()[d]; --at) order[at] = order[at - 1];
      order[at] = d;
    }
    for (int i = 0; i < used; ++i) {
      const std::int64_t size = target.shape()[order[i]], f = source.strides()[order[i]],
                         t = target.strides()[order[i]];
      if (rank == 0 || from[rank - 1] != f * size || to[rank - 1] != t * size) sizes[rank++] = 1;
      sizes[rank - 1] *= size, from[rank - 1] = f, to[rank - 1] = t;
    }
    if (rank == 0) return;
    --rank;
    n = sizes[rank], from_step = from[rank], to_step = to[rank];
    for (int d = 0; d < rank; ++d) rows *= sizes[d];
  }
};

template <class T>
void copy_row(const T* __restrict from, std::int64_t from_step, T* __restrict to, std::int64_t to_step,
              std::int64_t n) {
  if (to_step == 1 && from_step == 1) {
    std::memcpy(to, from, static_cast<std::size_t>(n) * sizeof(T));
  } else if (to_step == 1 && from_step == -1) {
    const T* const first = from - (n - 1);
    for (std::int64_t i = 0; i < n; ++i) to[i] = first[n - 1 - i];
  } else if (to_step == 1 && from_step == 0) {
    std::fill_n(to, n, *from);
  } else {
    for (std::int64_t i = 0; i < n; ++i) to[i * to_step] = from[i * from_step];
  }
}

template <class T> void run_rows(const RowCopy& c, const View& source, const View& target) {
  constexpr std::int64_t kElements = 1 << 14;
  const std::int64_t part = std::min(c.n, kElements), parts = (c.n + part - 1) / part;  // long rows are divided
  parallel_blocks(c.rows * parts, kElements / part, 2 * target.nbytes(), [&](std::int64_t begin, std::int64_t end) {
    std::int64_t index[kMaxRank], row = begin / parts, first = begin % parts * part;
    const T* from = static_cast<const T*>(source.raw_data());
    T* to = static_cast<T*>(target.raw_data());
    for (int d = c.rank - 1; d >= 0; row /= c.sizes[d], --d) {
      index[d] = row % c.sizes[d];
      from += index[d] * c.from[d], to += index[d] * c.to[d];
    }
    for (std::int64_t k = begin; k < end; ++k) {
      copy_row(from + first * c.from_step, c.from_step, to + first * c.to_step, c.to_step, std::min(part, c.n - first));
      first += part;
      if (first < c.n) continue;
      first = 0;
      for (int d = c.rank - 1; d >= 0; --d) {
        from += c.from[d], to += c.to[d];
        if (++index[d] < c.sizes[d]) break;
        from -= c.sizes[d] * c.from[d], to -= c.sizes[d] * c.to[d];
        index[d] = 0;
      }
    }
  });
}

void copy_same_dtype(const View& from, const View& to) {
  const std::int64_t n = to.numel();
  if (same_dense_layout(from, to)) {
    parallel_blocks(n, kCopyElements, 2 * to.nbytes(), [&](std::int64_t begin, std::int64_t end) {
      std::memmove(bytes_at(to, begin), bytes_at(from, begin), static_cast<std::size_t>(end - begin) * to.itemsize());
    });
    return;
  }
  Transpose t;
  if (find_transpose(from, to, t)) {
    switch (to.itemsize()) {
      case 1: return run_transpose<std::uint8_t>(t, from, to);
      case 2: return run_transpose<std::uint16_t>(t, from, to);
      case 4: return run_transpose<std::uint32_t>(t, from, to);
      default: return run_transpose<std::uint64_t>(t, from, to);
    }
  }
  const RowCopy rows(from, to);
  switch (to.itemsize()) {
    case 1: return run_rows<std::uint8_t>(rows, from, to);
    case 2: return run_rows<std::uint16_t>(rows, from, to);
    case 4: return run_rows<std::uint32_t>(rows, from, to);
    default: return run_rows<std::uint64_t>(rows, from, to);
  }
}

}  // namespace

template <> void execute(const calls::Copy& args) {
  const View &from = args.from, &to = args.to;
  if (to.numel() == 0) return;
  if (from.dtype() == to.dtype()) return copy_same_dtype(from, to);
  // The source is converted to its compute type first, which is exact, and then to the target, if that is another one.
  const Compute compute = compute_of(from.dtype());
  const DType exact = dtype_of(compute);
  const bool widens = to.dtype() == exact;
  const ConvertLoop convert = widens ? loops().load[static_cast<int>(from.dtype())][static_cast<int>(compute)]
                                     : loops().store[static_cast<int>(compute)][static_cast<int>(to.dtype())];
  std::array operands{TraverseOperand::output(to, to.dtype()),
                      TraverseOperand::input(from, widens ? from.dtype() : exact)};
  traverse(
      to.shape(), operands,
      [](const void* context, void* const* c, std::int64_t n) {
        (*static_cast<const ConvertLoop*>(context))(c[1], c[0], n);
      },
      &convert);
}

template <> void execute(const calls::Fill& args) {
  const View& out = args.out;
  const Scalar value = args.value;
  struct Value {
    alignas(8) char bytes[kChunk * 8];
    std::size_t size;
  } pattern;
  pattern.size = out.itemsize();
  const Compute compute = is_floating_point(value.dtype()) ? Compute::kDouble : Compute::kInt64;
  const double floating = value.as_double();
  const std::int64_t whole = value.as_int();
  const void* source = compute == Compute::kDouble ? static_cast<const void*>(&floating) : &whole;
  loops().store[static_cast<int>(compute)][static_cast<int>(out.dtype())](source, pattern.bytes, 1);
  const bool zero = std::all_of(pattern.bytes, pattern.bytes + pattern.size, [](char c) { return c == 0; });
  if (zero && is_dense(out.shape(), out.strides())) {
    // Long blocks: only they are written without being read first.
    const bool streams = is_streamed(out.nbytes());
    parallel_blocks(out.numel(), std::int64_t{1} << 18, out.nbytes(), [&](std::int64_t begin, std::int64_t end) {
      const std::size_t bytes = static_cast<std::size_t>(end - begin) * pattern.size;
      if (streams) loops().stream_zeros(bytes_at(out, begin), bytes);
      else std::memset(bytes_at(out, begin), 0, bytes);
    });
    return;
  }
  const std::size_t filled = static_cast<std::size_t>(std::min(out.numel(), kChunk)) * pattern.size;
  for (std::size_t at = pattern.size; at < filled; at *= 2)
    std::memcpy(pattern.bytes + at, pattern.bytes, std::min(at, filled - at));
  std::array operands{TraverseOperand::output(out, out.dtype())};
  traverse(
      out.shape(), operands,
      [](const void* context, void* const* c, std::int64_t n) {
        const auto* p = static_cast<const Value*>(context);
        for (std::int64_t i = 0; i < n; i += kChunk) {
          std::memcpy(static_cast<char*>(c[0]) + static_cast<std::size_t>(i) * p->size, p->bytes,
                      static_cast<std::size_t>(std::min(kChunk, n - i)) * p->size);
        }
      },
      &pattern);
}

template <> void execute(const calls::Arange& args) {
  const View& out = args.out;
  const double start = args.start, step = args.step;
  const bool integral = is_integral(out.dtype());
  const auto& store = loops().store[static_cast<int>(integral ? Compute::kInt64 : Compute::kDouble)];
  const ConvertLoop convert = store[static_cast<int>(out.dtype())];
  parallel_blocks(out.numel(), kChunk, out.nbytes(), [&](std::int64_t begin, std::int64_t end) {
    if (integral) {
      std::int64_t values[kChunk];
      const std::int64_t first = static_cast<std::int64_t>(start);
      const std::int64_t by = static_cast<std::int64_t>(step);
      for (std::int64_t i = begin; i < end; ++i) values[i - begin] = first + i * by;
      convert(values, bytes_at(out, begin), end - begin);
    } else {
      double values[kChunk];
      for (std::int64_t i = begin; i < end; ++i) values[i - begin] = start + static_cast<double>(i) * step;
      convert(values, bytes_at(out, begin), end - begin);
    }
  });
}

}  // namespace minnow::cpu
