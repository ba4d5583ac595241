#pragma once

#include <string_view>
#include <type_traits>
#include <minnow/tensor/kernels/binary.h>
#include <minnow/tensor/kernels/list.h>
#include <minnow/tensor/kernels/math.h>
#include <minnow/tensor/kernels/unary_traits.h>

namespace minnow::detail::kernels {

/// Traits of a ternary functor: value(a, b, c, p); some ignore the parameter p.
template <Kind K = Kind::kNumeric> struct Ternary {
  static constexpr Kind kKind = K;
  static constexpr bool kTakesBool = true;
};

/// b if a is not zero, otherwise c.
struct Where : Ternary<> {
  static constexpr std::string_view kName = "where";
  template <class T> MINNOW_HD static T value(T a, T b, T c, T) { return a != T(0) ? b : c; }
};
/// a + c (b - a), exact at both ends.
struct Lerp : Ternary<Kind::kFloating> {
  static constexpr std::string_view kName = "lerp";
  template <class T> MINNOW_HD static T value(T a, T b, T c, T) {
    return math::abs(c) < T(0.5) ? a + c * (b - a) : b - (b - a) * (T(1) - c);
  }
};
/// a + p b c.
struct Addcmul : Ternary<> {
  static constexpr std::string_view kName = "addcmul";
  template <class T> MINNOW_HD static T value(T a, T b, T c, T p) {
    if constexpr (std::is_integral_v<T>) return Add::value(a, Mul::value(Mul::value(p, b), c));  // wraps around
    else return a + p * b * c;
  }
};
/// a + p b / c.
struct Addcdiv : Ternary<Kind::kFloating> {
  static constexpr std::string_view kName = "addcdiv";
  template <class T> MINNOW_HD static T value(T a, T b, T c, T p) { return a + p * b / c; }
};
/// p a b c.
struct Product : Ternary<> {
  static constexpr std::string_view kName = "mul";
  template <class T> MINNOW_HD static T value(T a, T b, T c, T p) {
    if constexpr (std::is_integral_v<T>) return Mul::value(Mul::value(p, c), Mul::value(b, a));
    else return p * c * b * a;
  }
};

/// a where b > 0, else a c: the gradient a of Prelu, at b with weight c.
struct PreluSlope : Ternary<Kind::kFloating> {
  static constexpr std::string_view kName = "prelu_backward";
  template <class T> MINNOW_HD static T value(T a, T b, T c, T) { return b > T(0) ? a : a * c; }
};

/// a, at least b and at most c; NaN if one is NaN.
struct ClampBetween : Ternary<> {
  static constexpr std::string_view kName = "clamp";
  // Of NaN at the end: compilers make branches of the one function in the other, and twice as many instructions of
  // them.
  template <class T> MINNOW_HD static T value(T a, T b, T c, T) {
    const T larger = a > b ? a : b, between = larger < c ? larger : c, nan = a != a ? a : b;
    const bool one_is_nan = (a != a) | (b != b);
    return one_is_nan ? nan : between;
  }
};

/// All ternary operations.  An operation's index in this list is its number.
using TernaryOps = List<Where, Lerp, Addcmul, Addcdiv, Product, PreluSlope, ClampBetween>;

}  // namespace minnow::detail::kernels
