#pragma once

#include <cstdint>
#include <minnow/tensor/dtype.h>

namespace minnow::detail::kernels {

/// The types that functors compute in; elements of other dtypes convert at load and store.
enum class Compute : std::uint8_t { kFloat, kDouble, kInt64 };
inline constexpr int kComputes = 3;

/// What elements of a dtype are computed in.
constexpr Compute compute_of(DType dtype) {
  if (dtype == DType::float64) return Compute::kDouble;
  return is_floating_point(dtype) ? Compute::kFloat : Compute::kInt64;
}
/// The dtype that is the compute type itself.
constexpr DType dtype_of(Compute compute) {
  constexpr DType kTypes[kComputes] = {DType::float32, DType::float64, DType::int64};
  return kTypes[static_cast<int>(compute)];
}
/// The dtype that elements of a dtype are computed in.
constexpr DType compute_type(DType dtype) { return dtype_of(compute_of(dtype)); }

}  // namespace minnow::detail::kernels
