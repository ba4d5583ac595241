#pragma once

#include <minnow/distributions/distribution.h>

namespace minnow::distributions {

/// One of the two: Categorical({.logits = net(x)}).
struct ProbsOrLogits {
  Tensor probs{};   ///< probabilities; of a Categorical in any scale
  Tensor logits{};  ///< log(p / (1 - p)); of a Categorical log p plus any number
};

/// 1 with probability p, else 0, in the dtype of the parameter.  log_prob of a value between them is
/// value log p + (1 - value) log(1 - p), the cross-entropy of a grey pixel.
class Bernoulli : public Distribution {
 public:
  explicit Bernoulli(const TensorLike& probs);
  /// ValueError unless one of them is defined.
  explicit Bernoulli(const ProbsOrLogits& parameter, SourceLocation where = SourceLocation::current());
  const Tensor& probs() const { return parameter(0); }
  const Tensor& logits() const { return parameter(1); }
};

/// The index (int64) of one of K categories.   probs, logits: [batch_shape..., K].
class Categorical : public Distribution {
 public:
  /// ShapeError for a number.
  explicit Categorical(const In& probs);
  /// ValueError unless one of them is defined.
  explicit Categorical(const ProbsOrLogits& parameter, SourceLocation where = SourceLocation::current());
  /// Normalized: probabilities, and their logarithms.
  const Tensor& probs() const { return parameter(0); }
  const Tensor& logits() const { return parameter(1); }
};

}  // namespace minnow::distributions
