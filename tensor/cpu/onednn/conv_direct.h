#pragma once

#include <string>
#include <vector>
#include <minnow/tensor/backend/backend.h>
#include <minnow/tensor/cpu/convolution/conv_parts.h>
#include <minnow/tensor/cpu/onednn/onednn_plan.h>
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

/// What a plan of a convolution depends on.
onednn::PlanKey conv_key(const Conv2dParams& params, DType dtype, const Shape& x, const Shape& w, const Shape& y,
                         bool bias);

/// The names of oneDNN's implementations of the parts, but of weight gradients; none if it has no fast ones.
std::vector<std::string> direct_names(ConvDirection direction, DType dtype, const Conv2dParams& params, const Shape& x,
                                      const Shape& w, const Shape& y);

}  // namespace minnow::cpu
