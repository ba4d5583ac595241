#pragma once

#include <cstdint>
#include <minnow/tensor/in.h>

namespace minnow::detail {

/// The CTC loss of each sample, [N].   log_probs: [T, N, C]  targets: [N, S] or [sum of target_lengths]
/// lengths: [N].  The checks of operands' values are made here, those of shapes and dtypes by the caller.  Its gradient
/// has no gradient.
Tensor ctc_losses(const In& log_probs, const In& targets, const In& input_lengths, const In& target_lengths,
                  std::int64_t blank, bool zero_infinity);

}  // namespace minnow::detail
