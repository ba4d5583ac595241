#pragma once

#include <minnow/tensor/in.h>

namespace minnow {

/// e^x over its sum along dim.   dx = y (g - Σ g y).
[[nodiscard]] Tensor softmax(const In& x, int dim);
/// x - log Σ e^x along dim.   dx = g - e^y Σ g.
[[nodiscard]] Tensor log_softmax(const In& x, int dim);

}  // namespace minnow
