#pragma once

#include <cstdint>
#include <minnow/tensor/in.h>

namespace minnow::nn {

/// What becomes of the losses of the single elements.
enum class Reduction { none, mean, sum };

struct CrossEntropyLossOptions {
  Tensor weight{};                   ///< [C], of each class; undefined: ones
  std::int64_t ignore_index = -100;  ///< targets of this class count for nothing
  double label_smoothing = 0;        ///< share of the target spread evenly over all classes, in [0, 1]
  Reduction reduction = Reduction::mean;
};

/// Cross-entropy of softmax(logits) and the target.   logits: [N, C, ...] or [C]
/// target: int64 class numbers [N, ...] or [], or probabilities, floating-point, of logits' shape.
///   class:          l = -w[t] log softmax(x)[t];  mean: over the sum of the w[t] that count
///   probabilities:  l = -Σ_c w[c] t[c] log softmax(x)[c];  mean: over the number of rows
/// none: losses in the target's shape without C.  The mean of nothing is NaN.  ShapeError, DTypeError, ValueError;
/// IndexError for a target that is no class.
Tensor cross_entropy(const In& logits, const In& target, const CrossEntropyLossOptions& options = {});

struct NLLLossOptions {
  Tensor weight{};
  std::int64_t ignore_index = -100;
  Reduction reduction = Reduction::mean;
};
/// Negative log-likelihood: l = -w[t] x[t].   x: log-probabilities [N, C, ...] or [C]   target: int64 [N, ...] or [].
Tensor nll_loss(const In& log_probabilities, const In& target, const NLLLossOptions& options = {});

struct LossOptions {
  Reduction reduction = Reduction::mean;
};
/// (x - y)².  The shapes must be equal (ShapeError): broadcasting one would be a mistake most of the time.
Tensor mse_loss(const In& x, const In& y, LossOptions options = {});
/// |x - y|.
Tensor l1_loss(const In& x, const In& y, LossOptions options = {});

struct SmoothL1LossOptions {
  double beta = 1;  ///< positive: where the parabola ends
  Reduction reduction = Reduction::mean;
};
/// (x - y)² / (2 beta) where |x - y| < beta, else |x - y| - beta / 2.
Tensor smooth_l1_loss(const In& x, const In& y, SmoothL1LossOptions options = {});

struct BCEWithLogitsLossOptions {
  Tensor weight{};      ///< of each element, broadcast
  Tensor pos_weight{};  ///< of the positive part, broadcast
  Reduction reduction = Reduction::mean;
};
/// Binary cross-entropy of sigmoid(x) and y in [0, 1]: -(p y log s(x) + (1 - y) log(1 - s(x))), without overflow.
Tensor binary_cross_entropy_with_logits(const In& x, const In& y, const BCEWithLogitsLossOptions& options = {});

}  // namespace minnow::nn
