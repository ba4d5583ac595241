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
  const char* name() const override { return "Bernoulli"; }
  bool has_rsample() const override { return false; }
  const Tensor& probs() const { return probs_; }
  const Tensor& logits() const { return logits_; }

 protected:
  Tensor draw(const Shape& shape, RandomGenerator* generator) const override;
  Tensor log_density(const Tensor& value) const override;
  Tensor find_entropy() const override;
  Tensor find_mean() const override { return probs_; }
  Tensor find_variance() const override;
  Tensor divergence(const Distribution& q) const override;
  const Tensor& like() const override { return probs_; }

 private:
  explicit Bernoulli(const Tensor& probs, const Tensor& logits);
  Tensor probs_, logits_;
};

/// The index (int64) of one of K categories.   probs, logits: [batch_shape..., K].
class Categorical : public Distribution {
 public:
  /// ShapeError for a number.
  explicit Categorical(const In& probs);
  /// ValueError unless one of them is defined.
  explicit Categorical(const ProbsOrLogits& parameter, SourceLocation where = SourceLocation::current());
  const char* name() const override { return "Categorical"; }
  bool has_rsample() const override { return false; }
  /// Normalized: probabilities, and their logarithms.
  const Tensor& probs() const { return probs_; }
  const Tensor& logits() const { return logits_; }

 protected:
  Tensor draw(const Shape& shape, RandomGenerator* generator) const override;
  Tensor log_density(const Tensor& value) const override;
  Tensor find_entropy() const override;
  Tensor find_mean() const override;
  Tensor find_variance() const override;
  Tensor divergence(const Distribution& q) const override;
  const Tensor& like() const override { return probs_; }

 private:
  struct Both {
    Tensor p, log_p;
  };
  explicit Categorical(const Both& both);
  static Both both_of(const ProbsOrLogits& parameter, SourceLocation where);
  Tensor probs_, logits_;
};

}  // namespace minnow::distributions
