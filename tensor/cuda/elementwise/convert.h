#pragma once

#include <cstdint>
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <limits>
#include <type_traits>
#include <minnow/tensor/dtype.h>

namespace minnow::cuda {

/// Converts a stored element to T, the compute type.
template <class T, class S> __device__ __forceinline__ T widen(S x) {
  if constexpr (std::is_same_v<S, float16_t>) return static_cast<T>(__half2float(__ushort_as_half(x.bits)));
  else if constexpr (std::is_same_v<S, bool>) return static_cast<T>(x ? 1 : 0);
  else return static_cast<T>(x);
}

/// Converts a result to S, the stored type.  Values that int64 cannot hold become the lowest one, as on the CPU.
template <class S, class T> __device__ __forceinline__ S narrow(T x) {
  if constexpr (std::is_same_v<S, float16_t>) {
    return float16_t::from_bits(__half_as_ushort(__float2half_rn(static_cast<float>(x))));
  } else if constexpr (std::is_same_v<S, bfloat16_t>) {
    return bfloat16_t::from_bits(__bfloat16_as_ushort(__float2bfloat16_rn(static_cast<float>(x))));
  } else if constexpr (std::is_same_v<S, bool>) {
    return x != T(0);
  } else if constexpr (std::is_integral_v<S> && std::is_floating_point_v<T>) {
    constexpr T kLimit = T(0x1p63);
    const bool fits = x >= -kLimit && x < kLimit;
    return static_cast<S>(fits ? static_cast<std::int64_t>(x) : std::numeric_limits<std::int64_t>::min());
  } else {
    return static_cast<S>(x);
  }
}

/// Calls f(S()) with the element type S of a dtype that is computed in T.  All threads of a launch take the same
/// branch, so loops are best inside of f.
template <class T, class F> __device__ __forceinline__ auto visit_stored(DType dtype, F&& f) {
  if constexpr (std::is_same_v<T, double>) {
    return f(double());
  } else if constexpr (std::is_same_v<T, float>) {
    switch (dtype) {
      case DType::float16: return f(float16_t());
      case DType::bfloat16: return f(bfloat16_t());
      default: return f(float());
    }
  } else {
    switch (dtype) {
      case DType::int32: return f(std::int32_t());
      case DType::int16: return f(std::int16_t());
      case DType::int8: return f(std::int8_t());
      case DType::uint8: return f(std::uint8_t());
      case DType::bool_: return f(bool());
      default: return f(std::int64_t());
    }
  }
}

/// out[i] = x, in any dtype.
template <class T> __device__ __forceinline__ void store_as(void* out, DType dtype, std::int64_t i, T x) {
  switch (dtype) {
    case DType::float32: static_cast<float*>(out)[i] = narrow<float>(x); break;
    case DType::float64: static_cast<double*>(out)[i] = narrow<double>(x); break;
    case DType::float16: static_cast<float16_t*>(out)[i] = narrow<float16_t>(x); break;
    case DType::bfloat16: static_cast<bfloat16_t*>(out)[i] = narrow<bfloat16_t>(x); break;
    case DType::int64: static_cast<std::int64_t*>(out)[i] = narrow<std::int64_t>(x); break;
    case DType::int32: static_cast<std::int32_t*>(out)[i] = narrow<std::int32_t>(x); break;
    case DType::int16: static_cast<std::int16_t*>(out)[i] = narrow<std::int16_t>(x); break;
    case DType::int8: static_cast<std::int8_t*>(out)[i] = narrow<std::int8_t>(x); break;
    case DType::uint8: static_cast<std::uint8_t*>(out)[i] = narrow<std::uint8_t>(x); break;
    case DType::bool_: static_cast<bool*>(out)[i] = narrow<bool>(x); break;
  }
}

/// x[i] for any floating-point dtype.
template <class T> __device__ __forceinline__ T load_floating(const void* x, DType dtype, std::int64_t i) {
  switch (dtype) {
    case DType::float64: return static_cast<T>(static_cast<const double*>(x)[i]);
    case DType::float16: return widen<T>(static_cast<const float16_t*>(x)[i]);
    case DType::bfloat16: return widen<T>(static_cast<const bfloat16_t*>(x)[i]);
    default: return static_cast<T>(static_cast<const float*>(x)[i]);
  }
}

/// On the host: calls f.template operator()<S, T>() with the stored and the compute type of a floating-point dtype.
template <class F> void visit_floating(DType dtype, const F& f) {
  switch (dtype) {
    case DType::float64: return f.template operator()<double, double>();
    case DType::float16: return f.template operator()<float16_t, float>();
    case DType::bfloat16: return f.template operator()<bfloat16_t, float>();
    default: return f.template operator()<float, float>();
  }
}

}  // namespace minnow::cuda
