#pragma once

#include <minnow/tensor/backend/backend.h>
#include <minnow/tensor/cpu/onednn.h>
#include <minnow/tensor/internal.h>

namespace minnow::cpu {

/// The library wants a dimension of groups in front of grouped weights.
Shape grouped(const Shape& w, std::int64_t groups);
onednn::memory::desc row_major(const Shape& shape, DType dtype);

/// Layouts of a convolution's operands: channels-last activations, weights as the library chooses.
struct ConvLayouts {
  onednn::memory::desc x, w, w_rows, bias, y;
};
ConvLayouts conv_layouts(const Conv2dParams& params, const Shape& x, const Shape& w, const Shape& y, DType dtype,
                         bool bias);

// Direct convolutions by the library, on dense channels-last activations and row-major weights of one dtype: false
// where this machine has none.  Images, and the rows of few images, are divided into parts by the sizes alone; each part
// is one thread's, so that the bits do not depend on the number of threads.

bool direct_forward(const Conv2dParams& params, const View& x, const View& w, const View& bias, const View& y);
bool direct_backward_input(const Conv2dParams& params, const View& grad, const View& w, const View& grad_x);

}  // namespace minnow::cpu
