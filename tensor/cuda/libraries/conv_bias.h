#pragma once

#include <minnow/tensor/activation.h>
#include <minnow/tensor/cuda/runtime/call.h>
#include <minnow/tensor/internal.h>
#include <minnow/tensor/view.h>

namespace minnow::cuda {

/// y = activation(y + bias of the channel), in one launch.   y: [N, C, H, W], dense in this format and aligned to 16
/// bytes  bias: [C], contiguous, or undefined.
void add_bias(const Call& call, const View& bias, Activation activation, const View& y, MemoryFormat format);

/// out = the sum of each channel, added in a fixed order, in one launch.   grad: as y  out: [C], contiguous.
void sum_channels(const Call& call, const View& grad, const View& out, MemoryFormat format);

}  // namespace minnow::cuda
