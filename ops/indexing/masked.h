#pragma once

#include <cstdint>
#include <optional>
#include <minnow/tensor/in.h>

// Selecting and writing elements by a mask, or by their position.  Indices are int64, from 0 on; IndexError for one out
// of range.
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
/// x on and above the diagonal of its last two dimensions, 0 below; as tril().
[[nodiscard]] Tensor triu(const In& x, std::int64_t diagonal = 0);

/// gather(x, dim, index), but x and index are broadcast in the other dimensions; without dim, elements of x.flatten().
/// ShapeError unless x and index have one number of dimensions.
[[nodiscard]] Tensor take_along_dim(const In& x, const In& index, std::optional<int> dim = {});
/// A copy of x with `value` in the slices along dim at the indices of index [n], which count from the end if negative.
/// value: a number, or a 0-dim tensor.  Gradients for x and for a tensor `value`.
[[nodiscard]] Tensor index_fill(const In& x, int dim, const In& index, const TensorLike& value);
Tensor index_fill_(const In& x, int dim, const In& index, const TensorLike& value);
/// A copy of x with the elements of source, in their order, where the mask is true.   mask: bool, broadcast with x
/// source: x's dtype; IndexError if it has fewer elements than there are true ones.
[[nodiscard]] Tensor masked_scatter(const In& x, const In& mask, const In& source);
Tensor masked_scatter_(const In& x, const In& mask, const In& source);

}  // namespace minnow
