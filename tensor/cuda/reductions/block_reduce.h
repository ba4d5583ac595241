#pragma once

#include <cstdint>
#include <minnow/tensor/cuda/runtime/launch.h>

namespace minnow::cuda {

inline constexpr unsigned kWarp = 32;
inline constexpr unsigned kAllLanes = 0xffffffffu;

template <class T> __device__ __forceinline__ T shuffle_xor(T value, int mask) {
  return __shfl_xor_sync(kAllLanes, value, mask);
}

/// Two sums that are made in one pass.
struct TwoSums {
  double first, second;
};
struct AddTwo {
  __device__ __forceinline__ TwoSums operator()(const TwoSums& a, const TwoSums& b) const {
    return {a.first + b.first, a.second + b.second};
  }
};
__device__ __forceinline__ TwoSums shuffle_xor(const TwoSums& sums, int mask) {
  return {__shfl_xor_sync(kAllLanes, sums.first, mask), __shfl_xor_sync(kAllLanes, sums.second, mask)};
}

/// Combines the values of a warp's 32 lanes in a fixed order; each lane gets the result.  All lanes must call it.
template <class T, class Join> __device__ __forceinline__ T warp_join(T value, Join join) {
  for (int mask = kWarp / 2; mask > 0; mask /= 2) value = join(value, shuffle_xor(value, mask));
  return value;
}

/// Combines the values of a block's threads (a multiple of 32, at most 1024); each thread gets the result.  `nothing`
/// is the neutral value.  All threads must call it.
template <class T, class Join> __device__ __forceinline__ T block_join(T value, T nothing, Join join) {
  __shared__ T parts[kWarp];
  const unsigned warp = threadIdx.x / kWarp, lane = threadIdx.x % kWarp;
  value = warp_join(value, join);
  if (lane == 0) parts[warp] = value;
  __syncthreads();
  value = lane < blockDim.x / kWarp ? parts[lane] : nothing;
  __syncthreads();  // before the parts are written again
  return warp_join(value, join);
}

/// Combines the values of `width` adjacent threads: of a warp or of the whole block.
template <class T, class Join> __device__ __forceinline__ T group_join(unsigned width, T value, T nothing, Join join) {
  return width == kWarp ? warp_join(value, join) : block_join(value, nothing, join);
}

/// Combines the values of `width` threads (a power of two) that are blockDim.x / width apart.  A block has at most
/// kThreads.
template <class T, class Join> __device__ __forceinline__ T columns_join(unsigned width, T value, Join join) {
  if (width == 1) return value;
  __shared__ T parts[kThreads];
  const unsigned columns = blockDim.x / width, row = threadIdx.x / columns;
  parts[threadIdx.x] = value;
  for (unsigned half = width / 2; half > 0; half /= 2) {
    __syncthreads();
    if (row < half) parts[threadIdx.x] = join(parts[threadIdx.x], parts[threadIdx.x + half * columns]);
  }
  __syncthreads();
  value = parts[threadIdx.x % columns];
  __syncthreads();
  return value;
}

/// Whether this block is the last of `blocks` to come here, counted in a word of block_counters().  It sees what the
/// others have written before, if it reads by a volatile pointer.  All threads must call it.
__device__ __forceinline__ bool is_last_block(std::uint32_t* counter, unsigned blocks) {
  __shared__ bool last;
  __threadfence();
  __syncthreads();
  if (threadIdx.x == 0) {
    last = atomicAdd(counter, 1u) == blocks - 1;
    if (last) *counter = 0;  // for the next kernel
  }
  __syncthreads();
  __threadfence();
  return last;
}

/// The threads of a block: adjacent threads have adjacent outputs, and `width` threads share an output.
struct ColumnLayout {
  unsigned columns, width;

  unsigned threads() const { return columns * width; }
};

/// Depends on the shape only, so that the order of combination does too: as many threads along the outputs as possible,
/// but fewer, down to a warp, if the GPU would be idle otherwise.
inline ColumnLayout column_layout(std::int64_t outputs, std::int64_t n, bool shared) {
  std::int64_t columns = kThreads;
  while (shared && columns > kWarp && outputs < columns * 1024) columns /= 2;
  while (columns > 1 && columns / 2 >= outputs) columns /= 2;
  std::int64_t width = shared ? kThreads / columns : 1;
  while (width > 1 && width > n) width /= 2;
  return {static_cast<unsigned>(columns), static_cast<unsigned>(width)};
}

struct Add {
  template <class T> __device__ __forceinline__ T operator()(T a, T b) const { return a + b; }
};
/// The larger one; not the one that is NaN.
struct Larger {
  template <class T> __device__ __forceinline__ T operator()(T a, T b) const { return b > a ? b : a; }
};

}  // namespace minnow::cuda
