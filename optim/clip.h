#pragma once

#include <vector>
#include <minnow/tensor/tensor.h>

namespace minnow::optim {

struct ClipOptions {
  double norm_type = 2;             ///< of the norm: positive, may be infinity
  bool error_if_nonfinite = false;  ///< ValueError for an infinite or NaN norm; waits for the device
};

/// Scales all gradients by min(1, max_norm / (norm + 1e-6)), the norm being that of all of them together, which is
/// returned (0-dim, on the first gradient's device; does not wait for it).  Parameters without gradient count for
/// nothing.  ValueError for a negative or NaN max_norm or norm_type.
Tensor clip_grad_norm_(const std::vector<Tensor>& params, double max_norm, ClipOptions options = {},
                       SourceLocation where = SourceLocation::current());

/// Clamps every element of the gradients to [-limit, limit].  ValueError for a negative or NaN limit.
void clip_grad_value_(const std::vector<Tensor>& params, double limit,
                      SourceLocation where = SourceLocation::current());

}  // namespace minnow::optim
