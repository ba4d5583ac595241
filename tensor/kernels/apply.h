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

namespace detail {

/// Whether x is outside of the range of the host's formula.  Devices have none that is limited.
template <class Op, class T> MINNOW_HD bool is_beyond(T x) {
#ifndef __CUDA_ARCH__
  if constexpr (requires { Op::kReach; }) return !(math::abs(x) <= static_cast<T>(Op::kReach));
#endif
  static_cast<void>(x);
  return false;
}

}  // namespace detail

/// Value or Slope of a functor at x.
template <class Form, class Op, class T> MINNOW_HD auto apply(T x, T p0, T p1) {
#ifndef __CUDA_ARCH__
  if constexpr (requires { Op::kReach; } && (std::is_same_v<Form, Value> || Op::kSaves == Saves::kInput)) {
    if (detail::is_beyond<Op>(x)) {
      const math::Far far{static_cast<double>(x)};
      return static_cast<T>(Form::template of<Op>(far, far, far).value);
    }
  }
#endif
  return Form::template of<Op>(x, p0, p1);
}
/// The gradient by a slope: 0 where the slope is 0, also of infinity and NaN, as what comes to relu in sqrt(relu(x)).
template <class T> MINNOW_HD T by_slope(T grad, T slope) {
  const T product = grad * slope;
  return slope == T(0) ? T(0) : product;
}
/// Whether apply() would compute one of n numbers otherwise than Form::of.
template <class Op, class T> MINNOW_HD bool any_beyond(const T* x, std::int64_t n) {
  int beyond = 0;
  for (std::int64_t i = 0; i < n; ++i) beyond |= detail::is_beyond<Op>(x[i]) ? 1 : 0;
  return beyond != 0;
}

}  // namespace minnow::detail::kernels
