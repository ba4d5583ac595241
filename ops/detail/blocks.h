#pragma once

#include <minnow/tensor/backend/call_parameters.h>
#include <minnow/tensor/in.h>
#include <minnow/tensor/internal.h>

// Frozen matrices of few bits, in blocks of 32 numbers (BlockFormat).
namespace minnow::detail {

/// The numbers of rows [first, first + rows).   blocks: uint8 [O, bytes of a row]  ->  float32 [rows, I]
Tensor dequantized(const Tensor& blocks, BlockFormat format, std::int64_t first, std::int64_t rows);

/// y = x Wᵀ, or x W if `transposed`, with products in float32.  A few rows of x read the blocks once; for more they are
/// dequantized part by part.   x: float32 [..., I] (transposed: O)  ->  [..., O] (transposed: I).  Gradients of any
/// order for x.   ShapeError, DTypeError.
Tensor block_product(const In& x, const Tensor& blocks, BlockFormat format, bool transposed = false);

}  // namespace minnow::detail
