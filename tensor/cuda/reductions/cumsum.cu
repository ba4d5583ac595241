#include <cub/block/block_scan.cuh>
#include <minnow/tensor/cuda/cuda_backend.h>
#include <minnow/tensor/cuda/elementwise/convert.h>
#include <minnow/tensor/cuda/runtime/launch.h>

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

/// A block for each line, which scans as many elements at a time as it has threads.
template <class S, class T> __global__ void sum_by_blocks(const S* __restrict__ x, S* __restrict__ y, Lines lines) {
  using Scan = cub::BlockScan<T, static_cast<int>(kThreads)>;
  __shared__ typename Scan::TempStorage storage;
  for (std::int64_t line = blockIdx.x; line < lines.count; line += gridDim.x) {
    T before = T(0);
    for (std::int64_t first = 0; first < lines.n; first += kThreads) {
      const std::int64_t k = first + threadIdx.x;
      T sum = T(0), total = T(0);
      Scan(storage).InclusiveSum(k < lines.n ? widen<T>(x[lines.at(line, k)]) : T(0), sum, total);
      if (k < lines.n) y[lines.at(line, k)] = narrow<S>(static_cast<T>(before + sum));
      before = static_cast<T>(before + total);
      __syncthreads();  // the shared memory is reused
    }
  }
}

/// A thread for each line; adjacent threads have adjacent elements.
template <class S, class T> __global__ void sum_by_threads(const S* __restrict__ x, S* __restrict__ y, Lines lines) {
  const std::int64_t step = static_cast<std::int64_t>(gridDim.x) * blockDim.x;
  for (std::int64_t line = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; line < lines.count;
       line += step) {
    T sum = T(0);
    for (std::int64_t k = 0; k < lines.n; ++k) {
      sum = static_cast<T>(sum + widen<T>(x[lines.at(line, k)]));
      y[lines.at(line, k)] = narrow<S>(sum);
    }
  }
}

template <class S, class T> void run(const Call& call, const View& x, const View& y, const Lines& lines) {
  constexpr std::int64_t kManyColumns = 32;
  const S* from = static_cast<const S*>(x.raw_data());
  S* to = static_cast<S*>(y.raw_data());
  if (lines.inner >= kManyColumns)
    launch(call, sum_by_threads<S, T>, blocks_for(lines.count), kThreads, from, to, lines);
  else launch(call, sum_by_blocks<S, T>, blocks_for(lines.count, 1), kThreads, from, to, lines);
}

}  // namespace

template <> void execute(const calls::Cumsum& args) {
  const View &x = args.x, &y = args.y;
  Lines lines{1, x.shape()[args.dim], 1, args.reverse};
  for (int d = 0; d < x.dim(); ++d) {
    if (d != args.dim) lines.count *= x.shape()[d];
    if (d > args.dim) lines.inner *= x.shape()[d];
  }
  const Call call(args);
  switch (x.dtype()) {
    case DType::float32: return run<float, double>(call, x, y, lines);
    case DType::float64: return run<double, double>(call, x, y, lines);
    case DType::float16: return run<float16_t, float>(call, x, y, lines);
    case DType::bfloat16: return run<bfloat16_t, float>(call, x, y, lines);
    default: return run<std::int64_t, std::uint64_t>(call, x, y, lines);  // wraps around
  }
}

}  // namespace minnow::cuda
