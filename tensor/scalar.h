#pragma once

#include <concepts>
#include <cstdint>
#include <limits>
#include <minnow/tensor/dtype.h>

namespace minnow {

inline constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// A number that keeps whether it was a bool, an integer or a floating-point number, for type promotion.
class Scalar {
 public:
  /// Of a bool, and of nothing that only converts to one: a pointer, an enumerator.
  template <std::same_as<bool> T> constexpr Scalar(T v) : int_(v), float_(v), dtype_(DType::bool_) {}
  template <std::integral T>
  requires(!std::same_as<T, bool>) constexpr Scalar(T v)
      : int_(static_cast<std::int64_t>(v)), float_(static_cast<double>(v)), dtype_(DType::int64) {}
  template <std::floating_point T>
  constexpr Scalar(T v)
      : int_(v >= -0x1p63 && v < 0x1p63 ? static_cast<std::int64_t>(v) : 0),
        float_(static_cast<double>(v)),
        dtype_(DType::float32) {}

  constexpr double as_double() const { return float_; }
  constexpr std::int64_t as_int() const { return int_; }
  /// Whether it is an unsigned integer of 2^63 or more, which no integer dtype can hold; as_int() wraps.
  constexpr bool exceeds_int64() const { return dtype_ == DType::int64 && int_ < 0 && float_ > 0; }
  /// The number for backends: a floating-point number if int64 cannot hold it.
  constexpr Scalar storable() const { return exceeds_int64() ? Scalar(float_) : *this; }
  /// bool, int64, or float32 for any floating-point number.
  constexpr DType dtype() const { return dtype_; }

 private:
  std::int64_t int_;
  double float_;
  DType dtype_;
};

}  // namespace minnow
