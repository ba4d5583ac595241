#pragma once

#include <cstdint>
#include <minnow/tensor/in.h>

namespace minnow::nn {

/// How the losses of the elements are combined.
enum class Reduction {
  none,
  mean,
  sum,
  batchmean,  ///< kl_div only: the sum over the size of the first dimension
};

struct CrossEntropyLossOptions {
  Tensor weight{};                   ///< [C], of each class; undefined: ones
  std::int64_t ignore_index = -100;  ///< classes with this number add nothing to the loss and the mean
  double label_smoothing = 0;        ///< part of the target that is spread evenly over all classes, in [0, 1]
  Reduction reduction = Reduction::mean;
};

/// Cross-entropy of softmax(logits) and the target.   logits: [N, C, ...] or [C]
/// target: class numbers, int64 or uint8, [N, ...] or [], or probabilities, floating-point, of logits' shape.
///   class:          l = -w[t] log softmax(x)[t];  mean: over the sum of the w[t] that are not ignored
///   probabilities:  l = -Σ_c w[c] t[c] log softmax(x)[c];  mean: over the number of rows
/// none: the losses, [N, ...] or [].  The mean of no losses is NaN.  ShapeError, DTypeError, ValueError (also for an
/// ignore_index of 0 or more with probabilities); IndexError for a target out of range.
Tensor cross_entropy(const In& logits, const In& target, const CrossEntropyLossOptions& options = {});

struct NLLLossOptions {
  Tensor weight{};
  std::int64_t ignore_index = -100;
  Reduction reduction = Reduction::mean;
};
/// Negative log-likelihood: l = -w[t] x[t].   x: log-probabilities [N, C, ...] or [C]   target: class numbers,
/// int64 or uint8, [N, ...] or [].
/// The mean and the errors are those of cross_entropy.
Tensor nll_loss(const In& log_probabilities, const In& target, const NLLLossOptions& options = {});

struct LossOptions {
  Reduction reduction = Reduction::mean;
};
/// (x - y)².  Shapes are broadcast, with a warning once for each line, as in PyTorch: [N] and [N, 1] give [N, N].
Tensor mse_loss(const In& x, const In& y, LossOptions options = {});
/// |x - y|.  Shapes as for mse_loss.
Tensor l1_loss(const In& x, const In& y, LossOptions options = {});

struct SmoothL1LossOptions {
  double beta = 1;  ///< where the parabola becomes a line; 0: the line alone, l1_loss
  Reduction reduction = Reduction::mean;
};
/// (x - y)² / (2 beta) where |x - y| < beta, else |x - y| - beta / 2.  Shapes as for mse_loss.
Tensor smooth_l1_loss(const In& x, const In& y, SmoothL1LossOptions options = {});

struct HuberLossOptions {
  double delta = 1;  ///< positive: where the parabola becomes a line
  Reduction reduction = Reduction::mean;
};
/// (x - y)² / 2 where |x - y| < delta, else delta (|x - y| - delta / 2) (Huber 1964): delta times smooth_l1_loss.
/// Shapes as for mse_loss.
Tensor huber_loss(const In& x, const In& y, HuberLossOptions options = {});

struct BCEWithLogitsLossOptions {
  Tensor weight{};      ///< of each element; broadcast to x
  Tensor pos_weight{};  ///< of the positive part; broadcast to x
  Reduction reduction = Reduction::mean;
};
/// Binary cross-entropy of sigmoid(x) and y in [0, 1]: -w (p y log s(x) + (1 - y) log(1 - s(x))), without overflow.
/// w: weight  p: pos_weight.  The shapes must be equal (ShapeError).
Tensor binary_cross_entropy_with_logits(const In& x, const In& y, const BCEWithLogitsLossOptions& options = {});

}  // namespace minnow::nn
