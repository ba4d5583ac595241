#pragma once

#include <minnow/tensor/in.h>

/// Choosing elements by a mask or by their places.
namespace minnow {

/// The places of the elements that are not zero, in row-major order.   x: any shape  ->  int64 [n, x.dim()].  Waits for
/// the device.  Gradient: none.
[[nodiscard]] Tensor nonzero(const In& x);
/// x where the mask is false, value where it is true.   mask: bool, broadcast with x.  The gradient goes where each
/// element came from.
[[nodiscard]] Tensor masked_fill(const In& x, const In& mask, Scalar value);
[[nodiscard]] Tensor masked_fill(const In& x, const In& mask, const In& value);
Tensor masked_fill_(const In& x, const In& mask, Scalar value);
/// The elements where the mask is true, one-dimensional.   mask: bool, broadcast with x.  Waits for the device.
[[nodiscard]] Tensor masked_select(const In& x, const In& mask);
/// x on and below the diagonal of its last two dimensions, 0 above; diagonal 1 is the one above the main one.
[[nodiscard]] Tensor tril(const In& x, std::int64_t diagonal = 0);
/// x on and above the diagonal, 0 below.
[[nodiscard]] Tensor triu(const In& x, std::int64_t diagonal = 0);

}  // namespace minnow
