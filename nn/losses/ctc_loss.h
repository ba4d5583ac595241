#pragma once

#include <minnow/nn/losses/loss.h>

namespace minnow::nn {

struct CTCLossOptions {
  std::int64_t blank = 0;      ///< the class of the blank
  bool zero_infinity = false;  ///< infinite losses, of targets that no path reaches, and their gradients are 0
  Reduction reduction = Reduction::mean;
};
/// Connectionist temporal classification (Graves et al. 2006): -log of the sum of the probabilities of all paths
/// through T steps that give the target when repeated classes are joined and blanks are left out.
///   log_probs: float32 or float64 [T, N, C], from log_softmax; [T, C] for one sample
///   targets: int64 or int32 [N, S], or [sum of target_lengths] without padding; [S] for one sample
///   input_lengths, target_lengths: int64 or int32 [N], on the device of log_probs; 0-dim for one sample
/// mean: of each loss over its target's length (1 for a length of 0), then over the samples.  none: [N].  A target that
/// has no path has the loss infinity.  As in PyTorch the gradient assumes that log_probs come from log_softmax: it has
/// e^log_probs added, which log_softmax takes out again.  It has no second derivative.  ShapeError, DTypeError;
/// ValueError for a blank or length out of range, IndexError for a target.
Tensor ctc_loss(const In& log_probs, const In& targets, const In& input_lengths, const In& target_lengths,
                CTCLossOptions options = {});

}  // namespace minnow::nn
