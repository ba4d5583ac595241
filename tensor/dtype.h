#pragma once

#include <cstddef>
#include <cstdint>
#include <iosfwd>
#include <string_view>
#include <type_traits>
#include <minnow/tensor/half.h>

namespace minnow {

/// Element types.  float16 and bfloat16 are storage types: kernels compute in float and convert at load and store.
enum class DType : std::uint8_t { float32, float64, float16, bfloat16, int64, int32, int16, int8, uint8, bool_ };

inline constexpr DType float32 = DType::float32;
inline constexpr DType float64 = DType::float64;
inline constexpr DType float16 = DType::float16;
inline constexpr DType bfloat16 = DType::bfloat16;
inline constexpr DType int64 = DType::int64;
inline constexpr DType int32 = DType::int32;
inline constexpr DType int16 = DType::int16;
inline constexpr DType int8 = DType::int8;
inline constexpr DType uint8 = DType::uint8;
inline constexpr DType bool_ = DType::bool_;

inline constexpr int kDTypeCount = 10;

/// Bytes of one element; 0 for an invalid value.
constexpr std::size_t size_of(DType d) {
  constexpr std::size_t kSizes[kDTypeCount + 1] = {4, 8, 2, 2, 8, 4, 2, 1, 1, 1, 0};
  return kSizes[d <= DType::bool_ ? static_cast<int>(d) : kDTypeCount];
}

/// "float32", ..., "bool"; "no dtype" for an invalid value.
constexpr std::string_view name_of(DType d) {
  constexpr std::string_view kNames[kDTypeCount + 1] = {"float32", "float64", "float16", "bfloat16", "int64",   "int32",
                                                        "int16",   "int8",    "uint8",   "bool",     "no dtype"};
  return kNames[d <= DType::bool_ ? static_cast<int>(d) : kDTypeCount];
}

/// Prints name_of().
std::ostream& operator<<(std::ostream& out, DType dtype);

constexpr bool is_floating_point(DType d) { return d <= DType::bfloat16; }
constexpr bool is_half(DType d) { return d == DType::float16 || d == DType::bfloat16; }
constexpr bool is_integral(DType d) { return d >= DType::int64; }  // bool included, as in PyTorch

namespace detail {

/// The value of the dtype with elements of type T, or -1.
template <class T> constexpr int dtype_number() {
  using U = std::remove_cv_t<T>;
  if constexpr (std::is_same_v<U, float>) return static_cast<int>(DType::float32);
  else if constexpr (std::is_same_v<U, double>) return static_cast<int>(DType::float64);
  else if constexpr (std::is_same_v<U, float16_t>) return static_cast<int>(DType::float16);
  else if constexpr (std::is_same_v<U, bfloat16_t>) return static_cast<int>(DType::bfloat16);
  else if constexpr (std::is_same_v<U, bool>) return static_cast<int>(DType::bool_);
  else if constexpr (std::is_same_v<U, std::uint8_t>) return static_cast<int>(DType::uint8);
  else if constexpr (std::is_same_v<U, std::int8_t>) return static_cast<int>(DType::int8);
  else if constexpr (!std::is_integral_v<U> || !std::is_signed_v<U>) return -1;
  else if constexpr (sizeof(U) == 8) return static_cast<int>(DType::int64);
  else if constexpr (sizeof(U) == 4) return static_cast<int>(DType::int32);
  else if constexpr (sizeof(U) == 2) return static_cast<int>(DType::int16);
  else return -1;
}
template <class T> inline constexpr bool is_element_v = dtype_number<T>() >= 0;

}  // namespace detail

/// The dtype with elements of type T.
template <class T> constexpr DType dtype_of() {
  static_assert(detail::is_element_v<T>, "there is no dtype for this type");
  return static_cast<DType>(detail::dtype_number<T>());
}

/// The result of an operation on two tensors with dimensions: PyTorch's promotion table.
constexpr DType promote_types(DType a, DType b) {
  if (a == b) return a;
  if (is_floating_point(a) && is_floating_point(b)) {
    if (a == DType::float64 || b == DType::float64) return DType::float64;
    return DType::float32;  // float32 and a half, or the two halves
  }
  if (is_floating_point(a)) return a;
  if (is_floating_point(b)) return b;
  if (a < b ? a == DType::int8 && b == DType::uint8 : b == DType::int8 && a == DType::uint8) return DType::int16;
  return a < b ? a : b;  // the wider one of int64, int32, int16, int8 or uint8, bool holds all values of the other
}

}  // namespace minnow
