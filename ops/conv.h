#pragma once

#include <cstdint>
#include <minnow/ops/pair.h>
#include <minnow/tensor/activation.h>
#include <minnow/tensor/in.h>

namespace minnow {

/// Of the function; the layer's are nn::Conv2dOptions.
struct Conv2dFuncOptions {
  Pair stride = 1;
  Pair padding = 0;   ///< zeros on each side
  Pair dilation = 1;  ///< distance between the kernel's elements; 1 = none
  std::int64_t groups = 1;
  Activation activation = Activation::none;  ///< applied last; relu and the bias are one kernel on CUDA
};

/// Cross-correlation, and an activation of its result.   x: [N, C, H, W]  w: [O, C / groups, KH, KW]  b: [O] or undefined  ->  [N, O, OH, OW],
/// OH = ⌊(H + 2 padding - dilation (KH - 1) - 1) / stride⌋ + 1.  One floating-point dtype; ShapeError, DTypeError,
/// ValueError. Any order of gradient.
[[nodiscard]] Tensor conv2d(const In& x, const In& w, const Tensor& b = {}, const Conv2dFuncOptions& options = {});

}  // namespace minnow
