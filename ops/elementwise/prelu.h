#pragma once

#include <minnow/tensor/in.h>

namespace minnow {

/// x where x > 0, else weight x (He et al. 2015).   x: [N, C, ...] or [C]  weight: [1] or [], or [C] with a number for
/// each channel.  ShapeError for another weight, DTypeError unless both are floating-point.
[[nodiscard]] Tensor prelu(const In& x, const In& weight);

}  // namespace minnow
