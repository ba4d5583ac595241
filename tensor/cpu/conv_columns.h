#pragma once

#include <minnow/tensor/backend/backend.h>
#include <minnow/tensor/internal.h>
#include <minnow/tensor/shape.h>

namespace minnow::cpu {

// Convolutions of few positions and many weights as one product: the elements that a position reads are a row ("im2col").
// The weights are read where they are, while oneDNN's direct convolutions copy them to a layout of their own each time.
// The bits do not depend on the number of threads.

/// Whether a float32 convolution is faster by it.
bool suits_columns(const Conv2dParams& params, const Shape& x, const Shape& w, const Shape& y);

// float32, channels-last activations, row-major weights.
void columns_forward(const Conv2dParams& params, const View& x, const View& w, const View& bias, const View& y);
void columns_backward_input(const Conv2dParams& params, const View& grad, const View& w, const View& grad_x);
/// grad_w: row-major.
void columns_backward_weight(const Conv2dParams& params, const View& grad, const View& x, const View& grad_w);

}  // namespace minnow::cpu
