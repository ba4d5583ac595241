#pragma once

#include <string>
#include <vector>
#include <minnow/tensor/backend/backend.h>
#include <minnow/tensor/cpu/convolution/conv_parts.h>
#include <minnow/tensor/internal.h>

namespace minnow::cpu {

/// The shape of grouped weights for oneDNN, with the groups as the first dimension.
Shape grouped(const Shape& w, std::int64_t groups);
onednn::memory::desc row_major(const Shape& shape, DType dtype);

/// The layouts of a convolution's operands: channels-last activations, weights in a layout of oneDNN's choice.
struct ConvLayouts {
  onednn::memory::desc x, w, bias, y;
};
ConvLayouts conv_layouts(const Conv2dParams& params, const Shape& x, const Shape& w, const Shape& y, DType dtype,
                         bool bias);

// Direct convolutions by oneDNN, of dense channels-last activations and row-major weights of one dtype.  They return
// false if it has none on this machine.  Images, or the rows of a few images, are divided into parts by their sizes
// only, and each part is computed by one thread, so that the bits do not depend on the number of threads.

/// float32 results are activated, part by part while they are in the cache.
bool direct_forward(const Conv2dParams& params, const View& x, const View& w, const View& bias, const View& y,
                    Activation activation);
bool direct_backward_input(const Conv2dParams& params, const View& grad, const View& w, const View& grad_x);
/// The names of oneDNN's implementations of the parts; none if it has no fast ones.
std::vector<std::string> direct_implementations(ConvDirection direction, DType dtype, const Conv2dParams& params,
                                                const Shape& x, const Shape& w, const Shape& y);

}  // namespace minnow::cpu
