#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <minnow/tensor/in.h>
#include <minnow/tensor/internal.h>

namespace minnow::detail::raw {

// A 0-dim tensor counts as one of a single element, as in PyTorch.

/// out[i][j] = x[index[i][j]][j] for dim 0, and so on.  index: int64, x's rank, no larger than x in other
/// dimensions.
Tensor gather(const In& x, int dim, const In& index);
/// A copy of x with source added where index says (the inverse direction of gather).
Tensor scatter_add(const In& x, int dim, const In& index, const In& source);
/// The slices of x along dim that index (int64 [n]) names.
Tensor index_select(const In& x, int dim, const In& index);
/// A copy of x with the slices of source added to the slices that index names.
Tensor index_add(const In& x, int dim, const In& index, const In& source);
/// The gradient of index_select with respect to an x of `shape`.
Tensor index_select_backward(const In& grad, int dim, const In& index, const Shape& shape);
/// int64 [...] -> int64 [..., classes], 1 at each element's place.  classes = -1: the largest element + 1.
Tensor one_hot(const In& index, std::int64_t classes);
/// An element of an index that names nothing, and where it stands: "[3, 1]".
struct Stray {
  std::int64_t value;
  std::string place;  ///< empty in a 0-dim tensor

  /// "7 at [3, 1]".
  std::string str() const { return std::to_string(value) + (place.empty() ? "" : " at " + place); }
};
/// The first element of an int64 tensor of any device that is not in [0, limit), nor `except`: for messages.
std::optional<Stray> find_stray(const In& index, std::int64_t limit, std::optional<std::int64_t> except = {});
/// Whether cat passes over a tensor whatever the others' shapes are: one of shape [0], as in PyTorch.
bool is_nothing(const Tensor& t);
/// Joins along an existing dimension.
Tensor cat(std::span<const Tensor> tensors, int dim);

}  // namespace minnow::detail::raw
