#pragma once

#include <string>
#include <type_traits>
#include <minnow/tensor/cuda/elementwise/convert.h>
#include <minnow/tensor/cuda/reductions/block_counters.h>
#include <minnow/tensor/cuda/reductions/block_reduce.h>
#include <minnow/tensor/cuda/reductions/reduce.h>
#include <minnow/tensor/error.h>
#include <minnow/tensor/internal.h>
#include <minnow/tensor/kernels/reduce.h>

namespace minnow::cuda {

/// The accumulator between threads, blocks and passes.
template <class T> using Acc = std::conditional_t<std::is_integral_v<T>, std::int64_t, double>;
/// The accumulator of a thread: T if the combination does not round.
template <class Op, class T> using Own = std::conditional_t<Op::kAdds || std::is_same_v<Op, kernels::Prod>, Acc<T>, T>;

/// A parameter in the compute type; saturates for integers.
template <class T> __device__ __forceinline__ T parameter(double p) {
  if constexpr (std::is_integral_v<T>) {
    if (!(p > -0x1p63)) return std::numeric_limits<T>::min();
    return p < 0x1p63 ? static_cast<T>(p) : std::numeric_limits<T>::max();
  } else {
    return static_cast<T>(p);
  }
}

/// Combines N elements, an even number.  For float sums, pairs are added as floats, which rounds once, and then as
/// doubles, which are slow on many GPUs.
template <class Op, class T, class S, int N>
__device__ __forceinline__ void join_few(const S (&x)[N], T q, Own<Op, T>& acc) {
#pragma unroll
  for (int i = 0; i < N; i += 2) {
    const T a = Op::map(widen<T>(x[i]), q), b = Op::map(widen<T>(x[i + 1]), q);
    if constexpr (Op::kAdds && std::is_same_v<T, float>) acc += static_cast<double>(a + b);
    else acc = Op::combine(acc, Op::combine(static_cast<Own<Op, T>>(a), static_cast<Own<Op, T>>(b)));
  }
}

/// Combines elements k = first, first + step, ... below end, which are sn apart.
template <class Op, class T, class S>
__device__ __forceinline__ void join_strided(const S* __restrict__ x, std::int64_t sn, std::int64_t first,
                                             std::int64_t end, std::int64_t step, T q, Own<Op, T>& acc) {
  constexpr int kUnroll = 4;
  std::int64_t k = first;
  for (; k + (kUnroll - 1) * step < end; k += kUnroll * step) {
    S few[kUnroll];
#pragma unroll
    for (int u = 0; u < kUnroll; ++u) few[u] = x[(k + u * step) * sn];
    join_few<Op, T>(few, q, acc);
  }
  for (; k < end; k += step) {
    const T value = Op::map(widen<T>(x[k * sn]), q);
    acc = Op::combine(acc, static_cast<Own<Op, T>>(value));
  }
}

/// Elements that are loaded at once.
template <class S> struct alignas(sizeof(S) == 1 ? 8 : 16) Vector {
  static constexpr int kSize = sizeof(S) <= 2 ? 8 : 4;
  S at[kSize];
};

/// Combines this thread's share of the dense elements [begin, end); begin is aligned to 16 bytes.
template <class Op, class T, class S>
__device__ __forceinline__ void join_dense(const S* __restrict__ x, std::int64_t begin, std::int64_t end,
                                           unsigned thread, unsigned width, T q, Own<Op, T>& acc) {
  constexpr int kSize = Vector<S>::kSize;
  const auto* vectors = reinterpret_cast<const Vector<S>*>(x + begin);
  const std::int64_t count = (end - begin) / kSize;
#pragma unroll 4
  for (std::int64_t v = thread; v < count; v += width) {
    const Vector<S> few = vectors[v];
    join_few<Op, T>(few.at, q, acc);
  }
  join_strided<Op, T>(x, 1, begin + count * kSize + thread, end, width, q, acc);
}

template <class Op, class T>
__device__ __forceinline__ void store_result(const ReduceJob& job, std::int64_t output, Acc<T> acc) {
  store_as(job.out, job.out_dtype, output, Op::finish(acc, job.n, parameter<Acc<T>>(job.p)));
}

template <class Op, class T>
__device__ __forceinline__ void deliver(const ReduceJob& job, std::int64_t output, Acc<T> acc) {
  if (job.parts != nullptr) static_cast<Acc<T>*>(job.parts)[blockIdx.y * job.outputs + output] = acc;
  else store_result<Op, T>(job, output, acc);
}

/// The share of a thread, one of `width`, of the parts of an output, combined.
template <class Op, class T>
__device__ __forceinline__ Acc<T> join_parts(const ReduceJob& job, std::int64_t output, unsigned thread,
                                             unsigned width) {
  const volatile Acc<T>* parts = static_cast<const Acc<T>*>(job.parts) + output;
  Acc<T> acc = Op::template init<Acc<T>>();
#pragma unroll 4
  for (unsigned k = thread; k < gridDim.y; k += width)
    acc = Op::combine(acc, static_cast<Acc<T>>(parts[k * job.outputs]));
  return acc;
}

template <class Op, class T> struct Combine {
  __device__ __forceinline__ T operator()(T a, T b) const { return Op::combine(a, b); }
};

/// `width` threads (a warp or the block) reduce a row.
template <class Op, class T> __global__ void reduce_rows(ReduceJob job, unsigned width, bool vectors) {
  const T q = parameter<T>(job.p);
  const unsigned thread = threadIdx.x % width;
  const std::int64_t row = threadIdx.x / width, rows = blockDim.x / width;
  const std::int64_t begin = blockIdx.y * job.chunk;
  const std::int64_t end = begin + job.chunk < job.n ? begin + job.chunk : job.n;
  for (std::int64_t output = blockIdx.x * rows + row; output < job.outputs; output += gridDim.x * rows) {
    Own<Op, T> own = Op::template init<Own<Op, T>>();
    const std::int64_t at = output / job.inner * job.so + output % job.inner * job.si;
    visit_stored<T>(job.dtype, [&](auto stored) {
      using S = decltype(stored);
      const S* x = static_cast<const S*>(job.x) + at;
      if (vectors) join_dense<Op, T>(x, begin, end, thread, width, q, own);
      else join_strided<Op, T>(x, job.sn, begin + thread, end, width, q, own);
    });
    const Acc<T> acc = group_join(width, static_cast<Acc<T>>(own), Op::template init<Acc<T>>(), Combine<Op, Acc<T>>());
    if (thread == 0) deliver<Op, T>(job, output, acc);
  }
  if (job.parts == nullptr || !is_last_block(job.counters + blockIdx.x, gridDim.y)) return;
  // Only long rows have several chunks: a block has one.
  const Acc<T> own = join_parts<Op, T>(job, blockIdx.x, threadIdx.x, blockDim.x);
  const Acc<T> acc = block_join(own, Op::template init<Acc<T>>(), Combine<Op, Acc<T>>());
  if (threadIdx.x == 0) store_result<Op, T>(job, blockIdx.x, acc);
}

/// Adjacent threads have adjacent outputs; `width` threads (a power of two) of different rows of threads share an
/// output.  If there are several chunks, each thread has one output.
template <class Op, class T> __global__ void reduce_columns(ReduceJob job, unsigned width) {
  const T q = parameter<T>(job.p);
  const unsigned columns = blockDim.x / width, column = threadIdx.x % columns, row = threadIdx.x / columns;
  const std::int64_t begin = blockIdx.y * job.chunk;
  const std::int64_t end = begin + job.chunk < job.n ? begin + job.chunk : job.n;
  const std::int64_t step = static_cast<std::int64_t>(gridDim.x) * columns;
  for (std::int64_t first = static_cast<std::int64_t>(blockIdx.x) * columns; first < job.outputs; first += step) {
    const std::int64_t output = first + column;
    Own<Op, T> own = Op::template init<Own<Op, T>>();
    if (output < job.outputs) {
      const std::int64_t at = output / job.inner * job.so + output % job.inner * job.si;
      visit_stored<T>(job.dtype, [&](auto stored) {
        using S = decltype(stored);
        join_strided<Op, T>(static_cast<const S*>(job.x) + at, job.sn, begin + row, end, width, q, own);
      });
    }
    const Acc<T> acc = columns_join(width, static_cast<Acc<T>>(own), Combine<Op, Acc<T>>());
    if (row == 0 && output < job.outputs) deliver<Op, T>(job, output, acc);
  }
  if (job.parts == nullptr || !is_last_block(job.counters + blockIdx.x, gridDim.y)) return;
  const std::int64_t output = static_cast<std::int64_t>(blockIdx.x) * columns + column;
  const bool mine = output < job.outputs;
  const Acc<T> own = mine ? join_parts<Op, T>(job, output, row, width) : Op::template init<Acc<T>>();
  const Acc<T> acc = columns_join(width, own, Combine<Op, Acc<T>>());
  if (row == 0 && mine) store_result<Op, T>(job, output, acc);
}

template <class Op, class T> void run_reduce(const Call& call, ReduceJob job, const ReduceLayout& layout) {
  const Scratch parts(call,
                      layout.chunks > 1 ? static_cast<std::size_t>(job.outputs * layout.chunks) * sizeof(Acc<T>) : 0);
  job.parts = parts.as<void>();
  job.counters = layout.chunks > 1 ? block_counters(call) : nullptr;
  const dim3 blocks(blocks_for(job.outputs, static_cast<unsigned>(layout.per_block)),
                    static_cast<unsigned>(layout.chunks));
  if (layout.by_rows) launch(call, reduce_rows<Op, T>, blocks, layout.threads, job, layout.width, layout.vectors);
  else launch(call, reduce_columns<Op, T>, blocks, layout.threads, job, layout.width);
}

template <class T> void reduce_as(const Call& call, int op, ReduceJob job, const ReduceLayout& layout) {
  kernels::visit(kernels::ReduceOps{}, op, [&]<class Op>() {
    if constexpr (std::is_integral_v<T> && Op::kKind == kernels::ReduceKind::kFloating)
      throw BackendError(
          "reduce: " + std::string(Op::kName) +
          " has no form for integers\nthis is an error in minnow: the dtype should have been refused before");
    else run_reduce<Op, T>(call, job, layout);
  });
}

}  // namespace minnow::cuda
