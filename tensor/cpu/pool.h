#pragma once

#include <minnow/tensor/backend/backend.h>

namespace minnow::cpu {

// As the methods of Backend.  Layouts may be any; channels-last runs over channels, others along rows.  float32,
// float64 and int64 directly, all others through one of them.

void max_pool2d(const Pool2dParams& params, const Tensor& x, const Tensor& y, const Tensor& indices);
void max_pool2d_backward(const Pool2dParams& params, const Tensor& grad, const Tensor& indices, const Tensor& grad_x);
void avg_pool2d(const Pool2dParams& params, const Tensor& x, const Tensor& y);
void avg_pool2d_backward(const Pool2dParams& params, const Tensor& grad, const Tensor& grad_x);

}  // namespace minnow::cpu
