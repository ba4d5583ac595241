#pragma once

#include <cstdint>
#include <minnow/tensor/in.h>

namespace minnow {

/// The softmax cross-entropy of each row.   logits: [N, C]  target: int64 [N]  ->  losses [N]; 0 where the target is
/// ignore_index.  IndexError for another target outside of [0, C).   dlogits = g (softmax(logits) - one_hot(target)).
[[nodiscard]] Tensor cross_entropy_rows(const In& logits, const In& target, std::int64_t ignore_index = -100);

}  // namespace minnow
