#pragma once

#include <cstdint>
#include <type_traits>
#include <minnow/tensor/cuda/elementwise/convert.h>
#include <minnow/tensor/dtype.h>
#include <minnow/tensor/internal.h>
#include <minnow/tensor/kernels/compute.h>

namespace minnow::cuda {

using kernels::Compute;
using kernels::compute_of;
using kernels::dtype_of;

/// The dtypes that a kernel reads and writes directly.  kSameFamily: those that are computed in T; other (mixed)
/// operands are converted before or after, which keeps the kernels small.  kSameFamilyAndBool: also bool, for masks.
/// kAll: all.
enum class Accepts : std::uint8_t { kSameFamily, kSameFamilyAndBool, kAll };

/// Whether a kernel that computes in `compute` reads and writes a dtype directly.
constexpr bool accepts(Accepts stored, Compute compute, DType dtype) {
  if (stored == Accepts::kAll) return true;
  return compute_of(dtype) == compute || (dtype == DType::bool_ && stored == Accepts::kSameFamilyAndBool);
}

/// Calls f(S()) with the element type S of an accepted dtype.  All threads of a launch take the same branch, so it
/// costs very little; loops are best inside of f.
template <class T, Accepts Set, class F> __device__ __forceinline__ void visit_accepted(DType dtype, const F& f) {
  if constexpr (Set == Accepts::kAll) {
    switch (dtype) {
      case DType::float32: return f(float());
      case DType::float64: return f(double());
      case DType::float16: return f(float16_t());
      case DType::bfloat16: return f(bfloat16_t());
      case DType::int64: return f(std::int64_t());
      case DType::int32: return f(std::int32_t());
      case DType::int16: return f(std::int16_t());
      case DType::int8: return f(std::int8_t());
      case DType::uint8: return f(std::uint8_t());
      case DType::bool_: return f(bool());
    }
  } else {
    if constexpr (Set == Accepts::kSameFamilyAndBool && !std::is_same_v<T, std::int64_t>)
      if (dtype == DType::bool_) return f(bool());
    visit_stored<T>(dtype, f);
  }
}

/// The number of elements that a thread processes at a time: adjacent ones, and strided ones.
inline constexpr int kPack = 4;
inline constexpr int kStridedItems = 2;
/// Of elementwise kernels that compute in T: in float so many that halves are accessed by 16 bytes too.
template <class T> inline constexpr int kDensePack = std::is_same_v<T, float> ? 8 : kPack;
constexpr int dense_pack_of(Compute compute) { return compute == Compute::kFloat ? kDensePack<float> : kPack; }

/// Adjacent elements, accessed by up to 16 bytes at a time.
template <class S, int kCount = kPack> struct alignas(sizeof(S) * kCount < 16 ? sizeof(S) * kCount : 16) Pack {
  S at[kCount];
};
inline constexpr std::size_t kPackAlignment = 16;

/// Elements [i, i + kCount) of a dense array that is aligned to packs.
template <Accepts Set, class T, int kCount>
__device__ __forceinline__ void load_pack(const void* data, DType dtype, std::int64_t i, T (&to)[kCount]) {
  visit_accepted<T, Set>(dtype, [&]<class S>(S) {
    using Elements = Pack<S, kCount>;
    const Elements pack = *reinterpret_cast<const Elements*>(static_cast<const S*>(data) + i);
    for (int u = 0; u < kCount; ++u) to[u] = widen<T>(pack.at[u]);
  });
}

template <Accepts Set, class T, int kCount>
__device__ __forceinline__ void store_pack(void* data, DType dtype, std::int64_t i, const T (&from)[kCount]) {
  visit_accepted<T, Set>(dtype, [&]<class S>(S) {
    Pack<S, kCount> pack;
    for (int u = 0; u < kCount; ++u) pack.at[u] = narrow<S>(from[u]);
    *reinterpret_cast<Pack<S, kCount>*>(static_cast<S*>(data) + i) = pack;
  });
}

/// The first `count` elements at byte offsets; 0 for the others.
template <Accepts Set, class T, int Count>
__device__ __forceinline__ void load_at(const void* data, DType dtype, const std::int32_t (&offsets)[Count], int count,
                                        T (&to)[Count]) {
  visit_accepted<T, Set>(dtype, [&]<class S>(S) {
    for (int u = 0; u < Count; ++u) {
      const char* from = static_cast<const char*>(data) + offsets[u];
      to[u] = u < count ? widen<T>(*reinterpret_cast<const S*>(from)) : T(0);
    }
  });
}

template <Accepts Set, class T, int Count>
__device__ __forceinline__ void store_at(void* data, DType dtype, const std::int32_t (&offsets)[Count], int count,
                                         const T (&from)[Count]) {
  visit_accepted<T, Set>(dtype, [&]<class S>(S) {
    for (int u = 0; u < Count; ++u) {
      if (u < count) *reinterpret_cast<S*>(static_cast<char*>(data) + offsets[u]) = narrow<S>(from[u]);
    }
  });
}

/// Element i of a dense array.
template <Accepts Set, class T> __device__ __forceinline__ T load_one(const void* data, DType dtype, std::int64_t i) {
  T value{};
  visit_accepted<T, Set>(dtype, [&]<class S>(S) { value = widen<T>(static_cast<const S*>(data)[i]); });
  return value;
}
template <Accepts Set, class T>
__device__ __forceinline__ void store_one(void* data, DType dtype, std::int64_t i, T value) {
  visit_accepted<T, Set>(dtype, [&]<class S>(S) { static_cast<S*>(data)[i] = narrow<S>(value); });
}

}  // namespace minnow::cuda
