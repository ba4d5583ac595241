#pragma once

#include <cstdint>
#include <minnow/tensor/in.h>

namespace minnow {

/// A size along height and width: 3, or {3, 5}.
struct Pair {
  std::int64_t height, width;
  constexpr Pair(std::int64_t both) : height(both), width(both) {}
  constexpr Pair(int both) : Pair(std::int64_t{both}) {}
  constexpr Pair(std::int64_t h, std::int64_t w) : height(h), width(w) {}
};

struct Conv2dOptions {
  Pair stride = 1;
  Pair padding = 0;   ///< zeros on each side
  Pair dilation = 1;  ///< distance between the kernel's elements; 1 = none
  std::int64_t groups = 1;
};

/// Cross-correlation.   x: [N, C, H, W]  w: [O, C / groups, KH, KW]  b: [O] or undefined  ->  [N, O, OH, OW],
/// OH = ⌊(H + 2 padding - dilation (KH - 1) - 1) / stride⌋ + 1.  One floating-point dtype; ShapeError, DTypeError,
/// ValueError. Any order of gradient.
[[nodiscard]] Tensor conv2d(const In& x, const In& w, const Tensor& b = {}, const Conv2dOptions& options = {});

struct MaxPool2dOptions {
  Pair stride = 0;  ///< 0: the kernel size
  Pair padding = 0;
  Pair dilation = 1;
};

/// The largest element of each window.   x: floating-point [N, C, H, W]  ->  [N, C, OH, OW].  The gradient goes to the
/// first of equal elements.  DTypeError for integers, which PyTorch pools: convert them first.
[[nodiscard]] Tensor max_pool2d(const In& x, Pair kernel, const MaxPool2dOptions& options = {});

struct AvgPool2dOptions {
  Pair stride = 0;  ///< 0: the kernel size
  Pair padding = 0;
  bool count_include_pad = true;
};

/// The mean of each window.   x: floating-point [N, C, H, W]  ->  [N, C, OH, OW].
[[nodiscard]] Tensor avg_pool2d(const In& x, Pair kernel, const AvgPool2dOptions& options = {});

}  // namespace minnow
