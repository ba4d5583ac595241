#pragma once

#include <minnow/tensor/cpu/isa/kernels.h>
#include <minnow/tensor/internal.h>

// Every file of this folder is compiled once for each instruction set, in the namespace MINNOW_ISA.  The linker would
// merge functions that are neither in that namespace nor always inlined, across instruction sets.  So loops are in
// unnamed namespaces, and nothing of the standard library is instantiated here.
//
// The baseline fills the whole table; the others replace the float32 loops, which gain from wider vectors.

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

/// Installs the loops of a family in the table.
template <class Family> void install_loops(Kernels& k);

using kernels::parameter;
using kernels::takes;

}  // namespace MINNOW_ISA
}  // namespace minnow::cpu
