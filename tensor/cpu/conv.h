#pragma once

#include <minnow/tensor/backend/backend.h>

namespace minnow::cpu {

// The library computes float32 and the half types on dense channels-last activations (others are copied into that
// order, and a single ungrouped input channel gets a second one of zeros); weights are reordered to the layout that it
// asks for.  Halves for which this machine has no primitive are computed in float32, their weight gradients always.
// All other dtypes, and what the library refuses, are computed in float64 by reference.h.  Results have equal bits for
// any number of threads.

/// The layout in which the outputs are computed: channels_last for float32 and the half types, contiguous for the rest.
MemoryFormat conv2d_format(const Conv2dParams& params, const Tensor& x, const Tensor& w);
void conv2d(const Conv2dParams& params, const Tensor& x, const Tensor& w, const Tensor& bias, const Tensor& y);
void conv2d_backward_input(const Conv2dParams& params, const Tensor& grad, const Tensor& w, const Tensor& grad_x);
/// The batch is cut into parts by its size and that of the weights alone; each part is summed by one thread, the parts
/// in their order.
void conv2d_backward_weight(const Conv2dParams& params, const Tensor& grad, const Tensor& x, const Tensor& grad_w,
                            const Tensor& grad_bias);

}  // namespace minnow::cpu
