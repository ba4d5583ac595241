#pragma once

#include <cstdint>
#include <limits>
#include <string_view>
#include <type_traits>
#include <minnow/tensor/kernels/list.h>
#include <minnow/tensor/kernels/math.h>

namespace minnow::detail::kernels {

/// What the derivative of a functor is computed from.
enum class Saves : std::uint8_t { kNothing, kInput, kOutput };
/// The element types that a functor takes.  Floating: float and double (integers are converted before); numeric: int64
/// as well; integral: int64 only; predicate: all, and the result is bool.
enum class Kind : std::uint8_t { kFloating, kNumeric, kIntegral, kPredicate };

/// Whether an operation of this kind takes T.
template <class T> constexpr bool takes(Kind kind) {
  if (std::is_integral_v<T>) return kind != Kind::kFloating;
  return kind != Kind::kIntegral;
}

/// A parameter in the compute type; saturates for integers.
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
///   slope(s[, ...])       its derivative, computed from what kSaves says (from kOrder 1)
/// kOrder is 0 without a derivative, 1 where slope is constant in pieces, else 2.  Where the function has no
/// derivative, slope() is what PyTorch gives.
template <Saves S, int Params = 0, Kind K = Kind::kFloating, int Order = 2> struct Unary {
  static constexpr Saves kSaves = S;
  static constexpr int kParams = Params;
  static constexpr Kind kKind = K;
  static constexpr int kOrder = Order;
  static constexpr bool kTakesBool = true;  // false: bool is refused, as in PyTorch
};

/// The second derivative of a function that is linear in pieces is 0 whatever the gradients are, where 0 times an
/// infinite one would be NaN.
template <Saves S, int Params = 0, Kind K = Kind::kFloating> using PiecewiseLinear = Unary<S, Params, K, 1>;

/// Step functions: their derivative is 0.
template <Kind K = Kind::kNumeric> struct Step : PiecewiseLinear<Saves::kNothing, 0, K> {
  template <class T> MINNOW_HD static T slope(T) { return T(0); }
};

}  // namespace minnow::detail::kernels
