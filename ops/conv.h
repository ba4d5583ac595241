#pragma once

#include <cstdint>
#include <minnow/ops/pair.h>
#include <minnow/tensor/in.h>

namespace minnow {

struct Conv2dOptions {
  Pair stride = 1;
  Pair padding = 0;   ///< zeros on each side
  Pair dilation = 1;  ///< distance between the kernel's elements; 1 = none
  std::int64_t groups = 1;
};

/// Cross-correlation.   x: [N, C, H, W]  w: [O, C / groups, KH, KW]  b: [O] or undefined  ->  [N, O, OH, OW],
/// OH = ⌊(H + 2 padding - dilation (KH - 1) - 1) / stride⌋ + 1.  ShapeError for shapes that do not match, DTypeError
/// unless all have one floating-point dtype, ValueError for options out of range.  Gradients of any order.
[[nodiscard]] Tensor conv2d(const In& x, const In& w, const Tensor& b = {}, const Conv2dOptions& options = {});

}  // namespace minnow
