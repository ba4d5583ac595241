#pragma once

#include <minnow/tensor/backend/backend.h>
#include <minnow/tensor/internal.h>

namespace minnow::cpu {

// Convolutions of one input channel, such as the first one on digits, as products of rows of pixels with the weights.
// x is read where it is; oneDNN wants a copy with a second channel of zeros.  float32, but y and grad may be halves,
// which are converted line by line; y and grad channels-last, w and grad_w row-major.

bool suits_few(const Conv2dParams& params, const Shape& x, const Shape& w);

void few_forward(const Conv2dParams& params, const View& x, const View& w, const View& bias, const View& y,
                 Activation activation);
/// grad_bias may be undefined.
void few_backward_weight(const Conv2dParams& params, const View& grad, const View& x, const View& grad_w,
                         const View& grad_bias);

}  // namespace minnow::cpu
