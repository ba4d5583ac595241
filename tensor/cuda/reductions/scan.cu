#include <algorithm>
#include <cub/block/block_scan.cuh>
#include <limits>
#include <type_traits>
#include <minnow/tensor/cuda/cuda_backend.h>
#include <minnow/tensor/cuda/elementwise/convert.h>
#include <minnow/tensor/cuda/runtime/launch.h>
#include <minnow/tensor/kernels/math.h>

namespace minnow::cuda {
namespace {

/// [outer, n, inner]: each line has n elements, `inner` apart.
struct Lines {
  std::int64_t count, n, inner;
  bool reverse;

  __device__ __forceinline__ std::int64_t at(std::int64_t line, std::int64_t k) const {
    return line / inner * n * inner + line % inner + (reverse ? n - 1 - k : k) * inner;
  }
};

// Operations: item() is made from element k of a line, none() stands for no elements, and combining is associative.

template <class U> struct Sum {
  using T = U;
  using Item = U;
  static __device__ __forceinline__ Item none() { return T(0); }
  static __device__ __forceinline__ Item item(T x, T, std::int64_t) { return x; }
  static __device__ __forceinline__ T value(Item i) { return i; }
  __device__ __forceinline__ Item operator()(Item a, Item b) const { return static_cast<T>(a + b); }
};
template <class U> struct Product {
  using T = U;
  using Item = U;
  static __device__ __forceinline__ Item none() { return T(1); }
  static __device__ __forceinline__ Item item(T x, T, std::int64_t) { return x; }
  static __device__ __forceinline__ T value(Item i) { return i; }
  __device__ __forceinline__ Item operator()(Item a, Item b) const { return static_cast<T>(a * b); }
};
template <class U> struct LogSumExp {
  using T = U;
  using Item = U;
  static __device__ __forceinline__ Item none() { return -std::numeric_limits<T>::infinity(); }
  static __device__ __forceinline__ Item item(T x, T, std::int64_t) { return x; }
  static __device__ __forceinline__ T value(Item i) { return i; }
  __device__ __forceinline__ Item operator()(Item a, Item b) const {
    constexpr T kInfinity = std::numeric_limits<T>::infinity();
    const T larger = a != a || a > b ? a : b, smaller = a != a || a > b ? b : a;
    if (larger == kInfinity || larger == -kInfinity) return larger + (smaller != smaller ? smaller : T(0));
    return larger + kernels::math::log1p(kernels::math::exp(smaller - larger));
  }
};
/// y -> x + factor y, combined: the second after the first.
template <class U> struct Affine { U x, factor; };
template <class U> struct Recurrence {
  using T = U;
  using Item = Affine<U>;
  static __device__ __forceinline__ Item none() { return {T(0), T(1)}; }
  static __device__ __forceinline__ Item item(T x, T factor, std::int64_t k) { return {x, k == 0 ? T(0) : factor}; }
  static __device__ __forceinline__ T value(Item i) { return i.x; }
  __device__ __forceinline__ Item operator()(Item a, Item b) const {
    return {b.x + b.factor * a.x, a.factor * b.factor};
  }
};
template <class U> struct Place {
  U value;
  std::int64_t at;  ///< -1: of no element
};
template <class U, bool largest> struct Extreme {
  using T = U;
  using Item = Place<U>;
  static __device__ __forceinline__ Item none() { return {T(0), -1}; }
  static __device__ __forceinline__ Item item(T x, T, std::int64_t k) { return {x, k}; }
  static __device__ __forceinline__ T value(Item i) { return i.value; }
  __device__ __forceinline__ Item operator()(Item a, Item b) const {
    if (a.at < 0 || b.at < 0) return a.at < 0 ? b : a;
    const bool later =
        b.value != b.value || (a.value == a.value && (largest ? b.value >= a.value : b.value <= a.value));
    return later ? b : a;
  }
};

template <class S> struct Data {
  const S* x;
  const S* factor;
  S* y;
  std::int64_t* indices;

  template <class Op>
  __device__ __forceinline__ typename Op::Item load(const Lines& lines, std::int64_t line, std::int64_t k) const {
    using T = typename Op::T;
    const std::int64_t at = lines.at(line, k);
    return Op::item(widen<T>(x[at]), factor != nullptr ? widen<T>(factor[at]) : T(1), k);
  }
  template <class Op>
  __device__ __forceinline__ void store(const Lines& lines, std::int64_t line, std::int64_t k,
                                        const typename Op::Item& item) const {
    const std::int64_t at = lines.at(line, k);
    y[at] = narrow<S>(Op::value(item));
    if constexpr (requires { item.at; }) indices[at] = lines.reverse ? lines.n - 1 - item.at : item.at;
  }
};

/// The pieces of lines, each scanned by one block, which takes as many elements at a time as it has threads.
struct Pieces {
  std::int64_t count;   ///< of a line
  std::int64_t length;  ///< elements
};

/// Scans a piece of a line after `before`; returns both.  The block's threads call it together.
template <class Op, bool stores, class S>
__device__ typename Op::Item scan_piece(const Data<S>& data, const Lines& lines, const Pieces& pieces,
                                        std::int64_t index, typename Op::Item before) {
  using Item = typename Op::Item;
  using Scan = cub::BlockScan<Item, static_cast<int>(kThreads)>;
  __shared__ typename Scan::TempStorage storage;
  const std::int64_t line = index / pieces.count, begin = index % pieces.count * pieces.length,
                     end = begin + pieces.length < lines.n ? begin + pieces.length : lines.n;
  for (std::int64_t first = begin; first < end; first += kThreads) {
    const std::int64_t k = first + threadIdx.x;
    Item result = Op::none(), total = Op::none();
    Scan(storage).InclusiveScan(k < end ? data.template load<Op>(lines, line, k) : Op::none(), result, Op(), total);
    if (stores && k < end) data.template store<Op>(lines, line, k, Op()(before, result));
    before = Op()(before, total);
    __syncthreads();  // the shared memory is reused
  }
  return before;
}

/// `totals`: of the pieces before, each of which contains those before it in the line; nullptr: a line is one piece.
template <class Op, class S>
__global__ void scan_by_blocks(Data<S> data, Lines lines, Pieces pieces, const typename Op::Item* totals) {
  for (std::int64_t i = blockIdx.x; i < lines.count * pieces.count; i += gridDim.x)
    scan_piece<Op, true>(data, lines, pieces, i, i % pieces.count != 0 ? totals[i - 1] : Op::none());
}

template <class Op, class S>
__global__ void total_kernel(Data<S> data, Lines lines, Pieces pieces, typename Op::Item* totals) {
  for (std::int64_t i = blockIdx.x; i < lines.count * pieces.count; i += gridDim.x) {
    const typename Op::Item total = scan_piece<Op, false>(data, lines, pieces, i, Op::none());
    if (threadIdx.x == 0) totals[i] = total;
  }
}

/// Adds to each total those of the pieces before it: a thread for a line, of which there are few.
template <class Op> __global__ void join_totals(std::int64_t lines, std::int64_t pieces, typename Op::Item* totals) {
  const std::int64_t line = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (line >= lines) return;
  typename Op::Item sum = Op::none();
  for (std::int64_t i = line * pieces; i < (line + 1) * pieces; ++i) totals[i] = sum = Op()(sum, totals[i]);
}

/// A thread for each line; adjacent threads have adjacent elements.
template <class Op, class S> __global__ void scan_by_threads(Data<S> data, Lines lines) {
  const std::int64_t step = static_cast<std::int64_t>(gridDim.x) * blockDim.x;
  for (std::int64_t line = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; line < lines.count;
       line += step) {
    typename Op::Item item = Op::none();
    for (std::int64_t k = 0; k < lines.n; ++k) {
      item = Op()(item, data.template load<Op>(lines, line, k));
      data.template store<Op>(lines, line, k, item);
    }
  }
}

template <class Op, class S> void scan(const Call& call, const Data<S>& data, const Lines& lines) {
  // Enough lines give every multiprocessor work.  A recurrence has no pieces: the product of the factors of many
  // elements overflows where the recurrence itself does not.
  constexpr std::int64_t kManyColumns = 32, kMany = 512, kShort = 4096, kBlocks = 1024;
  const bool whole = std::is_same_v<Op, Recurrence<typename Op::T>> || lines.count >= kMany || lines.n < kShort;
  if (whole && lines.inner >= kManyColumns)
    return launch(call, scan_by_threads<Op, S>, blocks_for(lines.count), kThreads, data, lines);
  if (whole)
    return launch(call, scan_by_blocks<Op, S>, blocks_for(lines.count, 1), kThreads, data, lines, Pieces{1, lines.n},
                  nullptr);
  // cub::DeviceScan would read once instead of twice, but its sums depend on which block is first.
  const std::int64_t count = std::min(kBlocks / lines.count, lines.n / (kShort / 4));
  const std::int64_t length = (lines.n + count - 1) / count;
  const Pieces pieces{(lines.n + length - 1) / length, length};
  const Scratch memory(call, static_cast<std::size_t>(lines.count * pieces.count) * sizeof(typename Op::Item));
  auto* const totals = memory.as<typename Op::Item>();
  const unsigned blocks = blocks_for(lines.count * pieces.count, 1);
  launch(call, total_kernel<Op, S>, blocks, kThreads, data, lines, pieces, totals);
  launch(call, join_totals<Op>, blocks_for(lines.count), kThreads, lines.count, pieces.count, totals);
  launch(call, scan_by_blocks<Op, S>, blocks, kThreads, data, lines, pieces, totals);
}

template <class T> T* data_of(const View& t) { return t.defined() ? static_cast<T*>(t.raw_data()) : nullptr; }

/// S: the type in memory; T: the one of the computation; Wrapping: T without overflow.
template <class S, class T, class Wrapping> void run(const calls::Scan& args, const Lines& lines) {
  const Call call(args);
  const Data<S> data{data_of<const S>(args.x), data_of<const S>(args.factor), data_of<S>(args.y),
                     data_of<std::int64_t>(args.indices)};
  switch (args.op) {
    case ScanOp::sum: return scan<Sum<Wrapping>>(call, data, lines);
    case ScanOp::prod: return scan<Product<Wrapping>>(call, data, lines);
    case ScanOp::max: return scan<Extreme<T, true>>(call, data, lines);
    case ScanOp::min: return scan<Extreme<T, false>>(call, data, lines);
    case ScanOp::logsumexp:
      if constexpr (std::is_floating_point_v<T>) scan<LogSumExp<T>>(call, data, lines);
      return;
    case ScanOp::recurrence:
      if constexpr (std::is_floating_point_v<T>) scan<Recurrence<T>>(call, data, lines);
      return;
  }
}

}  // namespace

template <> void execute(const calls::Scan& args) {
  const View& x = args.x;
  Lines lines{1, x.shape()[args.dim], 1, args.reverse};
  for (int d = 0; d < x.dim(); ++d) {
    if (d != args.dim) lines.count *= x.shape()[d];
    if (d > args.dim) lines.inner *= x.shape()[d];
  }
  switch (x.dtype()) {
    case DType::float32: return run<float, double, double>(args, lines);
    case DType::float64: return run<double, double, double>(args, lines);
    case DType::float16: return run<float16_t, float, float>(args, lines);
    case DType::bfloat16: return run<bfloat16_t, float, float>(args, lines);
    default: return run<std::int64_t, std::int64_t, std::uint64_t>(args, lines);
  }
}

}  // namespace minnow::cuda
