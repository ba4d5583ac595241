#pragma once

#include <minnow/tensor/cuda/block.h>
#include <minnow/tensor/cuda/convert.h>
#include <minnow/tensor/kernels/math.h>

namespace minnow::cuda {

/// The largest of some elements, and the sum of e^(x - largest): of all of a row after one reading.
template <class T> struct ExpSum {
  T most;
  double sum;

  static __device__ __forceinline__ ExpSum nothing() { return {-kernels::math::kInfinity<T>, 0.0}; }
  /// What is taken off before the exponential.  All -inf: the sum is 0.  An infinity or NaN comes through.
  static __device__ __forceinline__ T shift_of(T largest) { return kernels::math::isfinite(largest) ? largest : T(0); }

  __device__ __forceinline__ double sum_at(T largest) const {
    const bool scales = kernels::math::isfinite(most) && kernels::math::isfinite(largest) && most != largest;
    return scales ? sum * static_cast<double>(kernels::math::exp(most - largest)) : sum;
  }

  /// Joins elements k = first, first + step, ... below n, which are `stride` apart; eight at a time, so that the sum is
  /// seldom scaled.
  template <class S>
  __device__ __forceinline__ void add(const S* __restrict__ x, std::int64_t stride, std::int64_t first, std::int64_t n,
                                      std::int64_t step) {
    constexpr int kFew = 8;
    for (std::int64_t k = first; k < n; k += kFew * step) {
      T few[kFew];
      T largest = most;
#pragma unroll
      for (int u = 0; u < kFew; ++u) {
        const std::int64_t i = k + u * step;
        few[u] = i < n ? widen<T>(x[i * stride]) : -kernels::math::kInfinity<T>;
        largest = Larger()(largest, few[u]);
      }
      sum = sum_at(largest);
      most = largest;
      const T shift = shift_of(most);
      T total = 0;
#pragma unroll
      for (int u = 0; u < kFew; ++u) total += kernels::math::exp(few[u] - shift);
      sum += static_cast<double>(total);
    }
  }

  /// The sum of e^(x - most) as softmax wants it: NaN where that is not finite.
  __device__ __forceinline__ double over_most() const {
    return kernels::math::isfinite(most) ? sum : kernels::math::kNan<double>;
  }
  __device__ __forceinline__ double log_sum_exp() const {
    return static_cast<double>(shift_of(most)) + kernels::math::log(sum);
  }
};

struct JoinExpSums {
  template <class T> __device__ __forceinline__ ExpSum<T> operator()(const ExpSum<T>& a, const ExpSum<T>& b) const {
    const T most = Larger()(a.most, b.most);
    return {most, a.sum_at(most) + b.sum_at(most)};
  }
};

template <class T> __device__ __forceinline__ ExpSum<T> shuffle_xor(ExpSum<T> e, int mask) {
  return {__shfl_xor_sync(kAllLanes, e.most, mask), __shfl_xor_sync(kAllLanes, e.sum, mask)};
}

/// Rows up to this length are kept in registers.
inline constexpr std::int64_t kKeptRow = 8192;
/// Threads of the block that a longer one gets.
inline constexpr unsigned kLongRowThreads = 512;

/// Calls f.template operator()<kItems>(width) for a row that is kept: `width` threads hold kItems elements each.
template <class F> void visit_kept(std::int64_t n, const F& f) {
  if (n <= 32) f.template operator()<1>(kWarp);
  else if (n <= 256) f.template operator()<8>(kWarp);
  else if (n <= 1024) f.template operator()<32>(kWarp);
  else if (n <= 2048) f.template operator()<8>(kThreads);
  else f.template operator()<32>(kThreads);
}

/// [outer, n, inner] around a dimension of a contiguous tensor.
struct Extents {
  std::int64_t outer = 1, n = 1, inner = 1;
};
inline Extents extents(const Tensor& x, int dim) {
  Extents e;
  for (int d = 0; d < x.dim(); ++d) (d < dim ? e.outer : d == dim ? e.n : e.inner) *= x.shape()[d];
  return e;
}

/// Calls f(offset of the column's first element or -1 where there is none, the thread's first row in it)
/// for each column of [outer, n, inner] that a thread takes part in: as often for all threads
/// of a block.
template <class F> __device__ __forceinline__ void for_columns(const Extents& e, unsigned width, const F& f) {
  const unsigned columns = blockDim.x / width;
  const std::int64_t outputs = e.outer * e.inner, step = static_cast<std::int64_t>(gridDim.x) * columns;
  for (std::int64_t left = static_cast<std::int64_t>(blockIdx.x) * columns; left < outputs; left += step) {
    const std::int64_t output = left + threadIdx.x % columns;
    f(output < outputs ? output / e.inner * e.n * e.inner + output % e.inner : -1, threadIdx.x / columns);
  }
}

}  // namespace minnow::cuda
