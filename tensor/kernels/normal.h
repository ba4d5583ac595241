#pragma once

#include <cstdint>
#include <minnow/tensor/kernels/rounded.h>

// Normally distributed numbers, with the same bits on every device: the functions of a mathematics library differ in
// their last bits from device to device and from one version to the next, so these are series of rounded sums and
// products.
namespace minnow::detail::kernels {

/// The sum of coefficient(k) x^k for k from 0 to `last`.
template <auto coefficient, int last, int k = 0, class T> MINNOW_HD Rounded<T> series(Rounded<T> x) {
  constexpr T c = static_cast<T>(coefficient(k));
  if constexpr (k == last) return {c};
  else return Rounded<T>{c} + x * series<coefficient, last, k + 1>(x);
}

// Coefficients of x^k: log((1 + s) / (1 - s)) = s (2 + 2 s^2 / 3 + 2 s^4 / 5 + ...), and of sin and cos.
constexpr double factorial(int n) { return n < 2 ? 1 : n * factorial(n - 1); }
constexpr double log_coefficient(int k) { return 2.0 / (2 * k + 1); }
constexpr double sin_coefficient(int k) { return 1 / factorial(2 * k + 1); }
constexpr double cos_coefficient(int k) { return 1 / factorial(2 * k); }

/// Bits of a float or double, and how many terms of a series it needs.
template <class T> struct NormalTraits;
template <> struct NormalTraits<float> {
  using Bits = std::uint32_t;
  using Exponent = std::int32_t;
  static constexpr Bits kRootHalf = 0x3f3504f3u;
  static constexpr int kFraction = 23, kLog = 4, kSin = 4, kCos = 5;
};
template <> struct NormalTraits<double> {
  using Bits = std::uint64_t;
  using Exponent = std::int64_t;
  static constexpr Bits kRootHalf = 0x3fe6a09e667f3bcdu;
  static constexpr int kFraction = 52, kLog = 11, kSin = 8, kCos = 9;
};

/// The natural logarithm of a positive normal number: x = 2^e m with m in [sqrt(1/2), sqrt(2)), and with
/// s = (m - 1) / (m + 1), log x = e log 2 + log((1 + s) / (1 - s)).
template <class T> MINNOW_HD Rounded<T> rounded_log(T x) {
  using Traits = NormalTraits<T>;
  using Bits = typename Traits::Bits;
  constexpr Bits kFractionBits = (Bits{1} << Traits::kFraction) - 1;
  const Bits i = __builtin_bit_cast(Bits, x) - Traits::kRootHalf;
  const auto e = static_cast<std::int32_t>(static_cast<typename Traits::Exponent>(i) >> Traits::kFraction);
  const Rounded<T> m{__builtin_bit_cast(T, (i & kFractionBits) + Traits::kRootHalf)}, one{T(1)};
  const Rounded<T> s = (m - one) / (m + one);
  return Rounded<T>{static_cast<T>(e)} * Rounded<T>{T(0.693147180559945309)} +
         s * series<log_coefficient, Traits::kLog>(s * s);
}

template <class T> struct Pair { T first, second; };

/// cos and sin of 2 pi v for v in [0, 1): of the angle to the nearest quarter turn, by Taylor's series.
template <class T> MINNOW_HD Pair<Rounded<T>> rounded_cos_sin_turn(T v) {
  const T quarters = 4 * v;
  const auto nearest = static_cast<std::int32_t>(quarters + T(0.5));
  const Rounded<T> angle = Rounded<T>{quarters - static_cast<T>(nearest)} * Rounded<T>{T(1.57079632679489662)};
  const Rounded<T> minus_square = angle * Rounded<T>{-angle.value};
  const T sin = (angle * series<sin_coefficient, NormalTraits<T>::kSin>(minus_square)).value;
  const T cos = series<cos_coefficient, NormalTraits<T>::kCos>(minus_square).value;
  const T along = (nearest & 1) != 0 ? sin : cos;
  const T across = (nearest & 1) != 0 ? cos : sin;
  return {{((nearest + 1) & 2) != 0 ? -along : along}, {(nearest & 2) != 0 ? -across : across}};
}

/// Two independent normal numbers from two uniform ones in [0, 1), multiples of 2^-24 (float) or 2^-53 (Box and Muller
/// 1958).
template <class T> MINNOW_HD Pair<T> box_muller(T u, T v) {
  const Rounded<T> radius = sqrt(Rounded<T>{T(-2)} * rounded_log(1 - u));
  const Pair<Rounded<T>> direction = rounded_cos_sin_turn(v);
  return {(radius * direction.first).value, (radius * direction.second).value};
}

}  // namespace minnow::detail::kernels
