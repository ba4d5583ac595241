#pragma once

#include <minnow/tensor/cpu/isa/kernels.h>
#include <minnow/tensor/internal.h>

// Every file of this folder is compiled once for each instruction set, in the namespace MINNOW_ISA.  The linker would
// merge functions that are neither in that namespace nor always inlined, across instruction sets.  So loops are in
// unnamed namespaces, and nothing of the standard library is instantiated here.
//
// A file may hold a whole operation: the loops, a constant table of them (MINNOW_ISA_TABLE), and under MINNOW_ISA_ONCE
// what is compiled for the lowest instruction set alone and takes the current table by MINNOW_ISA_LOOPS.  Loops that
// several operations use are in the table of kernels.h.
//
// The baseline and AVX2 fill the whole table; AVX-512 replaces the float32 loops, which gain most from wider vectors.

/// Declares a table of loops of each instruction set; each file's variant defines its own in MINNOW_ISA.
#define MINNOW_ISA_TABLE(type, name) \
  namespace minnow::cpu {            \
  namespace baseline {               \
  extern const type name;            \
  }                                  \
  namespace avx2 {                   \
  extern const type name;            \
  }                                  \
  namespace avx512 {                 \
  extern const type name;            \
  }                                  \
  }
/// The table of the current instruction set (isa.h).
#if MINNOW_ISA_BASELINE && MINNOW_ISA_AVX512
#define MINNOW_ISA_LOOPS(name) ::minnow::cpu::current_of(baseline::name, avx2::name, avx512::name)
#elif MINNOW_ISA_AVX512
#define MINNOW_ISA_LOOPS(name) ::minnow::cpu::current_of(avx2::name, avx2::name, avx512::name)
#elif MINNOW_ISA_AVX2
#define MINNOW_ISA_LOOPS(name) ::minnow::cpu::current_of(avx2::name, avx2::name, avx2::name)
#else
#define MINNOW_ISA_LOOPS(name) baseline::name
#endif

namespace minnow::cpu {

// kWhole: with the loops of all types.  kHalves: with loops over halves as they are, which convert vectors of them.
// kRegisters: of vectors, which tiles of products fill.
namespace baseline {
#ifdef __aarch64__  // NEON, which every such processor has, converts halves too
inline constexpr bool kWhole = true, kHalves = true;
inline constexpr int kVectorBytes = 16, kRegisters = 32;
#else
inline constexpr bool kWhole = true, kHalves = false;
inline constexpr int kVectorBytes = 16, kRegisters = 16;
#endif
}  // namespace baseline
namespace avx2 {
inline constexpr bool kWhole = true, kHalves = true;
inline constexpr int kVectorBytes = 32, kRegisters = 16;
}  // namespace avx2
namespace avx512 {
inline constexpr bool kWhole = false, kHalves = true;
inline constexpr int kVectorBytes = 64, kRegisters = 32;
}  // namespace avx512

namespace MINNOW_ISA {

/// Installs the loops of a family in the table.
template <class Family> void install_loops(Kernels& k);

using kernels::parameter;
using kernels::takes;

/// Integers are computed in int64; what is not needed of it the compiler leaves out.
template <class T> using Wide = std::conditional_t<std::is_integral_v<T>, std::int64_t, T>;
/// The elements of a result of Wide<T>: of T, or bool.
template <class W, class T> using ResultOf = std::conditional_t<std::is_same_v<W, bool>, bool, T>;

template <class Op, class... Ops> constexpr bool kIsOneOf = (std::is_same_v<Op, Ops> || ...);

}  // namespace MINNOW_ISA
}  // namespace minnow::cpu
