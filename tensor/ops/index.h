#pragma once

#include <span>
#include <minnow/tensor/in.h>

namespace minnow::raw {

/// out[i][j] = x[index[i][j]][j] for dim 0, and so on.  index: int64, x's rank, no larger than x in other
/// dimensions.
Tensor gather(In x, int dim, In index);
/// A copy of x with source added where index says (the inverse direction of gather).
Tensor scatter_add(In x, int dim, In index, In source);
/// The slices of x along dim that index (int64 [n]) names.
Tensor index_select(In x, int dim, In index);
/// A copy of x with the slices of source added to the slices that index names.
Tensor index_add(In x, int dim, In index, In source);
/// int64 [...] -> int64 [..., classes], 1 at each element's place.  classes = -1: the largest element + 1.
Tensor one_hot(In index, std::int64_t classes);
/// Joins along an existing dimension.
Tensor cat(std::span<const Tensor> tensors, int dim, SourceLocation where);

}  // namespace minnow::raw
