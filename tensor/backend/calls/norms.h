#pragma once

#include <minnow/tensor/backend/calls/call.h>

namespace minnow::detail::calls {

// Softmax over one dimension (0 or more).  x, y, grad: contiguous.

/// y = softmax(x), or its logarithm.
struct Softmax {
  static constexpr const char* kName = "softmax";
  const View& x;
  const View& y;
  int dim;
  bool log;
};

struct SoftmaxBackward {
  static constexpr const char* kName = "softmax_backward";
  const View& grad;
  const View& y;
  const View& grad_x;
  int dim;
  bool log;
};

/// logits: [N, C] contiguous, or [S, C, N / S], whose columns are the rows; target: int64 [N] -> losses: [N], exp_sums:
/// [2 N], float32 if logits are half: the largest logits of all rows, and then the sums of e^(logit - largest).  The
/// loss of a row with ignore_index is 0.  total: one element, the sum of the losses, or, if `mean`, their mean over the
/// rows that are not ignored; or undefined.  With a total, exp_sums has two more elements: the sum of the losses, and
/// the number of rows that are not ignored.
struct CrossEntropy {
  static constexpr const char* kName = "cross_entropy";
  using Result = Outcome;
  const View& logits;
  const View& target;
  const View& losses;
  const View& total;
  const View& exp_sums;
  std::int64_t ignore_index;
  bool mean = false;
};

/// grad: [N], of the losses, or of their mean (with stride 0) -> grad_logits: as logits.
struct CrossEntropyBackward {
  static constexpr const char* kName = "cross_entropy_backward";
  const View& grad;
  const View& logits;
  const View& target;
  const View& exp_sums;
  const View& grad_logits;
  std::int64_t ignore_index;
  bool mean = false;
};

// Layer normalization.  x, y, grad, grad_x: [rows, n] and contiguous, neither size 0; weight, bias and their gradients:
// contiguous [n], or undefined.  stats: float64 [2, rows], each row's mean and then its 1 / sqrt(variance + eps).  Both
// in double: where a row's mean is large beside its deviation, a float's rounding would show in the result.

/// y = (x - mean) / sqrt(variance + eps) * weight + bias; if not centered, 0 is taken for the mean.  stats may be
/// undefined: they are wanted for the gradient only.
struct LayerNorm {
  static constexpr const char* kName = "layer_norm";
  const View& x;
  const View& weight;
  const View& bias;
  const View& y;
  const View& stats;
  double eps;
  bool centered;
};

/// Those of grad_x, grad_weight and grad_bias that are defined.
struct LayerNormBackward {
  static constexpr const char* kName = "layer_norm_backward";
  const View& grad;
  const View& x;
  const View& weight;
  const View& stats;
  const View& grad_x;
  const View& grad_weight;
  const View& grad_bias;
  bool centered;
};

// Batch normalization.  x, y, grad, grad_x: [outer, channels, inner] and contiguous, no size 0.  weight, bias, the
// running statistics and the gradients of weight and bias: contiguous [channels], floating-point, or undefined.  stats:
// float64 [2, channels], each channel's mean and then its 1 / sqrt(variance + eps).

/// y = (x - mean) / sqrt(variance + eps) * weight + bias.  In training mean and variance are those of x, and the
/// running ones move to them: running += momentum * (of x - running), with the variance's n - 1; else they are the
/// running ones.
struct BatchNorm {
  static constexpr const char* kName = "batch_norm";
  const View &x, &weight, &bias, &running_mean, &running_var, &y, &stats;
  bool training;
  double momentum, eps;
};

/// Those of grad_x, grad_weight and grad_bias that are defined.  In training stats depend on x.
struct BatchNormBackward {
  static constexpr const char* kName = "batch_norm_backward";
  const View &grad, &x, &weight, &stats, &grad_x, &grad_weight, &grad_bias;
  bool training;
};

/// Connectionist temporal classification: losses [N] of log-probabilities x [T, N, C], float32 or float64.  targets,
/// int64, contiguous: [N, S], or [sum of target_lengths], one sample after the other.  input_lengths, target_lengths:
/// int64 [N], contiguous.  alpha: T * (2 * targets.numel() + N) elements, which backward reads: the forward variables
/// of sample n, [T, 2 * target_length + 1], begin at T * (2 * its first target + n).
struct CtcLoss {
  static constexpr const char* kName = "ctc_loss";
  using Result = Outcome;
  const View& x;
  const View& targets;
  const View& input_lengths;
  const View& target_lengths;
  const View& alpha;
  const View& losses;
  std::int64_t blank;
};

/// grad: [N]; losses: those of the forward call; grad_x: contiguous.  zero_infinity: an infinite loss has the gradient
/// 0.
struct CtcLossBackward {
  static constexpr const char* kName = "ctc_loss_backward";
  const View &grad, &x, &targets, &input_lengths, &target_lengths, &alpha, &losses, &grad_x;
  std::int64_t blank;
  bool zero_infinity;
};

}  // namespace minnow::detail::calls
