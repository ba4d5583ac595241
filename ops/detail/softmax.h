#pragma once

#include <minnow/tensor/in.h>
#include <minnow/tensor/internal.h>

namespace minnow::detail::raw {

/// e^x / Σ e^x along dim, or its logarithm.
Tensor softmax(const In& x, int dim, bool log);
/// The gradient of x from that of y, and y itself.
Tensor softmax_backward(const In& grad, const In& y, int dim, bool log);

}  // namespace minnow::detail::raw
