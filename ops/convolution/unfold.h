#pragma once

#include <minnow/ops/pair.h>
#include <minnow/tensor/in.h>

// Blocks of images, as torch.nn.functional.unfold and fold (im2col and col2im).
namespace minnow {

struct UnfoldOptions {
  Pair dilation = 1;
  Pair padding = 0;
  Pair stride = 1;
};

/// The blocks that a kernel sees, as columns.   x: [N, C, H, W] or [C, H, W]  ->  [N, C KH KW, L], L: the number of
/// blocks, row by row.  Any dtype.  ValueError for sizes that are not positive, ShapeError for a kernel that does not
/// fit.  Any order of gradient.
[[nodiscard]] Tensor unfold(const In& x, Pair kernel_size, const UnfoldOptions& options = {});
/// Adds blocks to images at their places: the transposed map, and the gradient, of unfold.   x: [N, C KH KW, L]  ->
/// [N, C, *output_size].  ShapeError for another number of blocks.
[[nodiscard]] Tensor fold(const In& x, Pair output_size, Pair kernel_size, const UnfoldOptions& options = {});

}  // namespace minnow
