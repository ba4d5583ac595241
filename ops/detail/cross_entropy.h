#pragma once

#include <cstdint>
#include <minnow/tensor/in.h>
#include <minnow/tensor/internal.h>

namespace minnow::detail::raw {

struct CrossEntropy {
  Tensor losses;  ///< [N]
  /// [2, N] for the gradient: the largest logit, and the sum of e^(logit - largest).  float32 for halves.
  Tensor exp_sums;
};
/// logits: [N, C]  target: int64 [N].  Row n: log(sum(e^logits)) - logits[target]; 0 for ignore_index.
CrossEntropy cross_entropy(const In& logits, const In& target, std::int64_t ignore_index = -100);
/// IndexError that names the first element of target, of any shape, that is out of range.
[[noreturn]] void refuse_class(const In& logits, const In& target, std::int64_t classes, std::int64_t ignore_index);
/// The gradient of logits.   grad: of the losses, [N] or what broadcasts to it.
Tensor cross_entropy_backward(const In& grad, const In& logits, const In& target, const In& exp_sums,
                              std::int64_t ignore_index = -100);

}  // namespace minnow::detail::raw
