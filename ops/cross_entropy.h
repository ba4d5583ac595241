#pragma once

#include <cstdint>
#include <minnow/tensor/in.h>

namespace minnow {

/// Softmax cross-entropy by rows, in one pass.   logits: [N, C]  target: int64 [N]  ->  losses [N]; 0 for a
/// row of ignore_index.  IndexError for a target that is no class.   dlogits = g (softmax(logits) -
/// one_hot(target)).
[[nodiscard]] Tensor cross_entropy_rows(const In& logits, const In& target, std::int64_t ignore_index = -100);

}  // namespace minnow
