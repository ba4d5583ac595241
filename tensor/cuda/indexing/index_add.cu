#include <algorithm>
#include <bit>
#include <limits>
#include <minnow/tensor/cuda/cuda_backend.h>
#include <minnow/tensor/cuda/elementwise/element_access.h>
#include <minnow/tensor/cuda/indexing/sort.h>
#include <minnow/tensor/cuda/runtime/launch.h>
#include <minnow/tensor/kernels/binary.h>
#include <minnow/tensor/kernels/strided.h>

namespace minnow::cuda {
namespace {

/// out[line, index[line, i]] += x[line, i], for i in order, or another operation: the same result in every run, without
/// atomics.
struct IndexSum {
  kernels::Narrow<3> lines;  ///< of out, x and index: all dimensions except the indexed one
  char* out;
  const char* x;
  const char* index;
  std::int64_t n, limit;                      ///< sources of a line, and elements of out in it
  std::int64_t out_step, x_step, index_step;  ///< along a line, in bytes
  DType dtype;
  ScatterOp op;
  bool shared;  ///< all lines have the same index
  std::uint32_t* fault;
};

template <class T> __device__ __forceinline__ T combined(ScatterOp op, T a, T b) {
  if (op == ScatterOp::add) return kernels::Add::value(a, b);
  if (op == ScatterOp::multiply) return kernels::Mul::value(a, b);
  if (op == ScatterOp::max) return kernels::Maximum::value(a, b);
  return op == ScatterOp::min ? kernels::Minimum::value(a, b) : b;
}
/// What does not change a value that it is combined with.
template <class T> __device__ __forceinline__ T neutral(ScatterOp op) {
  using Limits = std::numeric_limits<T>;
  constexpr T kLargest = Limits::has_infinity ? Limits::infinity() : Limits::max();
  constexpr T kSmallest = Limits::has_infinity ? -Limits::infinity() : Limits::lowest();
  if (op == ScatterOp::multiply) return T(1);
  return op == ScatterOp::max ? kSmallest : op == ScatterOp::min ? kLargest : T(0);
}

__device__ __forceinline__ std::int64_t index_at(const IndexSum& s, const char* line, std::int64_t i) {
  return *reinterpret_cast<const std::int64_t*>(line + i * s.index_step);
}

/// For short lines, a thread for each source.  The thread of the first source of an element adds all sources of that
/// element.
template <class T> __global__ void short_sum_kernel(IndexSum s) {
  const std::int64_t work = s.n * s.lines.numel, step = static_cast<std::int64_t>(gridDim.x) * blockDim.x;
  for (std::int64_t w = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; w < work; w += step) {
    const std::int64_t i = w / s.lines.numel;
    const kernels::Offsets<3> at = s.lines.offsets(static_cast<std::uint32_t>(w - i * s.lines.numel));
    const char* const line = s.index + at.at[2];
    const std::int64_t target = index_at(s, line, i);
    if (target < 0 || target >= s.limit) {
      *s.fault = 1;
      continue;
    }
    std::int64_t j = 0;
    while (j < i && index_at(s, line, j) != target) ++j;
    if (j < i) continue;  // the thread of an earlier source adds it
    visit_stored<T>(s.dtype, [&]<class S>(S) {
      S* const out = reinterpret_cast<S*>(s.out + at.at[0] + target * s.out_step);
      const char* const x = s.x + at.at[1];
      T sum = widen<T>(*out);
      for (; j < s.n; ++j) {
        if (index_at(s, line, j) != target) continue;
        sum = combined(s.op, sum, widen<T>(*reinterpret_cast<const S*>(x + j * s.x_step)));
      }
      *out = narrow<S>(sum);
    });
  }
}

/// The sources of lines [first, first + groups * columns), sorted by the element that they are added to.  The lines of
/// a group have the same index, and keys from group * limit on.  Sources with an index out of range are last.
struct Sorted {
  const std::uint32_t* keys;
  const std::uint32_t* sources;
  std::int64_t pairs, first, groups, columns;

  MINNOW_HD std::uint32_t none(const IndexSum& s) const { return static_cast<std::uint32_t>(groups * s.limit); }
};

/// Writes pairs of sources and keys, in the order of the sources in each group.
__global__ void key_kernel(IndexSum s, Sorted sorted, std::uint32_t* keys, std::uint32_t* sources) {
  const bool along = s.index_step == sizeof(std::int64_t);  // adjacent threads read adjacent elements
  const std::int64_t step = static_cast<std::int64_t>(gridDim.x) * blockDim.x;
  for (std::int64_t w = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; w < sorted.pairs; w += step) {
    const std::int64_t group = along ? w / s.n : w % sorted.groups, i = along ? w % s.n : w / sorted.groups;
    const std::int32_t line = s.lines.offsets(static_cast<std::uint32_t>(sorted.first + group)).at[2];
    const std::int64_t target = index_at(s, s.index + line, i);
    const bool good = target >= 0 && target < s.limit;
    if (!good) *s.fault = 1;
    keys[w] = good ? static_cast<std::uint32_t>(group * s.limit + target) : sorted.none(s);
    sources[w] = static_cast<std::uint32_t>(i);
  }
}

/// A sum of up to this many sources is computed by one thread; longer sums are divided into pieces.
constexpr std::int64_t kPieceSources = 1024;

/// The partial results of long sums, [pieces, columns].  Piece k begins at pair k * kPieceSources.  carried: the sum up
/// to there; own: the sum of the piece.
template <class T> struct Pieces {
  T* carried;
  T* own;
};

/// Adds x[line, source] to `sum`, for the pairs from `at` to `stop` with the same key.
template <class T, class S>
__device__ __forceinline__ T sum_of(const IndexSum& s, const Sorted& sorted, const char* x, std::int64_t at,
                                    std::int64_t stop, T sum) {
  constexpr int kAhead = 4;
  const std::uint32_t key = sorted.keys[at];
  for (;; at += kAhead) {
    T few[kAhead];
    bool mine[kAhead];
#pragma unroll
    for (int u = 0; u < kAhead; ++u) {
      mine[u] = at + u < stop && sorted.keys[at + u] == key;
      few[u] = mine[u] ? widen<T>(*reinterpret_cast<const S*>(x + sorted.sources[at + u] * s.x_step)) : T(0);
    }
#pragma unroll
    for (int u = 0; u < kAhead; ++u)
      if (mine[u]) sum = combined(s.op, sum, few[u]);
    if (!mine[kAhead - 1]) return sum;
  }
}

/// The line of a key's column.
__device__ __forceinline__ std::uint32_t line_of(const IndexSum& s, const Sorted& sorted, std::uint32_t key,
                                                 std::int64_t column) {
  return static_cast<std::uint32_t>(sorted.first + (s.shared ? column : key / static_cast<std::uint32_t>(s.limit)));
}
__device__ __forceinline__ char* out_at(const IndexSum& s, const kernels::Offsets<3>& line, std::uint32_t key) {
  return s.out + line.at[0] + key % static_cast<std::uint32_t>(s.limit) * s.out_step;
}

/// `width` adjacent threads have adjacent columns of a pair.  The thread of a key's first pair adds all sources up to
/// the second border between pieces after it; each later piece has its own thread.
template <class T> __global__ void sorted_sum_kernel(IndexSum s, Sorted sorted, Pieces<T> pieces, unsigned width) {
  const std::int64_t tiles = (sorted.columns + width - 1) / width, rows = blockDim.x / width;
  const std::int64_t work = (sorted.pairs + rows - 1) / rows * tiles;
  for (std::int64_t w = blockIdx.x; w < work; w += gridDim.x) {
    const std::int64_t at = w / tiles * rows + threadIdx.x / width;
    const std::int64_t column = w % tiles * width + threadIdx.x % width;
    if (at >= sorted.pairs || column >= sorted.columns) continue;
    const std::uint32_t key = sorted.keys[at];
    if (key == sorted.none(s)) continue;
    const bool begins = at == 0 || sorted.keys[at - 1] != key;
    const bool goes_on = !begins && at % kPieceSources == 0 && sorted.keys[at - kPieceSources] == key;
    if (!begins && !goes_on) continue;
    const std::int64_t border = ((at + kPieceSources - 1) / kPieceSources + 1) * kPieceSources;
    const std::int64_t stop = border < sorted.pairs ? border : sorted.pairs;
    const kernels::Offsets<3> line = s.lines.offsets(line_of(s, sorted, key, column));
    char* const out = out_at(s, line, key);
    visit_stored<T>(s.dtype, [&]<class S>(S) {
      const T before = begins ? widen<T>(*reinterpret_cast<const S*>(out)) : neutral<T>(s.op);
      const T sum = sum_of<T, S>(s, sorted, s.x + line.at[1], at, stop, before);
      if (goes_on) pieces.own[at / kPieceSources * sorted.columns + column] = sum;
      else if (stop < sorted.pairs && sorted.keys[stop] == key)
        pieces.carried[stop / kPieceSources * sorted.columns + column] = sum;
      else *reinterpret_cast<S*>(out) = narrow<S>(sum);
    });
  }
}

/// Adds the pieces of long sums, in order.
template <class T> __global__ void join_kernel(IndexSum s, Sorted sorted, Pieces<T> pieces) {
  const std::int64_t count = (sorted.pairs + kPieceSources - 1) / kPieceSources;
  const std::int64_t step = static_cast<std::int64_t>(gridDim.x) * blockDim.x;
  for (std::int64_t w = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; w < count * sorted.columns;
       w += step) {
    std::int64_t piece = w / sorted.columns;
    const std::int64_t column = w % sorted.columns;
    const std::uint32_t key = sorted.keys[piece * kPieceSources];
    const auto has_key = [&](std::int64_t other) { return sorted.keys[other * kPieceSources] == key; };
    if (piece == 0 || key == sorted.none(s) || !has_key(piece - 1)) continue;
    if (piece > 1 && has_key(piece - 2)) continue;  // not the first piece that continues
    T sum = pieces.carried[w];
    for (; piece < count && has_key(piece); ++piece)
      sum = combined(s.op, sum, pieces.own[piece * sorted.columns + column]);
    char* const out = out_at(s, s.lines.offsets(line_of(s, sorted, key, column)), key);
    visit_stored<T>(s.dtype, [&]<class S>(S) { *reinterpret_cast<S*>(out) = narrow<S>(sum); });
  }
}

template <class T> void run_sorted(const Call& call, const IndexSum& sum, Sorted sorted) {
  const auto pairs = static_cast<std::size_t>(sorted.pairs);
  const Scratch memory(call, 4 * pairs * sizeof(std::uint32_t));
  std::uint32_t* const first = memory.as<std::uint32_t>();
  const Pairs unsorted{first, first + pairs}, room{first + 2 * pairs, first + 3 * pairs};
  launch(call, key_kernel, blocks_for(sorted.pairs), kThreads, sum, sorted, unsorted.keys, unsorted.values);
  const int bits = std::max(1, static_cast<int>(std::bit_width(sorted.none(sum))));
  const Pairs result = sort_pairs(call, unsorted, room, sorted.pairs, bits);
  sorted.keys = result.keys;
  sorted.sources = result.values;
  const std::int64_t count = (sorted.pairs + kPieceSources - 1) / kPieceSources,
                     left = count > 1 ? count * sorted.columns : 0;
  const Scratch parts(call, 2 * static_cast<std::size_t>(left) * sizeof(T));
  const Pieces<T> pieces{parts.as<T>(), parts.as<T>() + left};
  unsigned width = 1;
  while (width < kThreads && width < sorted.columns) width *= 2;
  const std::int64_t rows = kThreads / width, tiles = (sorted.columns + width - 1) / width;
  launch(call, sorted_sum_kernel<T>, blocks_for((sorted.pairs + rows - 1) / rows * tiles, 1), kThreads, sum, sorted,
         pieces, width);
  if (left > 0) launch(call, join_kernel<T>, blocks_for(left), kThreads, sum, sorted, pieces);
}

template <class T> void run(const Call& call, const IndexSum& sum) {
  // Up to here, reading the index by each thread is faster than sorting.
  constexpr std::int64_t kMaxUnsorted = 128;
  // The limit for keys and the number of pairs.
  constexpr std::int64_t kMaxSorted = (std::int64_t{1} << 31) - 1;
  if (sum.n <= kMaxUnsorted || sum.n > kMaxSorted || sum.limit > kMaxSorted)
    return launch(call, short_sum_kernel<T>, blocks_for(sum.n * sum.lines.numel), kThreads, sum);
  if (sum.shared) return run_sorted<T>(call, sum, {nullptr, nullptr, sum.n, 0, 1, sum.lines.numel});
  const std::int64_t most = kMaxSorted / std::max(sum.n, sum.limit);
  for (std::int64_t first = 0; first < sum.lines.numel; first += most) {
    const std::int64_t groups = std::min<std::int64_t>(most, sum.lines.numel - first);
    run_sorted<T>(call, sum, {nullptr, nullptr, groups * sum.n, first, groups, 1});
  }
}

/// Whether all lines have the same index (operand 2).
bool shares_index(const kernels::Layout<3>& lines) {
  for (int d = 0; d < lines.rank; ++d)
    if (lines.sizes[d] > 1 && lines.strides[2][d] != 0) return false;
  return true;
}

Shape without(const Shape& sizes, int dim) {
  Shape rest = sizes;
  if (rest.rank() > 0) rest.erase(dim);
  return rest;
}
std::int64_t step_of(const View& t, int dim) {
  return t.dim() == 0 ? 0 : t.strides()[dim] * static_cast<std::int64_t>(t.itemsize());
}

/// `along` are the index's strides over x's dimensions.
void add(const Call& call, const View& x, int dim, const View& index, const Strides& along, const View& out,
         ScatterOp op) {
  const std::int64_t size = static_cast<std::int64_t>(out.itemsize()), index_size = sizeof(std::int64_t);
  const Strides out_rest = without(out.strides(), dim), x_rest = without(x.strides(), dim);
  const Strides index_rest = without(along, dim);
  IndexSum sum{};
  sum.n = x.dim() == 0 ? 1 : x.shape()[dim];
  sum.limit = out.dim() == 0 ? 1 : out.shape()[dim];
  sum.out_step = step_of(out, dim), sum.x_step = step_of(x, dim);
  sum.index_step = x.dim() == 0 ? 0 : along[dim] * index_size;
  sum.dtype = out.dtype();
  sum.op = op;
  sum.fault = call.fault_flag(Fault::index_out_of_range);
  const auto layout =
      kernels::collapse<3>(without(x.shape(), dim), {{out_rest, size}, {x_rest, size}, {index_rest, index_size}});
  sum.shared = shares_index(layout);
  kernels::for_narrow_parts(layout, [&](const kernels::Narrow<3>& part, const kernels::Base<3>& base) {
    IndexSum piece = sum;
    piece.lines = part;
    piece.out = static_cast<char*>(out.raw_data()) + base.at[0];
    piece.x = static_cast<const char*>(x.raw_data()) + base.at[1];
    piece.index = static_cast<const char*>(index.raw_data()) + base.at[2];
    switch (compute_of(out.dtype())) {
      case Compute::kFloat: return run<float>(call, piece);
      case Compute::kDouble: return run<double>(call, piece);
      case Compute::kInt64: return run<std::int64_t>(call, piece);
    }
  });
}

}  // namespace

template <> Outcome execute(const calls::ScatterAdd& args) {
  const View &x = args.x, &index = args.index, &out = args.out;
  const int dim = args.dim;
  if (index.numel() == 0) return Outcome::ok;
  const Call call(args);
  add(call, x, dim, index, index.strides(), out, args.op);
  return Outcome::ok;
}

template <> Outcome execute(const calls::IndexAdd& args) {
  const View &x = args.x, &index = args.index, &out = args.out;
  const int dim = args.dim;
  if (x.numel() == 0) return Outcome::ok;
  const Call call(args);
  Strides along = Shape::filled(x.dim(), 0);
  if (x.dim() > 0) along[dim] = index.dim() == 0 ? 0 : index.strides()[0];
  add(call, x, dim, index, along, out, args.op);
  return Outcome::ok;
}

}  // namespace minnow::cuda
