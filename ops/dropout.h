#pragma once

#include <minnow/tensor/in.h>

namespace minnow {

struct DropoutOptions {
  double p = 0.5;        ///< probability that an element becomes 0
  bool training = true;  ///< otherwise x itself
};

/// Zeroes elements with probability p and scales the others by 1 / (1 - p) (Srivastava et al. 2014).  The
/// mask is a function of the default generator alone: the same on every device.
[[nodiscard]] Tensor dropout(const In& x, const DropoutOptions& options = {});

}  // namespace minnow
