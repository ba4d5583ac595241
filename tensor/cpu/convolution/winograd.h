#pragma once

#include <minnow/tensor/backend/backend.h>
#include <minnow/tensor/internal.h>
#include <minnow/tensor/shape.h>

namespace minnow::cpu {

// 3x3 convolutions by Winograd's F(4x4, 3x3): a quarter of the multiplications.  Rounding errors are about five times
// those of direct sums, and also grow with the square root of the number of terms.  Channels-last tiles are read and
// written where they are; blocks of them stay in the cache of a core.

/// Whether a convolution is faster by it, of float32 or on a machine whose products of bfloat16 are at most twice as
/// fast.
bool suits_winograd(const Conv2dParams& params, const Shape& w, const Shape& y);

// float32 or bfloat16, channels-last activations; float32 weights, row-major, bias and sums.

void winograd_forward(const Conv2dParams& params, const View& x, const View& w, const View& bias, const View& y,
                      Activation activation);
void winograd_backward_input(const Conv2dParams& params, const View& grad, const View& w, const View& grad_x);
/// grad_bias may be undefined.
void winograd_backward_weight(const Conv2dParams& params, const View& grad, const View& x, const View& grad_w,
                              const View& grad_bias);

}  // namespace minnow::cpu
