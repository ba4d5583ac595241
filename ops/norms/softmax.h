#pragma once

#include <minnow/tensor/in.h>

namespace minnow {

/// y = e^x / Σ e^x along dim, of the shape of x.   dx = y (g - Σ g y).  DTypeError unless x is floating-point,
/// IndexError for a dimension out of range.
[[nodiscard]] Tensor softmax(const In& x, int dim);
/// y = x - log Σ e^x along dim, of the shape of x.   dx = g - e^y Σ g.  DTypeError unless x is floating-point,
/// IndexError for a dimension out of range.
[[nodiscard]] Tensor log_softmax(const In& x, int dim);

}  // namespace minnow
