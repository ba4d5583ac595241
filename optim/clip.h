#pragma once

#include <vector>
#include <minnow/tensor/tensor.h>

namespace minnow::optim {

struct ClipGradNormOptions {
  double norm_type = 2;             ///< the p of the p-norm: positive, may be infinity
  bool error_if_nonfinite = false;  ///< ValueError for an infinite or NaN norm; waits for the device
};

/// Scales all gradients by min(1, max_norm / (norm + 1e-6)), where norm is that of all gradients together.  Returns the
/// norm: 0-dim, on the first gradient's device; does not wait for the device.  Skips parameters without gradient.
/// ValueError unless max_norm is at least 0 and norm_type positive.
Tensor clip_grad_norm_(const std::vector<Tensor>& params, double max_norm, ClipGradNormOptions options = {},
                       SourceLocation where = SourceLocation::current());

/// Clamps every element of the gradients to [-clip_value, clip_value].  ValueError unless clip_value is at least 0.
void clip_grad_value_(const std::vector<Tensor>& params, double clip_value,
                      SourceLocation where = SourceLocation::current());

}  // namespace minnow::optim
