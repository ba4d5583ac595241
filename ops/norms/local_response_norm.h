#pragma once

#include <minnow/tensor/in.h>

namespace minnow {

struct LocalResponseNormOptions {
  double alpha = 1e-4, beta = 0.75, k = 1;
};

/// Each element divided by those of `size` channels around it (Krizhevsky et al. 2012), as PyTorch: y = x / (k + alpha
/// m)^beta, m: the mean of x² over the channels from c - ⌊size / 2⌋ on, where those outside of x count as 0.   x:
/// floating-point [N, C, ...].  ShapeError for fewer than three dimensions, ValueError unless size is positive.
[[nodiscard]] Tensor local_response_norm(const In& x, std::int64_t size, const LocalResponseNormOptions& options = {});

}  // namespace minnow
