#pragma once

#include <minnow/tensor/in.h>
#include <minnow/tensor/internal.h>

namespace minnow::detail::raw {

/// e^x over its sum along dim, or the logarithm of that.
Tensor softmax(const In& x, int dim, bool log);
/// The gradient with respect to x, from that of y and y itself.
Tensor softmax_backward(const In& grad, const In& y, int dim, bool log);

}  // namespace minnow::detail::raw
