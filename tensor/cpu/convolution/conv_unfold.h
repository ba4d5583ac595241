#pragma once

#include <minnow/tensor/backend/backend.h>
#include <minnow/tensor/internal.h>

namespace minnow::cpu {

// Any convolution as products of the weights with unfolded images ("im2col"), some channels and positions at a time.
// It serves what oneDNN does not.  All operands are contiguous, NCHW, and of one dtype: float32 or float64.  The bits
// do not depend on the number of threads.

void unfold_forward(const Conv2dParams& params, const View& x, const View& w, const View& bias, const View& y);
void unfold_backward_input(const Conv2dParams& params, const View& grad, const View& w, const View& grad_x);
/// grad_bias: undefined if it is not wanted.
void unfold_backward_weight(const Conv2dParams& params, const View& grad, const View& x, const View& grad_w,
                            const View& grad_bias);

}  // namespace minnow::cpu
