#pragma once

#include <minnow/tensor/backend/backend.h>
#include <minnow/tensor/cpu/convolution/conv_parts.h>
#include <minnow/tensor/internal.h>

namespace minnow::cpu {

// Any convolution as products of the weights with unfolded images ("im2col"), some channels and positions at a time.
// It serves what oneDNN does not, and many weights on few positions, which it reads more than once.  Operands may have
// any layout and floating-point dtype; float64 is computed in float64, all else in float32.  The bits do not depend on
// the number of threads.

/// Whether float32 is faster so: the weights are many beside the positions of all images.
bool suits_unfolding(ConvDirection direction, const Conv2dParams& params, const Shape& w, const Shape& y);

void unfold_forward(const Conv2dParams& params, const View& x, const View& w, const View& bias, const View& y);
void unfold_backward_input(const Conv2dParams& params, const View& grad, const View& w, const View& grad_x);
/// grad_bias: undefined if it is not wanted.
void unfold_backward_weight(const Conv2dParams& params, const View& grad, const View& x, const View& grad_w,
                            const View& grad_bias);

}  // namespace minnow::cpu
