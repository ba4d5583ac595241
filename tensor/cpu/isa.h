#pragma once

#include <minnow/tensor/cpu/isa/kernels.h>
#include <minnow/tensor/dtype.h>

namespace minnow::cpu {

/// Instruction sets that the loops are compiled for.  Every processor of the architecture has the baseline.
enum class Isa : std::uint8_t { kBaseline, kAvx2, kAvx512 };
inline constexpr int kIsas = 3;

/// Whether the processor and the operating system support it.
bool isa_supported(Isa isa);
/// The current loops: those of the best instruction set of this machine, unless use_isa() chose others.
const Kernels& loops();
/// Chooses the loops of later operations, for tests.  Returns false, without effect, if it is not supported.
bool use_isa(Isa isa);
Isa current_isa();

/// The type that elements of a dtype are computed in.
constexpr Compute compute_of(DType dtype) {
  if (dtype == DType::float64) return Compute::kDouble;
  return is_floating_point(dtype) ? Compute::kFloat : Compute::kInt64;
}
/// The dtype of a compute type.
constexpr DType dtype_of(Compute compute) {
  constexpr DType kTypes[kComputes] = {DType::float32, DType::float64, DType::int64};
  return kTypes[static_cast<int>(compute)];
}

}  // namespace minnow::cpu
