#pragma once

#include <minnow/tensor/backend/calls.h>
#include <minnow/tensor/in.h>
#include <minnow/tensor/internal.h>

namespace minnow::detail {

// Recorded, of checked operands.  The gradients of each are the other, and that of the weight.

Tensor convolve(const In& x, const In& w, const Tensor& b, const Conv2dParams& params,
                Activation activation = Activation::none);
/// The gradient of an x of `x_shape`, which is the transposed convolution of grad.
Tensor convolve_transposed(const In& grad, const In& w, const Shape& x_shape, const Conv2dParams& params);

namespace raw {

/// x: [N, C, H, W]  w: [O, C / groups, KH, KW]  b: [O] or undefined  ->  [N, O, OH, OW],
/// OH = (H + 2 padding - dilation (KH - 1) - 1) / stride + 1.
Tensor conv2d(const In& x, const In& w, const Tensor& b, const Conv2dParams& params,
              Activation activation = Activation::none);
Tensor conv2d_backward_input(const In& grad, const In& w, const Shape& x_shape, const Conv2dParams& params);
struct WeightGradients {
  Tensor weight, bias;
};
WeightGradients conv2d_backward_weight(const In& grad, const In& x, const Shape& w_shape, bool bias,
                                       const Conv2dParams& params);

}  // namespace raw
}  // namespace minnow::detail
