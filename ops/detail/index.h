#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <minnow/tensor/backend/call_parameters.h>
#include <minnow/tensor/in.h>
#include <minnow/tensor/internal.h>
#include <minnow/tensor/raw/copy.h>

namespace minnow::detail {

/// The part of source that index has a place for, as a view; source itself if it is too small.
Tensor cropped(const Tensor& source, const Tensor& index);
/// index in int64, if it is int32.
inline Tensor wide_index(const Tensor& index) {
  return index.defined() && index.dtype() == DType::int32 ? raw::cast(index, DType::int64) : index;
}
/// scatter_reduce by ScatterOp::max or min.  include_self: whether x has a share in the gradient of an element that
/// something is written to; if not, x is -infinity or infinity there.
Tensor scatter_extremes(const Tensor& x, int dim, const Tensor& index, const Tensor& source, ScatterOp op,
                        bool include_self);

}  // namespace minnow::detail

namespace minnow::detail::raw {

// A 0-dim tensor counts as one of a single element, as in PyTorch.

/// out[i][j] = x[index[i][j]][j] for dim 0, and so on.  index: int64, x's rank, no larger than x in other
/// dimensions.
Tensor gather(const In& x, int dim, const In& index);
/// A copy y of x with y[index[i][j]][j] += source[i][j] for dim 0, and so on, or another `op` than adding.
Tensor scatter_add(const In& x, int dim, const In& index, const In& source, ScatterOp op = ScatterOp::add);
/// The same in x itself.
void scatter_add_(const In& x, int dim, const In& index, const In& source, ScatterOp op = ScatterOp::add);
/// The slices of x along dim at the indices of index (int64 [n]).
Tensor index_select(const In& x, int dim, const In& index);
/// A copy of x with the slices of source added to those at the indices of index, or combined with them by another `op`.
Tensor index_add(const In& x, int dim, const In& index, const In& source, ScatterOp op = ScatterOp::add);
/// The same in x itself.
void index_add_(const In& x, int dim, const In& index, const In& source, ScatterOp op = ScatterOp::add);
/// int64 [...] -> int64 [..., classes], 1 at the class that an element is.  classes = -1: the largest element + 1.
Tensor one_hot(const In& index, std::int64_t classes);
/// An element of an index tensor that is out of range, and its position: "[3, 1]".
struct InvalidIndex {
  std::int64_t value;
  std::string position;  ///< empty for a 0-dim tensor

  /// "7 at [3, 1]".
  std::string str() const { return std::to_string(value) + (position.empty() ? "" : " at " + position); }
};
/// The first element of an int64 tensor on any device that is neither in [0, limit) nor `except`, for messages.
std::optional<InvalidIndex> find_invalid_index(const In& index, std::int64_t limit,
                                               std::optional<std::int64_t> except = {});
/// Whether cat skips a tensor: one of shape [0], as in PyTorch.
bool is_skipped_by_cat(const Tensor& t);
/// Joins along an existing dimension.
Tensor cat(std::span<const Tensor> tensors, int dim);

}  // namespace minnow::detail::raw
