#pragma once

#include <minnow/tensor/in.h>
#include <minnow/tensor/internal.h>

namespace minnow::detail {

/// The slices of x as a recorded view of the given shape, without integer dimensions and with new axes.
Tensor sliced(const Tensor& x, const Slices& slices, const Shape& shape);

}  // namespace minnow::detail
