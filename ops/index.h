#pragma once

#include <initializer_list>
#include <optional>
#include <span>
#include <vector>
#include <minnow/tensor/in.h>

/// Selecting and joining.  Indices are int64; out of range: IndexError, which tells the first such index and its place.
/// A 0-dim x or index counts as one of a single element, as in PyTorch.
namespace minnow {

/// out[i][j] = x[index[i][j]][j] for dim 0, and so on; the gradient is scatter_add.
[[nodiscard]] Tensor gather(const In& x, int dim, const In& index);
/// A copy of x with source added where index says; the inverse direction of gather.
[[nodiscard]] Tensor scatter_add(const In& x, int dim, const In& index, const In& source);
/// The slices of x along dim that index [n] names.
[[nodiscard]] Tensor index_select(const In& x, int dim, const In& index);
/// A copy of x with the slices of source added to those that index [n] names.
[[nodiscard]] Tensor index_add(const In& x, int dim, const In& index, const In& source);
/// The rows of weight that index names, as torch.nn.functional.embedding.   index: int64 or int32 [...]  weight: [n, d]
/// ->  [..., d].  The row `padding_idx` (negative: from the end) gets no gradient.  ShapeError unless weight is a matrix,
/// IndexError for a padding_idx out of range.
[[nodiscard]] Tensor embedding(const In& index, const In& weight, std::optional<std::int64_t> padding_idx = {});
/// [...] -> [..., classes], 1 at each element's place.  classes = -1: the largest element + 1.  No gradient.
[[nodiscard]] Tensor one_hot(const In& index, std::int64_t classes = -1);

// Parts of a tensor along a dimension, as views that record: the gradients of all parts are written into one.

/// Parts of `size` each, the last one of what is left.  ValueError for a size below 1 (0 for an empty dimension).
[[nodiscard]] std::vector<Tensor> split(const In& x, std::int64_t size, int dim = 0);
/// Parts of these sizes.  ShapeError unless they add up to the dimension's.
[[nodiscard]] std::vector<Tensor> split(const In& x, const std::vector<std::int64_t>& sizes, int dim = 0);
[[nodiscard]] std::vector<Tensor> split(const In& x, std::initializer_list<std::int64_t> sizes, int dim = 0);
/// At most `chunks` parts of one size, the last one of what is left.  ValueError for less than 1.
[[nodiscard]] std::vector<Tensor> chunk(const In& x, std::int64_t chunks, int dim = 0);
/// All indices of a dimension, which disappears: {x.select(dim, 0), x.select(dim, 1), ...}.
[[nodiscard]] std::vector<Tensor> unbind(const In& x, int dim = 0);

/// Joins along an existing dimension; other sizes must be equal.  Tensors of shape [0] are passed over.
[[nodiscard]] Tensor cat(const std::vector<Tensor>& tensors, int dim = 0,
                         SourceLocation where = SourceLocation::current());
/// Joins along a new dimension; all sizes must be equal.
[[nodiscard]] Tensor stack(const std::vector<Tensor>& tensors, int dim = 0,
                           SourceLocation where = SourceLocation::current());

/// x repeated along each dimension, as often as `times` says; a longer list adds dimensions in front.
[[nodiscard]] Tensor repeat(const In& x, const Shape& times);
/// x with the order of the elements along dims turned round: a copy.
[[nodiscard]] Tensor flip(const In& x, const Dims& dims);
/// x with the elements along dim moved on by shift, those at the end to the front.
[[nodiscard]] Tensor roll(const In& x, std::int64_t shift, int dim);

}  // namespace minnow
