#pragma once

#include <minnow/tensor/backend/backend.h>
#include <minnow/tensor/internal.h>
#include <minnow/tensor/shape.h>

namespace minnow::cpu {

// 3x3 convolutions by Winograd's F(4x4, 3x3): a quarter of the multiplications, half of the time.  The rounding errors
// are about five times those of the plain sums; they stay in proportion to the square root of their number.  A few
// images at a time go through oneDNN's blocked layout and back, so that the copies stay in a core's cache.

/// Whether a float32 convolution is one that gains by it.
bool suits_winograd(const Conv2dParams& params, const Shape& x, const Shape& w, const Shape& y);

// Float32, activations channels-last, weights row-major.  False, without effect, where this machine or version of
// oneDNN has no such plan.
bool winograd_forward(const Conv2dParams& params, const View& x, const View& w, const View& bias, const View& y);
bool winograd_backward_input(const Conv2dParams& params, const View& grad, const View& w, const View& grad_x);

}  // namespace minnow::cpu
