#pragma once

#include <cstdint>
#include <type_traits>
#include <minnow/tensor/cuda/elementwise/convert.h>
#include <minnow/tensor/dtype.h>

namespace minnow::cuda {

/// The types that functors compute in; elements convert at load and store.
enum class Compute : std::uint8_t { kFloat, kDouble, kInt64 };
inline constexpr int kComputes = 3;

/// What elements of a dtype are computed in.
constexpr Compute compute_of(DType dtype) {
  if (dtype == DType::float64) return Compute::kDouble;
  return is_floating(dtype) ? Compute::kFloat : Compute::kInt64;
}

/// Which dtypes a kernel reads and writes by itself.  kNear: those that are computed in T; others (mixed operands) are
/// converted before or after, which keeps the kernels small.  kNearAndBool: and bool, for masks.  kAll: all.
enum class Stored : std::uint8_t { kNear, kNearAndBool, kAll };

/// Whether a kernel that computes in `compute` reads and writes elements of a dtype.
constexpr bool covers(Stored stored, Compute compute, DType dtype) {
  if (stored == Stored::kAll) return true;
  return compute_of(dtype) == compute || (dtype == DType::bool_ && stored == Stored::kNearAndBool);
}

/// f(S()) for the type S that elements of a dtype are stored in, one that is covered.  The dtype is the same for all
/// threads of a launch, so the switch costs next to nothing; it goes around loops.
template <class T, Stored Set, class F> __device__ __forceinline__ void visit_covered(DType dtype, const F& f) {
  if constexpr (Set == Stored::kAll) {
    switch (dtype) {
      case DType::float32: return f(float());
      case DType::float64: return f(double());
      case DType::float16: return f(float16_t());
      case DType::bfloat16: return f(bfloat16_t());
      case DType::int64: return f(std::int64_t());
      case DType::int32: return f(std::int32_t());
      case DType::uint8: return f(std::uint8_t());
      case DType::bool_: return f(bool());
    }
  } else {
    if constexpr (Set == Stored::kNearAndBool && !std::is_same_v<T, std::int64_t>)
      if (dtype == DType::bool_) return f(bool());
    visit_stored<T>(dtype, f);
  }
}

/// Elements that a thread works on at a time where they are neighbours, and where they are not.
inline constexpr int kPack = 4;
inline constexpr int kApart = 2;

/// Neighbouring elements, moved by accesses of up to 16 bytes.
template <class S> struct alignas(sizeof(S) * kPack < 16 ? sizeof(S) * kPack : 16) Pack { S at[kPack]; };
inline constexpr std::size_t kPackAlignment = 16;

/// Elements [i, i + kPack) of a dense array that is aligned for packs.
template <Stored Set, class T>
__device__ __forceinline__ void load_pack(const void* data, DType dtype, std::int64_t i, T (&to)[kPack]) {
  visit_covered<T, Set>(dtype, [&]<class S>(S) {
    const Pack<S> pack = *reinterpret_cast<const Pack<S>*>(static_cast<const S*>(data) + i);
    for (int u = 0; u < kPack; ++u) to[u] = widen<T>(pack.at[u]);
  });
}

template <Stored Set, class T>
__device__ __forceinline__ void store_pack(void* data, DType dtype, std::int64_t i, const T (&from)[kPack]) {
  visit_covered<T, Set>(dtype, [&]<class S>(S) {
    Pack<S> pack;
    for (int u = 0; u < kPack; ++u) pack.at[u] = narrow<S>(from[u]);
    *reinterpret_cast<Pack<S>*>(static_cast<S*>(data) + i) = pack;
  });
}

/// Elements at byte offsets, of which the first `count` are wanted; zeros for the others.
template <Stored Set, class T, int Count>
__device__ __forceinline__ void load_at(const void* data, DType dtype, const std::int32_t (&offsets)[Count], int count,
                                        T (&to)[Count]) {
  visit_covered<T, Set>(dtype, [&]<class S>(S) {
    for (int u = 0; u < Count; ++u) {
      const char* from = static_cast<const char*>(data) + offsets[u];
      to[u] = u < count ? widen<T>(*reinterpret_cast<const S*>(from)) : T(0);
    }
  });
}

template <Stored Set, class T, int Count>
__device__ __forceinline__ void store_at(void* data, DType dtype, const std::int32_t (&offsets)[Count], int count,
                                         const T (&from)[Count]) {
  visit_covered<T, Set>(dtype, [&]<class S>(S) {
    for (int u = 0; u < Count; ++u) {
      if (u < count) *reinterpret_cast<S*>(static_cast<char*>(data) + offsets[u]) = narrow<S>(from[u]);
    }
  });
}

/// Element i of a dense array.
template <Stored Set, class T> __device__ __forceinline__ T load_one(const void* data, DType dtype, std::int64_t i) {
  T value{};
  visit_covered<T, Set>(dtype, [&]<class S>(S) { value = widen<T>(static_cast<const S*>(data)[i]); });
  return value;
}
template <Stored Set, class T>
__device__ __forceinline__ void store_one(void* data, DType dtype, std::int64_t i, T value) {
  visit_covered<T, Set>(dtype, [&]<class S>(S) { static_cast<S*>(data)[i] = narrow<S>(value); });
}

}  // namespace minnow::cuda
