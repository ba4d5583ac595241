#pragma once

#include <minnow/tensor/backend/backend.h>
#include <minnow/tensor/internal.h>
#include <minnow/tensor/shape.h>

namespace minnow::cpu {

// 3x3 convolutions by Winograd's F(4x4, 3x3): a quarter of the multiplications in half of the time.  Rounding errors
// are about five times those of direct sums, and also grow with the square root of the number of terms.  A few images
// at a time are copied to oneDNN's blocked layout and back, so that the copies stay in the cache of a core.

/// Whether a float32 convolution is faster by it.
bool suits_winograd(const Conv2dParams& params, const Shape& x, const Shape& w, const Shape& y);

// float32, channels-last activations, row-major weights.  Return false, without effect, if oneDNN has no such plan on
// this machine or in this version.
bool winograd_forward(const Conv2dParams& params, const View& x, const View& w, const View& bias, const View& y);
bool winograd_backward_input(const Conv2dParams& params, const View& grad, const View& w, const View& grad_x);

}  // namespace minnow::cpu
