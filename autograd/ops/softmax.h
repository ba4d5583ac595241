#pragma once

#include <minnow/tensor/in.h>

namespace minnow {

/// e^x over its sum along dim.   dx = y (g - Σ g y).
[[nodiscard]] Tensor softmax(const In& x, int dim);
/// x - log Σ e^x along dim.   dx = g - e^y Σ g.
[[nodiscard]] Tensor log_softmax(const In& x, int dim);

/// Softmax cross-entropy by rows, in one pass.   logits: [N, C]  target: int64 [N]  ->  losses [N]; 0 for a
/// row of ignore_index.  IndexError for a target that is no class.   dlogits = g (softmax(logits) -
/// one_hot(target)).
[[nodiscard]] Tensor cross_entropy_rows(const In& logits, const In& target, std::int64_t ignore_index = -100);

struct DropoutOptions {
  double p = 0.5;        ///< probability that an element becomes 0
  bool training = true;  ///< otherwise x itself
};

/// Zeroes elements with probability p and scales the others by 1 / (1 - p) (Srivastava et al. 2014).  The
/// mask is a function of the default generator alone: the same on every device.
[[nodiscard]] Tensor dropout(const In& x, const DropoutOptions& options = {});

}  // namespace minnow
