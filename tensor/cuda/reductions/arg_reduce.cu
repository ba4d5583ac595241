#include <minnow/tensor/cuda/cuda_backend.h>
#include <minnow/tensor/cuda/elementwise/convert.h>
#include <minnow/tensor/cuda/reductions/block_reduce.h>
#include <minnow/tensor/cuda/reductions/reduce.h>
#include <minnow/tensor/cuda/runtime/launch.h>

namespace minnow::cuda {
namespace {

/// An element and its index in the row; index -1 means none.
template <class T> struct Best {
  T value;
  std::int64_t index;
};

/// Selects the better of two: the larger (or smaller) one, NaN before all others, the first of equal ones.
template <class T> struct Better {
  bool largest;

  __device__ __forceinline__ bool beats(const Best<T>& a, const Best<T>& b) const {
    const bool a_is_nan = a.value != a.value, b_is_nan = b.value != b.value;
    if (a_is_nan || b_is_nan) return a_is_nan && (!b_is_nan || a.index < b.index);
    if (a.value == b.value) return a.index < b.index;
    return largest ? a.value > b.value : a.value < b.value;
  }
  __device__ __forceinline__ Best<T> operator()(const Best<T>& a, const Best<T>& b) const {
    if (a.index < 0 || b.index < 0) return a.index < 0 ? b : a;
    return beats(b, a) ? b : a;
  }
};

template <class T> __device__ __forceinline__ Best<T> shuffle_xor(Best<T> best, int mask) {
  return {__shfl_xor_sync(kAllLanes, best.value, mask), __shfl_xor_sync(kAllLanes, best.index, mask)};
}

struct ArgJob {
  ReduceJob reduce;  ///< out and parts are unused
  std::int64_t* indices;
  void* values;  ///< nullptr if they are not needed
  void* parts;   ///< [outputs, chunks] of Best<T>, or nullptr
  bool largest;
};

template <class T> __device__ __forceinline__ void deliver(const ArgJob& job, std::int64_t output, Best<T> best) {
  job.indices[output] = best.index;
  if (job.values != nullptr) store_as(job.values, job.reduce.dtype, output, best.value);
}

/// The best one of elements k = first, first + step, ... below end.
template <class T>
__device__ __forceinline__ Best<T> best_of(const ArgJob& job, std::int64_t output, std::int64_t first, std::int64_t end,
                                           std::int64_t step) {
  const ReduceJob& r = job.reduce;
  const std::int64_t at = output / r.inner * r.so + output % r.inner * r.si;
  const Better<T> better{job.largest};
  Best<T> best{T(0), -1};
  visit_stored<T>(r.dtype, [&](auto stored) {
    using S = decltype(stored);
    const S* x = static_cast<const S*>(r.x) + at;
#pragma unroll 4
    for (std::int64_t k = first; k < end; k += step) best = better(best, Best<T>{widen<T>(x[k * r.sn]), k});
  });
  return best;
}

template <class T> __global__ void arg_rows(ArgJob job, unsigned width) {
  const ReduceJob& r = job.reduce;
  const unsigned thread = threadIdx.x % width;
  const std::int64_t row = threadIdx.x / width, rows = blockDim.x / width;
  const std::int64_t begin = blockIdx.y * r.chunk;
  const std::int64_t end = begin + r.chunk < r.n ? begin + r.chunk : r.n;
  for (std::int64_t output = blockIdx.x * rows + row; output < r.outputs; output += gridDim.x * rows) {
    Best<T> best = best_of<T>(job, output, begin + thread, end, width);
    best = group_join(width, best, Best<T>{T(0), -1}, Better<T>{job.largest});
    if (thread != 0) continue;
    if (job.parts != nullptr) static_cast<Best<T>*>(job.parts)[output * gridDim.y + blockIdx.y] = best;
    else deliver(job, output, best);
  }
}

/// A thread for each output and chunk.
template <class T> __global__ void arg_columns(ArgJob job) {
  const ReduceJob& r = job.reduce;
  const std::int64_t begin = blockIdx.y * r.chunk;
  const std::int64_t end = begin + r.chunk < r.n ? begin + r.chunk : r.n;
  const std::int64_t step = static_cast<std::int64_t>(gridDim.x) * blockDim.x;
  const std::int64_t first = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  for (std::int64_t output = first; output < r.outputs; output += step) {
    const Best<T> best = best_of<T>(job, output, begin, end, 1);
    if (job.parts != nullptr) static_cast<Best<T>*>(job.parts)[output * gridDim.y + blockIdx.y] = best;
    else deliver(job, output, best);
  }
}

/// The second pass: `width` threads (a warp or the block) for each output.
template <class T> __global__ void arg_parts(ArgJob job, std::int64_t chunks, unsigned width) {
  const Best<T>* parts = static_cast<const Best<T>*>(job.parts);
  const Better<T> better{job.largest};
  const unsigned thread = threadIdx.x % width;
  const std::int64_t row = threadIdx.x / width, rows = blockDim.x / width;
  for (std::int64_t output = blockIdx.x * rows + row; output < job.reduce.outputs; output += gridDim.x * rows) {
    Best<T> best{T(0), -1};
    for (std::int64_t k = thread; k < chunks; k += width) best = better(best, parts[output * chunks + k]);
    best = group_join(width, best, Best<T>{T(0), -1}, better);
    if (thread == 0) deliver(job, output, best);
  }
}

template <class T> void run(const Call& call, ArgJob job, const ReduceLayout& layout) {
  const std::int64_t outputs = job.reduce.outputs;
  const Scratch parts(call,
                      layout.chunks > 1 ? static_cast<std::size_t>(outputs * layout.chunks) * sizeof(Best<T>) : 0);
  job.parts = parts.as<void>();
  const dim3 blocks(blocks_for(outputs, static_cast<unsigned>(layout.per_block)), static_cast<unsigned>(layout.chunks));
  if (layout.by_rows) launch(call, arg_rows<T>, blocks, layout.threads, job, layout.width);
  else launch(call, arg_columns<T>, blocks, layout.threads, job);
  if (layout.chunks == 1) return;
  const unsigned width = parts_width(layout.chunks);
  launch(call, arg_parts<T>, blocks_for(outputs, kThreads / width), kThreads, job, layout.chunks, width);
}

}  // namespace

template <> void execute(const calls::ArgReduce& args) {
  const View &x = args.x, &values = args.values, &indices = args.indices;
  const bool largest = args.largest;
  if (indices.numel() == 0) return;
  const Call call(args);
  const ReduceLayout layout = reduce_layout(x, false);
  const ArgJob job{reduce_job(x, 0, indices, layout), static_cast<std::int64_t*>(indices.raw_data()),
                   values.defined() ? values.raw_data() : nullptr, nullptr, largest};
  if (x.dtype() == DType::float64) run<double>(call, job, layout);
  else if (is_floating_point(x.dtype())) run<float>(call, job, layout);
  else run<std::int64_t>(call, job, layout);
}

}  // namespace minnow::cuda
