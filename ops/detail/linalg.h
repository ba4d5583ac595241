#pragma once

#include <cstdint>
#include <minnow/tensor/backend/dispatch.h>
#include <minnow/tensor/internal.h>

namespace minnow::linalg {

/// ShapeError unless the first operand is [..., M, N], or [..., N, N] if `square`; DTypeError unless all have one
/// dtype, float32 or float64.
void check(Operands operands, bool square);
/// The sizes before the last two that matrices [..., N, N] and [..., N, K] (or vectors [..., N]) are broadcast to.
/// ShapeError unless they fit.
Shape common_batch(Operands operands, bool vector);

inline std::int64_t rows(const Tensor& a) { return a.shape()[-2]; }
inline std::int64_t columns(const Tensor& a) { return a.shape()[-1]; }

}  // namespace minnow::linalg
