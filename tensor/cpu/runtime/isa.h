#pragma once

#include <minnow/tensor/cpu/isa/kernels.h>

namespace minnow::cpu {

/// Instruction sets that the loops are compiled for.  Every processor of the architecture has the baseline.
enum class Isa : std::uint8_t { kBaseline, kAvx2, kAvx512 };
inline constexpr int kIsas = 3;

/// Whether this build has its loops, and the processor and the operating system support it.
bool isa_supported(Isa isa);
/// The current loops: those of the best instruction set of this machine, unless use_isa() chose others.
/// BackendError if there are none for this processor.
const Kernels& loops();
/// Chooses the loops of later operations, for tests.  Returns false, without effect, if it is not supported.
bool use_isa(Isa isa);
Isa current_isa();
/// The argument for the current instruction set.
template <class Loops> const Loops& current_of(const Loops& baseline, const Loops& avx2, const Loops& avx512) {
  const Isa isa = current_isa();
  return isa == Isa::kAvx512 ? avx512 : isa == Isa::kAvx2 ? avx2 : baseline;
}

}  // namespace minnow::cpu
