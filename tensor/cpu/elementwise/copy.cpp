#include <algorithm>
#include <array>
#include <cstring>
#include <utility>
#include <minnow/tensor/cpu/cpu_backend.h>
#include <minnow/tensor/cpu/elementwise/dense_copy.h>
#include <minnow/tensor/cpu/elementwise/rows.h>
#include <minnow/tensor/cpu/elementwise/transpose_square.h>
#include <minnow/tensor/cpu/elementwise/traverse.h>
#include <minnow/tensor/cpu/runtime/isa.h>
#include <minnow/tensor/cpu/runtime/parallel.h>
#include <minnow/tensor/cpu/runtime/streamed.h>
#include <minnow/tensor/dtype_switch.h>
#include <minnow/tensor/internal.h>

namespace minnow::cpu {
namespace {

constexpr std::int64_t kCopyElements = 1 << 13;
constexpr std::int64_t kShort = 16;  ///< rows that a loop along another dimension writes faster

char* bytes_at(const View& t, std::int64_t element) {
  return static_cast<char*>(t.raw_data()) + element * static_cast<std::int64_t>(t.itemsize());
}

template <class T>
void copy_row(const T* __restrict from, std::int64_t from_step, T* __restrict to, std::int64_t to_step,
              std::int64_t n) {
  if (to_step == 1 && from_step == 1) {
    std::memcpy(to, from, static_cast<std::size_t>(n) * sizeof(T));
  } else if (to_step == 1 && from_step == -1) {
    const T* const first = from - (n - 1);
    std::int64_t i = 0;
    if constexpr (sizeof(T) == 1) {  // which compilers do not reverse by vectors
      for (std::uint64_t bytes = 0; i + 8 <= n; i += 8) {
        std::memcpy(&bytes, first + (n - 8 - i), 8);
        bytes = __builtin_bswap64(bytes);
        std::memcpy(to + i, &bytes, 8);
      }
    }
    for (; i < n; ++i) to[i] = first[n - 1 - i];
  } else if (to_step == 1 && from_step == 0) {
    if (n < 64) std::fill_n(to, n, *from);
    else loops().fill(from, sizeof(T), to, n);
  } else {
#pragma GCC unroll 4
    for (; n > 0; --n, from += from_step, to += to_step) *to = *from;
  }
}

/// A batch of matrices with dense rows in one tensor and dense columns in the other.
struct Transpose {
  std::int64_t rows = 0, cols = 0;  // to[r, c] = from[c, r]
  std::int64_t to_step = 1;         // between columns of `to`: 1, unless other tensors are between
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
    if (st[d] > 0 && (dense_to < 0 || st[d] < st[dense_to])) dense_to = d;
  }
  if (dense_from < 0 || dense_to < 0 || dense_from == dense_to) return false;
  if (std::min(size[dense_from], size[dense_to]) < 4 || (sf[dense_to] == 0 && size[dense_to] < kShort)) return false;
  t.rows = size[dense_from], t.cols = size[dense_to], t.to_step = st[dense_to];
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

/// A square of as many elements as a vector of 16 bytes has.
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
  if (sizeof(T) == 4 && t.to_step == 1)
    return loops().transpose(from + begin, t.from_stride, to + begin * t.to_stride, t.to_stride, end - begin, t.cols);
  constexpr std::int64_t kTile = 16;
  for (std::int64_t c0 = 0; c0 < t.cols; c0 += kTile) {
    const std::int64_t width = std::min(kTile, t.cols - c0);
    if (width == kTile && end - begin == kTile && t.to_step == 1) {
      constexpr std::int64_t kSide = 16 / sizeof(T);
      for (std::int64_t r = begin; r < end; r += kSide)
        for (std::int64_t c = c0; c < c0 + kTile; c += kSide)
          transpose_block(from + c * t.from_stride + r, t.from_stride, to + r * t.to_stride + c, t.to_stride);
      continue;
    }
    T tile[kTile][kTile];
    for (std::int64_t c = 0; c < width; ++c) {
      const T* column = from + (c0 + c) * t.from_stride;
      for (std::int64_t r = begin; r < end; ++r) tile[r - begin][c] = column[r];
    }
    for (std::int64_t r = begin; r < end; ++r)
      copy_row(tile[r - begin], 1, to + r * t.to_stride + c0 * t.to_step, t.to_step, width);
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
  static constexpr std::int64_t kShort = 4;
  int rank = 0;  ///< of the dimensions before the rows
  std::int64_t sizes[kMaxRank] = {}, from[kMaxRank] = {}, to[kMaxRank] = {};
  std::int64_t rows = 1, n = 1, from_step = 1, to_step = 1;
  bool beside = false;  ///< rows have elements of the target in turn

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
    beside = rank > 0 && sizes[rank] <= kShort && sizes[rank] < sizes[rank - 1];
    if (beside)  // few long rows instead of many short ones
      for (std::int64_t* each : {sizes, from, to}) std::swap(each[rank - 1], each[rank]);
    n = sizes[rank], from_step = from[rank], to_step = to[rank];
    for (int d = 0; d < rank; ++d) rows *= sizes[d];
  }
};

/// `count` rows of Bytes to 2 Bytes bytes.
template <std::size_t Bytes>
void copy_short(const char* from, std::int64_t from_step, char* to, std::int64_t to_step, std::int64_t bytes,
                std::int64_t count) {
  for (; count > 0; --count, from += from_step, to += to_step)
    copy_twice<Bytes>(from, to, static_cast<std::size_t>(bytes));
}

template <class T> void run_rows(const RowCopy& c, const View& source, const View& target) {
  constexpr std::int64_t kElements = 1 << 14, kNear = 1 << 9;
  // Long rows are divided, and those that write the same memory are copied in turn.
  const std::int64_t part = std::min(c.n, c.beside ? kNear : kElements), parts = (c.n + part - 1) / part,
                     turn = c.beside && parts > 1 ? c.sizes[c.rank - 1] : 1;
  const std::int64_t bytes = c.n * static_cast<std::int64_t>(sizeof(T));
  const bool dense = c.rank > 0 && c.from_step == 1 && c.to_step == 1;
  const auto rows_of = !dense || bytes < 8 || bytes > 128 ? nullptr
                       : bytes <= 16                      ? copy_short<8>
                       : bytes <= 32                      ? copy_short<16>
                       : bytes <= 64                      ? copy_short<32>
                                                          : copy_short<64>;
  // Whole cache lines are touched, some of which another thread may have written.
  constexpr std::int64_t kLine = 64, kBlock = 1 << 16;
  const std::int64_t step = std::min<std::int64_t>(kLine, std::abs(c.to_step) * std::int64_t{sizeof(T)}),
                     touched = std::max(kLine, part * step), count = c.rows * parts;
  const std::int64_t block = std::max<std::int64_t>(1, kBlock / touched);
  parallel_blocks(count, block, 2 * count * touched, [&](std::int64_t begin, std::int64_t end) {
    std::int64_t index[kMaxRank], first = 0;
    const T* from = nullptr;
    T* to = nullptr;
    const auto locate = [&](std::int64_t k) {
      std::int64_t row = k / turn / parts * turn + k % turn;
      first = k / turn % parts * part;
      from = static_cast<const T*>(source.raw_data()), to = static_cast<T*>(target.raw_data());
      for (int d = c.rank - 1; d >= 0; row /= c.sizes[d], --d) {
        index[d] = row % c.sizes[d];
        from += index[d] * c.from[d], to += index[d] * c.to[d];
      }
    };
    locate(begin);
    for (std::int64_t k = begin; k < end; ++k) {
      if (rows_of != nullptr) {
        const int d = c.rank - 1;
        const std::int64_t more = std::min(end - k, c.sizes[d] - index[d]) - 1, item = sizeof(T);
        rows_of(reinterpret_cast<const char*>(from), c.from[d] * item, reinterpret_cast<char*>(to), c.to[d] * item,
                bytes, more + 1);
        from += more * c.from[d], to += more * c.to[d], index[d] += more, k += more;
      } else
        copy_row(from + first * c.from_step, c.from_step, to + first * c.to_step, c.to_step,
                 std::min(part, c.n - first));
      if (turn > 1) {
        if (k + 1 < end) locate(k + 1);
        continue;
      }
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
    return size_switch(to.itemsize(), [&]<class T>() { run_transpose<T>(t, from, to); });
  }
  const RowCopy rows(from, to);
  size_switch(to.itemsize(), [&]<class T>() { run_rows<T>(rows, from, to); });
}

}  // namespace

bool is_transpose(const View& from, const View& to) {
  Transpose t;
  return find_transpose(from, to, t) && t.from_stride != 0 && t.to_step == 1;
}

template <> void execute(const calls::Copy& args) {
  const View& to = args.to;
  if (to.numel() == 0) return;
  if (args.from.dtype() == to.dtype()) return copy_same_dtype(args.from, to);
  const View from = laid_out_as(to, args.from);
  // In one step where there is a loop for it, else by a type that both are loaded from and stored to.
  const Compute compute = compute_of(is_half(to.dtype()) ? to.dtype() : from.dtype()), target = compute_of(to.dtype());
  const ConvertLoop whole = loops().whole[loop_type(from.dtype())][loop_type(to.dtype())];
  const bool direct = whole != nullptr || to.dtype() == dtype_of(target);
  const ConvertLoop convert = whole != nullptr ? whole
                              : direct         ? loops().load[static_cast<int>(from.dtype())][static_cast<int>(target)]
                                               : loops().store[static_cast<int>(compute)][static_cast<int>(to.dtype())];
  std::array operands{TraverseOperand::output(to, to.dtype()),
                      TraverseOperand::input(from, direct ? from.dtype() : dtype_of(compute))};
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
    alignas(8) char bytes[8];
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
    const bool streams = is_streamed(out.nbytes());
    // Only long blocks are written without being read first.
    const std::int64_t block = streams ? std::int64_t{1} << 18 : kCopyElements;
    parallel_blocks(out.numel(), block, out.nbytes(), [&](std::int64_t begin, std::int64_t end) {
      const std::size_t bytes = static_cast<std::size_t>(end - begin) * pattern.size;
      if (streams) loops().stream_zeros(bytes_at(out, begin), bytes);
      else std::memset(bytes_at(out, begin), 0, bytes);
    });
    return;
  }
  std::array operands{TraverseOperand::output(out, out.dtype())};
  traverse(
      out.shape(), operands,
      [](const void* context, void* const* c, std::int64_t n) {
        const auto* p = static_cast<const Value*>(context);
        loops().fill(p->bytes, p->size, c[0], n);
      },
      &pattern);
}

template <> void execute(const calls::Arange& args) {
  const View& out = args.out;
  const auto run = [&]<class T>(T start, T step) {
    const ConvertLoop convert =
        loops().store[static_cast<int>(compute_of(minnow::dtype_of<T>()))][static_cast<int>(out.dtype())];
    parallel_blocks(out.numel(), kChunk, out.nbytes(), [&](std::int64_t begin, std::int64_t end) {
      T chunk[kChunk];
      char* const to = bytes_at(out, begin);
      T* const values = out.dtype() == minnow::dtype_of<T>() ? reinterpret_cast<T*>(to) : chunk;
      const T first = static_cast<T>(args.first + begin);
      if constexpr (std::is_integral_v<T>)
        for (std::int64_t i = 0, at = start + first * step; i < end - begin; ++i, at += step) values[i] = at;
      else  // processors convert vectors of int32, few of int64
        for (std::int32_t i = 0; i < end - begin; ++i) values[i] = start + (first + i) * step;
      if (values == chunk) convert(values, to, end - begin);
    });
  };
  if (is_integral(out.dtype())) run(static_cast<std::int64_t>(args.start), static_cast<std::int64_t>(args.step));
  else run(args.start, args.step);
}

}  // namespace minnow::cpu
