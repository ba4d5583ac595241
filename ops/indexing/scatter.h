#pragma once

#include <cstdint>
#include <optional>
#include <minnow/tensor/in.h>

// Writing and combining elements at indices along a dimension.  x, index and source have one number of dimensions;
// index (int64 or int32, from 0 on) is no larger than source, and except in dim no larger than x.  Where several
// sources go to one element, they come in their order.  IndexError for an index out of range, ShapeError for sizes that
// do not match, DTypeError for another dtype of index, or of source than x's.
namespace minnow {

/// What is made of the sources of an element.
enum class Scatter : std::uint8_t { sum, prod, mean, amax, amin, add = sum, multiply = prod };
/// A copy y of x with y[index[i][j]][j] = source[i][j] for dim 0, and so on.   source: a tensor, or a number.  Of
/// several sources the last one is written, and gets the gradient.  With reduce as scatter_reduce.
[[nodiscard]] Tensor scatter(const In& x, int dim, const In& index, const TensorLike& source,
                             std::optional<Scatter> reduce = {});
Tensor scatter_(const In& x, int dim, const In& index, const TensorLike& source, std::optional<Scatter> reduce = {});
/// scatter_add() in place.
Tensor scatter_add_(const In& x, int dim, const In& index, const In& source);

/// A copy of x in which the elements that index means are the sum (product, mean, ...) of their sources, and of their
/// own value if include_self.  Means of integers round down.  Equal largest elements share the gradient.
[[nodiscard]] Tensor scatter_reduce(const In& x, int dim, const In& index, const In& source, Scatter reduce,
                                    bool include_self = true);
Tensor scatter_reduce_(const In& x, int dim, const In& index, const In& source, Scatter reduce,
                       bool include_self = true);

/// A copy of x with the slices of source in the places of index [n] along dim.   source: the shape of x, n along dim.
/// Of several sources the last one is written, and gets the gradient.
[[nodiscard]] Tensor index_copy(const In& x, int dim, const In& index, const In& source);
Tensor index_copy_(const In& x, int dim, const In& index, const In& source);
/// index_add() in place.
Tensor index_add_(const In& x, int dim, const In& index, const In& source);

}  // namespace minnow
