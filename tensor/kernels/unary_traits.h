#pragma once

#include <cstdint>
#include <limits>
#include <string_view>
#include <type_traits>
#include <minnow/tensor/kernels/list.h>
#include <minnow/tensor/kernels/math.h>

namespace minnow::detail::kernels {

/// What a functor's derivative is a function of.
enum class Saves : std::uint8_t { kNothing, kInput, kOutput };
/// The element types that a functor takes.  Floating: float and double (integers are promoted by the front
/// end); numeric: int64 too; integral: int64 only; predicate: all, and the result is bool.
enum class Kind : std::uint8_t { kFloating, kNumeric, kIntegral, kPredicate };

/// Whether an operation of this kind has a form for T.
template <class T> constexpr bool takes(Kind kind) {
  if (std::is_integral_v<T>) return kind != Kind::kFloating;
  return kind != Kind::kIntegral;
}

/// A parameter as the compute type; integers saturate.
template <class T> MINNOW_HD T parameter(double p) {
  if constexpr (std::is_integral_v<T>) {
    if (!(p > -0x1p63)) return std::numeric_limits<T>::min();
    return p < 0x1p63 ? static_cast<T>(p) : std::numeric_limits<T>::max();
  } else {
    return static_cast<T>(p);
  }
}

/// Traits of a unary functor.
///   value(x[, p0[, p1]])  the function, with kParams parameters after the operand
///   slope(s[, ...])       its derivative as a function of what kSaves names (kOrder >= 1)
///   curve(s[, ...])       the derivative of slope with respect to s (kOrder == 2)
/// At a kink the derivative is PyTorch's choice.
template <Saves S, int Params = 0, Kind K = Kind::kFloating, int Order = 2> struct Unary {
  static constexpr Saves kSaves = S;
  static constexpr int kParams = Params;
  static constexpr Kind kKind = K;
  static constexpr int kOrder = Order;
  static constexpr bool kTakesBool = true;  // false: the front end refuses bool, as PyTorch does
};

/// Functions that are constant between jumps: their derivative is zero.
template <Kind K = Kind::kNumeric> struct Step : Unary<Saves::kNothing, 0, K> {
  template <class T> MINNOW_HD static T slope(T) { return T(0); }
  template <class T> MINNOW_HD static T curve(T) { return T(0); }
};

}  // namespace minnow::detail::kernels
