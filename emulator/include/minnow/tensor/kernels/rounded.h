#pragma once

#include <minnow/tensor/kernels/hd.h>

namespace minnow::detail::kernels {

/// Replaces the backend's header of this name, as the compiler here joins products and sums of kernels too: what it
/// cannot see into is rounded one by one.
template <class T> inline T rounded(T x) {
  asm("" : "+x"(x));
  return x;
}

template <class T> struct Rounded {
  T value;

  friend Rounded operator+(Rounded a, Rounded b) { return {rounded(a.value + b.value)}; }
  friend Rounded operator-(Rounded a, Rounded b) { return {rounded(a.value - b.value)}; }
  friend Rounded operator*(Rounded a, Rounded b) { return {rounded(a.value * b.value)}; }
  friend Rounded operator/(Rounded a, Rounded b) { return {rounded(a.value / b.value)}; }
};

inline Rounded<float> sqrt(Rounded<float> x) { return {__builtin_sqrtf(x.value)}; }
inline Rounded<double> sqrt(Rounded<double> x) { return {__builtin_sqrt(x.value)}; }

/// a b + c, rounded after each step.
template <class T> T mul_add(T a, T b, T c) { return (Rounded<T>{a} * Rounded<T>{b} + Rounded<T>{c}).value; }

}  // namespace minnow::detail::kernels
