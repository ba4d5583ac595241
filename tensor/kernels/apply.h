#pragma once

#include <type_traits>
#include <minnow/tensor/kernels/unary_traits.h>

namespace minnow::detail::kernels {

/// Calls value() of a unary functor with as many parameters as it takes.
struct Value {
  template <class Op, class T> MINNOW_HD static auto of(T x, T p0, T p1) {
    static_cast<void>(p0), static_cast<void>(p1);
    if constexpr (Op::kParams == 0) return Op::value(x);
    else if constexpr (Op::kParams == 1) return Op::value(x, p0);
    else return Op::value(x, p0, p1);
  }
};
/// The same for slope().
struct Slope {
  template <class Op, class T> MINNOW_HD static T of(T s, T p0, T p1) {
    static_cast<void>(p0), static_cast<void>(p1);
    if constexpr (Op::kParams == 0) return Op::slope(s);
    else if constexpr (Op::kParams == 1) return Op::slope(s, p0);
    else return Op::slope(s, p0, p1);
  }
};
/// The same for curve().
struct Curve {
  template <class Op, class T> MINNOW_HD static T of(T s, T p0, T p1) {
    static_cast<void>(p0), static_cast<void>(p1);
    if constexpr (Op::kParams == 0) return Op::curve(s);
    else if constexpr (Op::kParams == 1) return Op::curve(s, p0);
    else return Op::curve(s, p0, p1);
  }
};

namespace detail {

/// Whether x is outside of the range of the host's float32 formula, so that it is computed in double.  Devices compute
/// all of float32.
template <class Op, class T> MINNOW_HD bool needs_double(T x) {
#ifndef __CUDA_ARCH__
  if constexpr (std::is_same_v<T, float> && requires { Op::kReach; }) return !(math::abs(x) <= Op::kReach);
#endif
  static_cast<void>(x);
  return false;
}

}  // namespace detail

/// Value, Slope or Curve of a functor at x.
template <class Form, class Op, class T> MINNOW_HD auto apply(T x, T p0, T p1) {
  using Out = decltype(Form::template of<Op>(x, p0, p1));
  constexpr bool kOfInput = std::is_same_v<Form, Value> || Op::kSaves == Saves::kInput;
  if constexpr (kOfInput && requires { Op::kReach; }) {
    if (detail::needs_double<Op>(x))
      return static_cast<Out>(
          Form::template of<Op>(static_cast<double>(x), static_cast<double>(p0), static_cast<double>(p1)));
  }
  return Form::template of<Op>(x, p0, p1);
}

}  // namespace minnow::detail::kernels
