#pragma once

#include <minnow/ops/pair.h>
#include <minnow/tensor/in.h>

namespace minnow {

struct MaxPool2dOptions {
  Pair stride = 0;  ///< 0: the kernel size
  Pair padding = 0;
  Pair dilation = 1;
};

/// The largest element of each window.   x: floating-point [N, C, H, W]  ->  [N, C, OH, OW].  Padding is at most half
/// the kernel, and never the largest.  The gradient goes to the first of equal elements.  DTypeError for integers,
/// which PyTorch pools: convert them first.
[[nodiscard]] Tensor max_pool2d(const In& x, Pair kernel, const MaxPool2dOptions& options = {});

struct AvgPool2dOptions {
  Pair stride = 0;  ///< 0: the kernel size
  Pair padding = 0;
  bool count_include_pad = true;  ///< divide by the size of the window also where it reaches into the padding
};

/// The mean of each window.   x: floating-point [N, C, H, W]  ->  [N, C, OH, OW].
[[nodiscard]] Tensor avg_pool2d(const In& x, Pair kernel, const AvgPool2dOptions& options = {});

/// The means of windows that cover x evenly: the i-th of n goes from ⌊i H / n⌋ to ⌈(i + 1) H / n⌉.   x: floating-point
/// [N, C, H, W]  ->  [N, C, *output_size].  Where a size does not divide x's, windows are taken one by one.  ShapeError
/// for other shapes and for no pixels, ValueError unless output_size is positive.
[[nodiscard]] Tensor adaptive_avg_pool2d(const In& x, Pair output_size);
/// The same for sequences.   x: [N, C, L]  ->  [N, C, output_size].
[[nodiscard]] Tensor adaptive_avg_pool1d(const In& x, std::int64_t output_size);

}  // namespace minnow
