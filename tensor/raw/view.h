#pragma once

#include <span>
#include <minnow/tensor/in.h>
#include <minnow/tensor/internal.h>

// Views that do not record.  Negative dimensions count from the end; IndexError for one out of range.
namespace minnow::detail::raw {

/// The dimension, counted from the front.
int wrap_dim(const In& x, std::int64_t dim);

/// ShapeError if x with `dims` more dimensions has more than kMaxRank.
void require_max_rank(const In& x, int dims = 1);

/// The same storage with another shape, strides and offset, unchecked.
Tensor alias(const In& x, const Shape& shape, const Strides& strides, std::int64_t offset);
/// x with its last index along dim first: of a negative stride, so only to be read by overwrite() and binary_().  x has
/// elements.
Tensor reversed(const In& x, int dim);
/// x without its history.
Tensor detach(const In& x);
/// x[i], without the first dimension; not checked.
Tensor first_dim_at(const In& x, std::int64_t i);
/// A view if the strides allow it, otherwise a copy.  One size may be -1.
Tensor reshape(const In& x, const Shape& shape);
/// The same, but ShapeError if a copy is needed.
Tensor view(const In& x, const Shape& shape);
Tensor permute(const In& x, const Shape& dims);
Tensor transpose(const In& x, int dim0, int dim1);
Tensor unsqueeze(const In& x, int dim);
Tensor squeeze(const In& x, int dim);
/// Repeats dimensions of size 1 without a copy; -1 keeps a size.
Tensor expand(const In& x, const Shape& shape);

using minnow::Slices;
Tensor slice(const In& x, const Slices& slices);
/// The result of t(...): the slice of each dimension, and the shape without integer dimensions and with new ones.
struct Indexed {
  Slices slices;
  Shape shape;
};
Indexed resolve(const In& x, std::span<const Index> indices);

/// `shape` with its -1 replaced.  ShapeError if the numbers of elements differ.
Shape resolve_shape(const In& x, Shape shape);
/// The shape with dimensions [start, end] joined to one.
Shape flattened_shape(const In& x, int start, int end);
Shape squeezed_shape(const In& x);
/// "narrow: elements 3 to 8 are not in dimension 0 ..."
std::string range_message(const In& x, int dim, std::int64_t start, std::int64_t length);

}  // namespace minnow::detail::raw
