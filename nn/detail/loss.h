#pragma once

#include <minnow/nn/loss.h>

namespace minnow::nn::detail {

/// The losses of the elements, combined.  ValueError for batchmean: only kl_div has it.
Tensor reduced(const Tensor& losses, Reduction reduction);
/// ShapeError unless the shapes are equal, DTypeError unless one is floating-point; also DeviceError and ValueError.
void require_same_shape(const Tensor& x, const Tensor& y, const char* x_name = "x", const char* y_name = "y");

}  // namespace minnow::nn::detail
