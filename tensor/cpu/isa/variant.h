#pragma once

#include <minnow/tensor/cpu/isa/kernels.h>

// Every file of this folder is compiled once for each instruction set, with MINNOW_ISA naming its namespace.
// What is neither in that namespace nor always inlined would be merged by the linker across instruction sets,
// so loops are in unnamed namespaces and nothing of the standard library is instantiated here.
//
// The baseline fills the whole table; the others replace what gains from wider vectors: the float32 loops.

namespace minnow::cpu {

namespace baseline {
inline constexpr bool kWhole = true;
inline constexpr int kVectorBytes = 16;
}  // namespace baseline
namespace avx2 {
inline constexpr bool kWhole = false;
inline constexpr int kVectorBytes = 32;
}  // namespace avx2
namespace avx512 {
inline constexpr bool kWhole = false;
inline constexpr int kVectorBytes = 64;
}  // namespace avx512

namespace MINNOW_ISA {

void install_unary(Kernels& k);
void install_slope(Kernels& k);
void install_binary(Kernels& k);
void install_reduce(Kernels& k);
void install_softmax(Kernels& k);
void install_convert(Kernels& k);
void install_pool(Kernels& k);
void install_update(Kernels& k);
void install_random(Kernels& k);
void install_gemm(Kernels& k);
void install_transpose(Kernels& k);

namespace {

/// A parameter as the compute type; integers saturate.
template <class T> MINNOW_HD T parameter(double p) {
  if constexpr (std::is_integral_v<T>) {
    if (!(p > -0x1p63)) return std::numeric_limits<T>::min();
    return p < 0x1p63 ? static_cast<T>(p) : std::numeric_limits<T>::max();
  } else {
    return static_cast<T>(p);
  }
}

/// Whether an operation of this kind has a form for T.
template <class T> constexpr bool takes(kernels::Kind kind) {
  if (std::is_integral_v<T>) return kind != kernels::Kind::kFloating;
  return kind != kernels::Kind::kIntegral;
}

}  // namespace
}  // namespace MINNOW_ISA
}  // namespace minnow::cpu
