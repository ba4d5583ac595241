#pragma once

#include <initializer_list>
#include <minnow/tensor/cuda/elementwise/convert.h>
#include <minnow/tensor/cuda/reductions/block_reduce.h>
#include <minnow/tensor/internal.h>
#include <minnow/tensor/kernels/math.h>

namespace minnow::cuda {

/// The elements that a thread loads at once from a row that begins and ends at multiples of 16 bytes.
template <class S> struct alignas(16) RowVector {
  static constexpr int kSize = 16 / sizeof(S);
  S at[kSize];
};

/// Whether rows of n elements can be loaded so, given the addresses of the first ones.
template <class S> bool takes_vectors(std::int64_t n, std::initializer_list<const void*> first) {
  std::uintptr_t bits = static_cast<std::uintptr_t>(n) * sizeof(S);
  for (const void* row : first) bits |= reinterpret_cast<std::uintptr_t>(row);
  return bits % sizeof(RowVector<S>) == 0;
}

/// An element, or a vector of elements.
template <class S, class T, int kCount> __device__ __forceinline__ void load_some(const S* from, T (&to)[kCount]) {
  if constexpr (kCount == 1) {
    to[0] = widen<T>(*from);
  } else {
    static_assert(kCount == RowVector<S>::kSize);
    const RowVector<S> vector = *reinterpret_cast<const RowVector<S>*>(from);
#pragma unroll
    for (int u = 0; u < kCount; ++u) to[u] = widen<T>(vector.at[u]);
  }
}
template <class S, class T, int kCount> __device__ __forceinline__ void store_some(S* to, const T (&from)[kCount]) {
  if constexpr (kCount == 1) {
    *to = narrow<S>(from[0]);
  } else {
    static_assert(kCount == RowVector<S>::kSize);
    RowVector<S> vector;
#pragma unroll
    for (int u = 0; u < kCount; ++u) vector.at[u] = narrow<S>(from[u]);
    *reinterpret_cast<RowVector<S>*>(to) = vector;
  }
}

/// Calls f.template operator()<kCount>(i) for kCount elements from i on, 1 or a vector: the share of this thread, one
/// of `step` threads, of [begin, end).
template <class S, class F>
__device__ __forceinline__ void for_some(std::int64_t begin, std::int64_t end, unsigned thread, unsigned step,
                                         bool vectors, const F& f) {
  constexpr int kSize = RowVector<S>::kSize;
  if (vectors) {
#pragma unroll 2
    for (std::int64_t i = begin + std::int64_t{thread} * kSize; i < end; i += std::int64_t{step} * kSize)
      f.template operator()<kSize>(i);
  } else {
#pragma unroll 4
    for (std::int64_t i = begin + thread; i < end; i += step) f.template operator()<1>(i);
  }
}

/// The kItems elements of a thread, of a row that `step` threads keep in registers.
template <class S, int kItems> struct KeptItems {
  static constexpr int kSize = kItems % RowVector<S>::kSize == 0 ? RowVector<S>::kSize : 1;
  int n, thread, step;
  bool vectors;

  /// The index of item k; n or more if there is no such item.
  __device__ __forceinline__ int place(int k) const {
    return kSize > 1 && vectors ? (k / kSize * step + thread) * kSize + k % kSize : thread + k * step;
  }
  template <class T> __device__ __forceinline__ void load(const S* __restrict__ row, T none, T (&items)[kItems]) const {
    if (kSize > 1 && vectors) load_by<kSize>(row, none, items);
    else load_by<1>(row, none, items);
  }
  template <class T> __device__ __forceinline__ void store(S* __restrict__ row, const T (&items)[kItems]) const {
    if (kSize > 1 && vectors) store_by<kSize>(row, items);
    else store_by<1>(row, items);
  }

 private:
  template <int kCount, class T>
  __device__ __forceinline__ void load_by(const S* __restrict__ row, T none, T (&items)[kItems]) const {
#pragma unroll
    for (int k = 0; k < kItems; k += kCount) {
      const int i = (k / kCount * step + thread) * kCount;
      T some[kCount] = {};
      if (i < n) load_some(row + i, some);
#pragma unroll
      for (int u = 0; u < kCount; ++u) items[k + u] = i < n ? some[u] : none;
    }
  }
  template <int kCount, class T>
  __device__ __forceinline__ void store_by(S* __restrict__ row, const T (&items)[kItems]) const {
#pragma unroll
    for (int k = 0; k < kItems; k += kCount) {
      const int i = (k / kCount * step + thread) * kCount;
      T some[kCount];
#pragma unroll
      for (int u = 0; u < kCount; ++u) some[u] = items[k + u];
      if (i < n) store_some(row + i, some);
    }
  }
};

/// The largest of some elements and the sum of e^(x - largest), computed while reading a row once.
template <class T> struct ExpSum {
  T most;
  double sum;

  static __device__ __forceinline__ ExpSum nothing() { return {-kernels::math::kInfinity<T>, 0.0}; }
  /// What is subtracted before the exponential.  If all elements are -inf the sum is 0; an infinity or NaN is
  /// propagated.
  static __device__ __forceinline__ T shift_of(T largest) { return kernels::math::isfinite(largest) ? largest : T(0); }

  __device__ __forceinline__ double sum_at(T largest) const {
    const bool scales = kernels::math::isfinite(most) && kernels::math::isfinite(largest) && most != largest;
    return scales ? sum * static_cast<double>(kernels::math::exp(most - largest)) : sum;
  }

  /// Adds a few elements at once, so that the sum is seldom rescaled.
  static constexpr int kFew = 8;
  __device__ __forceinline__ void join(const T (&few)[kFew]) {
    T largest = most;
#pragma unroll
    for (int u = 0; u < kFew; ++u) largest = Larger()(largest, few[u]);
    sum = sum_at(largest);
    most = largest;
    const T shift = shift_of(most);
    T total = 0;
#pragma unroll
    for (int u = 0; u < kFew; ++u) total += kernels::math::exp(few[u] - shift);
    sum += static_cast<double>(total);
  }

  /// Adds elements k = first, first + step, ... below n, which are `stride` apart.
  template <class S>
  __device__ __forceinline__ void add(const S* __restrict__ x, std::int64_t stride, std::int64_t first, std::int64_t n,
                                      std::int64_t step) {
    for (std::int64_t k = first; k < n; k += kFew * step) {
      T few[kFew];
#pragma unroll
      for (int u = 0; u < kFew; ++u) {
        const std::int64_t i = k + u * step;
        few[u] = i < n ? widen<T>(x[i * stride]) : -kernels::math::kInfinity<T>;
      }
      join(few);
    }
  }

  /// Adds the share of this thread, one of `step` threads, of a row.
  template <class S>
  __device__ __forceinline__ void add_row(const S* __restrict__ x, unsigned thread, std::int64_t n, unsigned step,
                                          bool vectors) {
    if (!vectors) return add(x, 1, thread, n, step);
    constexpr int kSize = RowVector<S>::kSize, kParts = kFew / kSize;
    for (std::int64_t k = std::int64_t{thread} * kSize; k < n; k += std::int64_t{kFew} * step) {
      T few[kFew];
#pragma unroll
      for (int v = 0; v < kParts; ++v) {
        const std::int64_t i = k + std::int64_t{v} * kSize * step;
        T vector[kSize] = {};
        if (i < n) load_some(x + i, vector);
#pragma unroll
        for (int u = 0; u < kSize; ++u) few[v * kSize + u] = i < n ? vector[u] : -kernels::math::kInfinity<T>;
      }
      join(few);
    }
  }

  /// The sum of e^(x - most) for softmax: NaN if it is not finite.
  __device__ __forceinline__ double over_most() const {
    return kernels::math::isfinite(most) ? sum : kernels::math::kNan<double>;
  }
  /// log_sum + (shift - x) keeps the logarithm, which would be lost beside large logits.
  __device__ __forceinline__ double log_sum_exp_minus(double logit) const {
    return kernels::math::log(sum) + (static_cast<double>(shift_of(most)) - logit);
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

/// Rows up to this length fit into registers.
inline constexpr std::int64_t kKeptRow = 8192;
/// The threads of a block for a longer row.
inline constexpr unsigned kLongRowThreads = 512;

/// Calls f.template operator()<kItems>(width) for rows in registers: `width` threads have kItems elements each.
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
inline Extents extents(const View& x, int dim) {
  Extents e;
  for (int d = 0; d < x.dim(); ++d) (d < dim ? e.outer : d == dim ? e.n : e.inner) *= x.shape()[d];
  return e;
}

/// Calls f(offset of the column's first element, or -1 for no column; the thread's first row in it) for each column of
/// [outer, n, inner] of a thread, equally often for all threads of a block.
template <class F> __device__ __forceinline__ void for_columns(const Extents& e, unsigned width, const F& f) {
  const unsigned columns = blockDim.x / width;
  const std::int64_t outputs = e.outer * e.inner, step = static_cast<std::int64_t>(gridDim.x) * columns;
  for (std::int64_t left = static_cast<std::int64_t>(blockIdx.x) * columns; left < outputs; left += step) {
    const std::int64_t output = left + threadIdx.x % columns;
    f(output < outputs ? output / e.inner * e.n * e.inner + output % e.inner : -1, threadIdx.x / columns);
  }
}

}  // namespace minnow::cuda
