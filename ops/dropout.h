#pragma once

#include <minnow/tensor/in.h>

namespace minnow {

struct DropoutOptions {
  double p = 0.5;        ///< probability that an element becomes 0
  bool training = true;  ///< false: the result is x itself
};

/// Sets elements to 0 with probability p and scales the others by 1 / (1 - p) (Srivastava et al. 2014).  The mask
/// depends on the default generator only: it is the same on every device.  ValueError unless p is in [0, 1], DTypeError
/// unless x is floating-point.
[[nodiscard]] Tensor dropout(const In& x, const DropoutOptions& options = {});

}  // namespace minnow
