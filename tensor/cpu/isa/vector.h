#pragma once

#include <cstring>
#include <minnow/tensor/cpu/isa/variant.h>
#include <minnow/tensor/cpu/transpose_square.h>

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

}  // namespace
}  // namespace minnow::cpu::MINNOW_ISA
