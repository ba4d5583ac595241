#pragma once

#include <minnow/tensor/in.h>
#include <minnow/tensor/internal.h>

namespace minnow::detail {

/// The gradient before a relu whose result was y; any order.
Tensor relu_gradient(const Tensor& grad, const Tensor& y);

/// scale d^2 / (2 beta) where |d| < beta, else scale (|d| - beta / 2).  Where nothing is recorded, it is written over d.
Tensor smooth_l1(const Tensor& d, double beta, double scale);

}  // namespace minnow::detail
