#pragma once

#include <minnow/tensor/backend/backend.h>

namespace minnow::cpu {

/// channels_last for what oneDNN computes (float32 and the half types), contiguous for the rest.
MemoryFormat conv2d_format(const Conv2dParams& params, const Tensor& x, const Tensor& w);
/// As Backend::conv2d: by oneDNN for float32 and the half types, by reference.h for the rest.
void conv2d(const Conv2dParams& params, const Tensor& x, const Tensor& w, const Tensor& bias, const Tensor& y);
void conv2d_backward_input(const Conv2dParams& params, const Tensor& grad, const Tensor& w, const Tensor& grad_x);
/// Equal bits for any number of threads: the batch is cut in groups by its shape alone, whose sums are added in order.
void conv2d_backward_weight(const Conv2dParams& params, const Tensor& grad, const Tensor& x, const Tensor& grad_w,
                            const Tensor& grad_bias);

}  // namespace minnow::cpu
