#pragma once

#include <minnow/tensor/cpu/isa/kernels.h>
#include <minnow/tensor/dtype.h>

namespace minnow::cpu {

/// Instruction sets that the loops are compiled for.  Baseline is what every processor of the architecture
/// has.
enum class Isa : std::uint8_t { kBaseline, kAvx2, kAvx512 };
inline constexpr int kIsas = 3;

/// Whether processor and operating system can run it.
bool isa_supported(Isa isa);
/// The loops in use: those of the best instruction set of this machine, unless use_isa chose others.
const Kernels& loops();
/// Chooses the loops of later operations (for tests).  False, without effect, where it is not supported.
bool use_isa(Isa isa);
Isa current_isa();

/// What elements of a dtype are computed in.
constexpr Compute compute_of(DType dtype) {
  if (dtype == DType::float64) return Compute::kDouble;
  return is_floating(dtype) ? Compute::kFloat : Compute::kInt64;
}
/// The dtype that is the compute type itself.
constexpr DType dtype_of(Compute compute) {
  constexpr DType kTypes[kComputes] = {DType::float32, DType::float64, DType::int64};
  return kTypes[static_cast<int>(compute)];
}

}  // namespace minnow::cpu
