#pragma once

#include <minnow/tensor/in.h>

namespace minnow {

/// e^x / Σ e^x along dim.   dx = y (g - Σ g y).  DTypeError unless x is floating-point.
[[nodiscard]] Tensor softmax(const In& x, int dim);
/// x - log Σ e^x along dim.   dx = g - e^y Σ g.  DTypeError unless x is floating-point.
[[nodiscard]] Tensor log_softmax(const In& x, int dim);

}  // namespace minnow
