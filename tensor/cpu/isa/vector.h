#pragma once

#include <cstring>
#include <utility>
#include <minnow/tensor/cpu/isa/variant.h>

// Vectors of float32 with the width of the instruction set, for loops that the compiler does not vectorize.

namespace minnow::cpu::MINNOW_ISA {
namespace {

inline constexpr int kLanes32 = kVectorBytes / 4;
typedef float Vector __attribute__((vector_size(kVectorBytes)));

MINNOW_HD Vector load(const float* from) {
  Vector v;
  std::memcpy(&v, from, sizeof v);
  return v;
}
MINNOW_HD void store(Vector v, float* to) { std::memcpy(to, &v, sizeof v); }

/// a0 b0 a1 b1 ... from the lower (Half = 0) or upper halves.
template <int Half, int... I> MINNOW_HD Vector interleave(Vector a, Vector b, std::integer_sequence<int, I...>) {
  constexpr int kFrom = Half * kLanes32 / 2;
  return __builtin_shufflevector(a, b, (kFrom + I / 2 + I % 2 * kLanes32)...);
}

/// Transposes a square of kLanes32 vectors by log2(kLanes32) perfect shuffles.
MINNOW_HD void transpose_square(Vector* v) {
  constexpr auto kAll = std::make_integer_sequence<int, kLanes32>();
  Vector next[kLanes32];
#pragma GCC unroll 4
  for (int round = 1; round < kLanes32; round *= 2) {
#pragma GCC unroll 8
    for (int i = 0; i < kLanes32 / 2; ++i) {
      next[2 * i] = interleave<0>(v[i], v[i + kLanes32 / 2], kAll);
      next[2 * i + 1] = interleave<1>(v[i], v[i + kLanes32 / 2], kAll);
    }
#pragma GCC unroll 16
    for (int i = 0; i < kLanes32; ++i) v[i] = next[i];
  }
}

}  // namespace
}  // namespace minnow::cpu::MINNOW_ISA
