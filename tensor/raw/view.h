#pragma once

#include <span>
#include <minnow/tensor/in.h>
#include <minnow/tensor/internal.h>

/// Views that do not record.  Dimensions may be negative: IndexError out of range.
namespace minnow::detail::raw {

/// The dimension counted from the front.  IndexError.
int wrap_dim(const In& x, std::int64_t dim);

/// Refuses another dimension beyond kMaxRank.
void require_room(const In& x, int dims = 1);

/// Same storage, other geometry; not checked.
Tensor alias(const In& x, const Shape& shape, const Strides& strides, std::int64_t offset);
/// x without its history.
Tensor detach(const In& x);
/// x[i], without the first dimension; not checked.
Tensor first_dim_at(const In& x, std::int64_t i);
/// A view where strides allow it, else a copy.  One size may be -1.
Tensor reshape(const In& x, const Shape& shape);
/// As reshape; ShapeError where a copy would be needed.
Tensor view(const In& x, const Shape& shape);
Tensor permute(const In& x, const Shape& dims);
Tensor transpose(const In& x, int dim0, int dim1);
Tensor unsqueeze(const In& x, int dim);
Tensor squeeze(const In& x, int dim);
/// Sizes of 1 repeat without a copy; -1 keeps a size.
Tensor expand(const In& x, const Shape& shape);

using minnow::Slices;
Tensor slice(const In& x, const Slices& slices);
/// What t(...) means: the slices of each dimension, and the shape after integers and newaxis.
struct Indexed {
  Slices slices;
  Shape shape;
};
Indexed resolve(const In& x, std::span<const Index> indices);

/// The shape that one -1 in `shape` stands for.  ShapeError when the numbers of elements differ.
Shape resolve_shape(const In& x, Shape shape);
/// The shape of [start, end] flattened.
Shape flattened_shape(const In& x, int start, int end);
Shape squeezed_shape(const In& x);
/// "narrow: elements 3 to 8 are not in dimension 0 ..."
std::string range_message(const In& x, int dim, std::int64_t start, std::int64_t length);

}  // namespace minnow::detail::raw
