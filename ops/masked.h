#pragma once

#include <minnow/tensor/in.h>

// Selecting elements by a mask, or by their position.
namespace minnow {

/// The indices of the elements that are not zero, in row-major order.   x: any shape  ->  int64 [n, x.dim()].  The host
/// waits for the device.  No gradient.
[[nodiscard]] Tensor nonzero(const In& x);
/// x where the mask is false, value where it is true.   mask: bool, broadcast with x; else DTypeError.  Gradients for x
/// and for a tensor `value`.
[[nodiscard]] Tensor masked_fill(const In& x, const In& mask, const TensorLike& value);
Tensor masked_fill_(const In& x, const In& mask, const TensorLike& value);
/// The elements where the mask is true, one-dimensional.   mask: bool, broadcast with x.  The host waits
/// for the device.
[[nodiscard]] Tensor masked_select(const In& x, const In& mask);
/// x on and below the diagonal of its last two dimensions, 0 above; diagonal 1 is the one above the
/// main diagonal.  ShapeError below two dimensions.
[[nodiscard]] Tensor tril(const In& x, std::int64_t diagonal = 0);
/// x on and above the diagonal, 0 below.
[[nodiscard]] Tensor triu(const In& x, std::int64_t diagonal = 0);

}  // namespace minnow
