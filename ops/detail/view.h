#pragma once

#include <minnow/tensor/in.h>
#include <minnow/tensor/internal.h>

namespace minnow::autograd {

/// The slices of x as a view, recorded, in the shape that integers and newaxis leave.
Tensor sliced(const Tensor& x, const Slices& slices, const Shape& shape);

}  // namespace minnow::autograd
