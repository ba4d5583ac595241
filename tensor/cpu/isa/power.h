#pragma once

#include <minnow/tensor/cpu/isa/variant.h>

namespace minnow::cpu::MINNOW_ISA {
namespace {

/// x^y; libm's is faster than short vectors.
template <class T> MINNOW_HD T power_of(T x, T y) {
  if constexpr (kVectorBytes > 16) return kernels::math::host::pow(x, y);
  else return kernels::math::pow(x, y);
}

/// x^(1/2), where a negative zero or infinity counts as positive.
template <class T> MINNOW_HD T positive_root(T x) {
  const T root = kernels::math::sqrt(x + T(0));
  return x == -kernels::math::kInfinity<T> ? kernels::math::kInfinity<T> : root;
}

/// Calls run(f) with f(x) = x^p, a product, quotient or root where there is one: chosen once for all elements.
template <class T, class Run> void with_power(T p, const Run& run) {
  if (p == T(0)) run([](T) { return T(1); });
  else if (p == T(1)) run([](T x) { return x; });
  else if (p == T(2)) run([](T x) { return x * x; });
  else if (p == T(3)) run([](T x) { return x * x * x; });
  else if (p == T(-1)) run([](T x) { return T(1) / x; });
  else if (p == T(-2)) run([](T x) { return (T(1) / x) * (T(1) / x); });
  else if (p == T(0.5)) run([](T x) { return positive_root(x); });
  else if (p == T(-0.5)) run([](T x) { return T(1) / positive_root(x); });
  else run([p](T x) __attribute__((always_inline)) { return power_of(x, p); });
}

}  // namespace
}  // namespace minnow::cpu::MINNOW_ISA
