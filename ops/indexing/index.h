#pragma once

#include <initializer_list>
#include <optional>
#include <span>
#include <vector>
#include <minnow/tensor/in.h>

// Selecting and joining.  Indices are int64, from 0 on; IndexError for one out of range, with its value and position.
// A 0-dim x or index counts as one of a single element, as in PyTorch.
namespace minnow {

/// out[i][j] = x[index[i][j]][j] for dim 0, and so on.  index: x's number of dimensions, none larger than x's except
/// dim. The gradient is scatter_add.
[[nodiscard]] Tensor gather(const In& x, int dim, const In& index);
/// A copy y of x with y[index[i][j]][j] += source[i][j] for dim 0, and so on.  source: in no dimension smaller than
/// index (what is beyond is not read), the dtype of x.
[[nodiscard]] Tensor scatter_add(const In& x, int dim, const In& index, const In& source);
/// The slices of x along dim at the indices of index [n]   ->  the shape of x with n in the place of dim.
[[nodiscard]] Tensor index_select(const In& x, int dim, const In& index);
/// A copy of x, of its shape, with the slices of source added to the slices at the indices of index [n].
[[nodiscard]] Tensor index_add(const In& x, int dim, const In& index, const In& source);
/// The rows of weight at the indices of index, as torch.nn.functional.embedding.   index: int64 or int32 [...]  weight:
/// [n, d] ->  [..., d].  The row `padding_idx` (negative: from the end) gets no gradient.  ShapeError unless weight is
/// a matrix, IndexError for a padding_idx out of range.
[[nodiscard]] Tensor embedding(const In& index, const In& weight, std::optional<std::int64_t> padding_idx = {});
/// int64 [...] -> int64 [..., classes], 1 at the class that an element is, 0 elsewhere.  classes = -1: the largest
/// element + 1, for which the host waits.  IndexError for an element out of range.  No gradient.
[[nodiscard]] Tensor one_hot(const In& index, std::int64_t classes = -1);

// Parts of a tensor along a dimension, as views.  The gradients of all parts are written into one tensor.

/// Parts of `size` each; the last may be smaller.  ValueError for a size below 1 (0 for an empty dimension).
[[nodiscard]] std::vector<Tensor> split(const In& x, std::int64_t size, int dim = 0);
/// Parts of these sizes.  ShapeError unless they add up to the dimension's.
[[nodiscard]] std::vector<Tensor> split(const In& x, const std::vector<std::int64_t>& sizes, int dim = 0);
[[nodiscard]] std::vector<Tensor> split(const In& x, std::initializer_list<std::int64_t> sizes, int dim = 0);
/// At most `chunks` parts of one size; the last may be smaller.  ValueError for less than 1.
[[nodiscard]] std::vector<Tensor> chunk(const In& x, std::int64_t chunks, int dim = 0);
/// The slices along a dimension, without it: {x.select(dim, 0), x.select(dim, 1), ...}.
[[nodiscard]] std::vector<Tensor> unbind(const In& x, int dim = 0);

/// Joins along an existing dimension; the other sizes must be equal (ShapeError).  Tensors of shape [0] are skipped.
[[nodiscard]] Tensor cat(const std::vector<Tensor>& tensors, int dim = 0,
                         SourceLocation where = SourceLocation::current());
/// The same as cat(): shapes, errors and gradient too.
[[nodiscard]] Tensor concat(const std::vector<Tensor>& tensors, int dim = 0,
                            SourceLocation where = SourceLocation::current());
/// Joins along a new dimension; all shapes must be equal (ShapeError).
[[nodiscard]] Tensor stack(const std::vector<Tensor>& tensors, int dim = 0,
                           SourceLocation where = SourceLocation::current());

/// A copy: x repeated times[d] times along dimension d; a longer list adds dimensions in front.
[[nodiscard]] Tensor repeat(const In& x, const Shape& times);
/// A copy of x, of its shape, with the elements along dims in reverse order.
[[nodiscard]] Tensor flip(const In& x, const Dims& dims);

}  // namespace minnow
