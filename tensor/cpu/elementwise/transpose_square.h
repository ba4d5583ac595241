#pragma once

#include <utility>
#include <minnow/tensor/kernels/hd.h>

namespace minnow::cpu {

/// a0 b0 a1 b1 ... from the lower (Half = 0) or upper halves.
template <int Half, class V, int... I> MINNOW_HD V interleave(V a, V b, std::integer_sequence<int, I...>) {
  constexpr int kLanes = sizeof...(I);
  return __builtin_shufflevector(a, b, (Half * kLanes / 2 + I / 2 + I % 2 * kLanes)...);
}

/// Transposes a square of N vectors of N elements by log2(N) perfect shuffles.
template <int N, class V> MINNOW_HD void transpose_square(V* v) {
  constexpr auto kAll = std::make_integer_sequence<int, N>();
  V next[N];
#pragma GCC unroll 4
  for (int round = 1; round < N; round *= 2) {
#pragma GCC unroll 8
    for (int i = 0; i < N / 2; ++i) {
      next[2 * i] = interleave<0>(v[i], v[i + N / 2], kAll);
      next[2 * i + 1] = interleave<1>(v[i], v[i + N / 2], kAll);
    }
#pragma GCC unroll 16
    for (int i = 0; i < N; ++i) v[i] = next[i];
  }
}

}  // namespace minnow::cpu
