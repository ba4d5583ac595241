#pragma once

#include <array>
#include <minnow/tensor/cuda/elementwise/elementwise.h>
#include <minnow/tensor/internal.h>
#include <minnow/tensor/kernels/apply.h>
#include <minnow/tensor/kernels/list.h>

namespace minnow::cuda {

/// Traits of an elementwise functor for its kernels.  It has value(a value of each input, p0, p1).
template <int N, Accepts In = Accepts::kSameFamily, Accepts Out = Accepts::kSameFamily, bool Divides = false>
struct Body {
  static constexpr int kInputs = N;
  static constexpr Accepts kIn = In;
  static constexpr Accepts kOut = Out;
  static constexpr bool kDivides = Divides;  ///< integers: a zero in the last input is a fault
};

template <class T> __device__ __forceinline__ T constant(const KernelInput& in) {
  if constexpr (std::is_integral_v<T>) return in.whole;
  else return static_cast<T>(in.floating);
}

/// Inputs that are the same for all elements.
template <class F, class T, int Count, int N>
__device__ __forceinline__ void load_uniform(const KernelOperands<N>& operands, T (&in)[N][Count]) {
  constexpr std::int32_t kHere[1] = {};
  for (int k = 0; k < N; ++k) {
    if (!operands.in[k].uniform) continue;
    T value[1] = {constant<T>(operands.in[k])};
    if (operands.in[k].data != nullptr) load_at<F::kIn>(operands.in[k].data, operands.in[k].dtype, kHere, 1, value);
    for (int u = 0; u < Count; ++u) in[k][u] = value[0];
  }
}

/// Applies F to the first `count` elements; results of the others are not used.
template <class F, class T, int Count, int N>
__device__ __forceinline__ void compute(const KernelOperands<N>& operands, const T (&in)[N][Count], int count, T p0,
                                        T p1, T (&out)[Count]) {
  for (int u = 0; u < Count; ++u) {
    if constexpr (N == 1) out[u] = static_cast<T>(F::value(in[0][u], p0, p1));
    else if constexpr (N == 2) out[u] = static_cast<T>(F::value(in[0][u], in[1][u], p0, p1));
    else out[u] = static_cast<T>(F::value(in[0][u], in[1][u], in[2][u], p0));
    if constexpr (F::kDivides && std::is_integral_v<T>) {
      if (u < count && in[N - 1][u] == 0) *operands.fault = 1;
    }
  }
  static_cast<void>(operands), static_cast<void>(count), static_cast<void>(p0), static_cast<void>(p1);
}

template <class F, class T, int N> __global__ void dense_kernel(DenseArgs<N> args) {
  constexpr int kCount = kDensePack<T>;
  const KernelOperands<N>& operands = args.operands;
  const T p0 = kernels::parameter<T>(operands.p0), p1 = kernels::parameter<T>(operands.p1);
  T in[N][kCount] = {}, out[kCount];
  load_uniform<F>(operands, in);
  const std::int64_t step = static_cast<std::int64_t>(gridDim.x) * blockDim.x;
  for (std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < args.packs; i += step) {
    for (int k = 0; k < N; ++k)
      if (!operands.in[k].uniform) load_pack<F::kIn>(operands.in[k].data, operands.in[k].dtype, i * kCount, in[k]);
    compute<F>(operands, in, kCount, p0, p1, out);
    store_pack<F::kOut>(operands.out, operands.out_dtype, i * kCount, out);
  }
}

/// The elements of a thread are a block's width apart, so that adjacent threads read adjacent elements.
template <class F, class T, int N> __global__ void strided_kernel(StridedArgs<N> args) {
  const KernelOperands<N>& operands = args.operands;
  const T p0 = kernels::parameter<T>(operands.p0), p1 = kernels::parameter<T>(operands.p1);
  T in[N][kStridedItems] = {}, out[kStridedItems];
  load_uniform<F>(operands, in);
  // n < 2^31, and a step is at most 2^25 elements: no sum overflows.
  const std::uint32_t n = args.layout.numel, width = blockDim.x, step = gridDim.x * width * kStridedItems;
  for (std::uint32_t i = blockIdx.x * width * kStridedItems + threadIdx.x; i < n; i += step) {
    std::int32_t offsets[N + 1][kStridedItems] = {};
    int count = 0;
    for (int u = 0; u < kStridedItems; ++u) {
      const std::uint32_t at = i + static_cast<std::uint32_t>(u) * width;
      if (at >= n) continue;
      const kernels::Offsets<N + 1> here = args.layout.offsets(at);
      for (int k = 0; k <= N; ++k) offsets[k][u] = here.at[k];
      ++count;
    }
    for (int k = 0; k < N; ++k)
      if (!operands.in[k].uniform)
        load_at<F::kIn>(operands.in[k].data, operands.in[k].dtype, offsets[k + 1], count, in[k]);
    compute<F>(operands, in, count, p0, p1, out);
    store_at<F::kOut>(operands.out, operands.out_dtype, offsets[0], count, out);
  }
}

/// The kernels of F in T.
template <class F, class T> constexpr Loops<F::kInputs> loops_of() {
  return {dense_kernel<F, T, F::kInputs>, strided_kernel<F, T, F::kInputs>, F::kIn, F::kOut};
}

}  // namespace minnow::cuda
