#pragma once

#include <minnow/tensor/backend/backend.h>
#include <minnow/tensor/cuda/libraries/conv_layout.h>
#include <minnow/tensor/cuda/runtime/call.h>
#include <minnow/tensor/internal.h>

namespace minnow::cuda {

/// The x, w or y of a convolution, by its direction, from the other two, by a simple kernel: for convolutions for which
/// cuDNN has no algorithm.  Any floating-point dtype and strides.  Each element is summed in a fixed order, in float or
/// double.  Warns once for each size.
void plain_convolution(const Call& call, ConvDirection direction, const Conv2dParams& params, const View& x,
                       const View& w, const View& y);

}  // namespace minnow::cuda
