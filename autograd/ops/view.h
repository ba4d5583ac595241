#pragma once

#include <minnow/tensor/in.h>

namespace minnow::autograd {

/// The slices of x as a view, recorded.
Tensor sliced(const In& x, const Slices& slices);

}  // namespace minnow::autograd
