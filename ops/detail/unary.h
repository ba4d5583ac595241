#pragma once

#include <minnow/tensor/in.h>
#include <minnow/tensor/internal.h>

namespace minnow::detail {

/// The gradient before a relu whose result was y; any order.
Tensor relu_gradient(const Tensor& grad, const Tensor& y);

}  // namespace minnow::detail
