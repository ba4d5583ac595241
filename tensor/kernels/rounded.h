#pragma once

#include <minnow/tensor/kernels/hd.h>

namespace minnow::detail::kernels {

/// A float or double whose sums, products and quotients are rounded one by one, so that every device gives the same
/// bits. A GPU's compiler would join a product and a sum; for the host the library is compiled with -ffp-contract=off.
template <class T> struct Rounded {
  T value;

  MINNOW_HD friend Rounded operator+(Rounded a, Rounded b) {
#ifdef __CUDA_ARCH__
    if constexpr (sizeof(T) == sizeof(float)) return {__fadd_rn(a.value, b.value)};
    else return {__dadd_rn(a.value, b.value)};
#else
    return {a.value + b.value};
#endif
  }
  MINNOW_HD friend Rounded operator-(Rounded a, Rounded b) { return a + Rounded{-b.value}; }
  MINNOW_HD friend Rounded operator*(Rounded a, Rounded b) {
#ifdef __CUDA_ARCH__
    if constexpr (sizeof(T) == sizeof(float)) return {__fmul_rn(a.value, b.value)};
    else return {__dmul_rn(a.value, b.value)};
#else
    return {a.value * b.value};
#endif
  }
  MINNOW_HD friend Rounded operator/(Rounded a, Rounded b) {
#ifdef __CUDA_ARCH__
    if constexpr (sizeof(T) == sizeof(float)) return {__fdiv_rn(a.value, b.value)};
    else return {__ddiv_rn(a.value, b.value)};
#else
    return {a.value / b.value};
#endif
  }
};

MINNOW_HD Rounded<float> sqrt(Rounded<float> x) {
#ifdef __CUDA_ARCH__
  return {__fsqrt_rn(x.value)};
#else
  return {__builtin_sqrtf(x.value)};
#endif
}
MINNOW_HD Rounded<double> sqrt(Rounded<double> x) {
#ifdef __CUDA_ARCH__
  return {__dsqrt_rn(x.value)};
#else
  return {__builtin_sqrt(x.value)};
#endif
}

/// a b + c, rounded after each step.
template <class T> MINNOW_HD T mul_add(T a, T b, T c) { return (Rounded<T>{a} * Rounded<T>{b} + Rounded<T>{c}).value; }

}  // namespace minnow::detail::kernels
