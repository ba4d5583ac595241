#pragma once

#include <cstdint>
#include <optional>
#include <vector>
#include <minnow/tensor/in.h>
#include <minnow/tensor/io/state_dict.h>
#include <minnow/tensor/tensor.h>

// Measures of a data set, from its batches.  update() records no gradient and does not wait for a device; what is
// computed from all batches does.  Where nothing can be computed, the result is NaN: a mean of nothing, an area under a
// curve with one class.  A CapturedStep refuses update() (BackendError): give it what the step returns.
namespace minnow::metrics {

/// What all of them have.  A copy goes on alone.
class Metric {
 public:
  virtual ~Metric() = default;
  /// Forgets all batches.
  virtual void reset() { state_ = Tensor(); }
  /// All batches as a vector, on the device of the first one; undefined before that.
  virtual Tensor state() const { return state_.defined() ? state_.clone() : Tensor(); }
  /// Adds what state() of another one of the same kind gave: of another part of the data, or of another process
  /// (dist::joined).  ValueError if it has another size.
  virtual void merge(const Tensor& state, SourceLocation where = SourceLocation::current());
  /// For a Checkpoint: an epoch that goes on keeps what it has measured.
  StateDict state_dict() const;
  void load_state_dict(const StateDict& values, SourceLocation where = SourceLocation::current());

 protected:
  explicit Metric(std::int64_t size) : size_(size) {}
  Metric(const Metric& other) : state_(other.Metric::state()), size_(other.size_) {}
  Metric& operator=(const Metric& other) {
    state_ = other.Metric::state(), size_ = other.size_;
    return *this;
  }

  Tensor state_;

 private:
  std::int64_t size_;  ///< of the state
};

/// The mean of numbers, in float64.
class Mean : public Metric {
 public:
  Mean() : Metric(2) {}
  /// values: any shape.   weight: of each of them, e.g. the size of the batch whose mean loss it is; what weighs 0 is
  /// left out.
  void update(const In& values, double weight = 1);
  void update(double value, double weight = 1);
  double value() const;
};

struct AccuracyOptions {
  std::int64_t top_k = 1;                      ///< a target counts if it is among so many of the largest scores
  std::optional<std::int64_t> ignore_index{};  ///< targets with this number do not count
};
/// The fraction of targets that are predicted.  A NaN is the largest score, as for argmax.
///
///     metrics::Accuracy accuracy;
///     for (auto& [x, y] : loader) accuracy.update(model(x), y);
///     std::printf("%.2f %%\n", 100 * accuracy.value());
class Accuracy : public Metric {
 public:
  /// ValueError if top_k is below 1.
  explicit Accuracy(const AccuracyOptions& options = {}, SourceLocation where = SourceLocation::current());
  /// scores: floating-point [N, C, ...], or class numbers of the target's shape   target: class numbers [N, ...].
  /// Class numbers are integers or bool: one score for a sample and a threshold are `update(scores > 0, target)`.
  /// Among equal scores the first counts, and what is no class is a miss.  ShapeError, DTypeError; ValueError if there
  /// are fewer than top_k classes.
  void update(const In& scores, const In& target);
  double value() const;

 private:
  AccuracyOptions options_;
};

/// How the classes' values become one: micro counts all samples together, macro is the mean of the classes, weighted
/// that by their number of samples.
enum class Average : std::uint8_t { micro, macro, weighted };

struct ConfusionMatrixOptions {
  std::optional<std::int64_t> ignore_index{};  ///< targets with this number do not count
};
/// How often which class is taken for which, and what follows from that.  Of quotients without a denominator the value
/// is 0, as in scikit-learn, whose averages are these with labels=range(classes); a class that is ignored is left out
/// of them.  With two classes the values of class 1 are what is meant by "the" precision or recall.  For samples with
/// several labels: one matrix of two classes for each.
class ConfusionMatrix : public Metric {
 public:
  /// ValueError unless classes is from 1 to 32,768.
  explicit ConfusionMatrix(std::int64_t classes, const ConfusionMatrixOptions& options = {},
                           SourceLocation where = SourceLocation::current());
  /// As Accuracy::update, with scores of all classes.
  void update(const In& scores, const In& target);

  /// int64 [classes, classes], on the CPU: row: the target, column: the prediction.  IndexError if a class number was
  /// out of range, as all below.
  Tensor counts() const;
  /// The fraction of the diagonal.
  double accuracy() const;
  /// Of each class, float64 [classes], on the CPU: of what was taken for it, the fraction that is it;
  Tensor precision() const;
  /// of what is it, the fraction that was taken for it;
  Tensor recall() const;
  /// the harmonic mean of both, which is Dice's coefficient of sets of pixels;
  Tensor f1() const;
  /// the intersection over the union.
  Tensor iou() const;
  double precision(Average average) const;
  double recall(Average average) const;
  double f1(Average average) const;
  double iou(Average average) const;

 private:
  struct Parts;
  Parts parts() const;
  double averaged(Average average, Tensor (*of)(const Parts&)) const;

  std::int64_t classes_;
  ConfusionMatrixOptions options_;
};

/// Scores of two classes, without a threshold.  Keeps all scores, 16 bytes for each.
class BinaryScores : public Metric {
 public:
  BinaryScores() : Metric(0) {}
  /// scores: floating-point, higher for class 1   target: 0 or 1, of any dtype.  ShapeError if the shapes differ.
  void update(const In& scores, const In& target);
  /// The area under the receiver operating characteristic, which is the probability that a sample of class 1 has a
  /// higher score than one of class 0 (equal ones count half).  ValueError for a NaN and for other targets.
  double roc_auc() const;
  /// Σ (recall - the one before) precision, over thresholds from the highest score on; 0 of samples without one of
  /// class 1.  The same errors.
  double average_precision() const;
  void reset() override { parts_.clear(); }
  Tensor state() const override;
  void merge(const Tensor& state, SourceLocation where = SourceLocation::current()) override;

 private:
  std::vector<Tensor> parts_;  ///< of the batches: [score, target, score, target, ...]
};

/// Errors of predicted numbers, of all elements together.
class Regression : public Metric {
 public:
  Regression() : Metric(5) {}
  /// Floating-point, of one shape (ShapeError).
  void update(const In& predicted, const In& target);
  double mean_squared_error() const;
  double mean_absolute_error() const;
  /// 1 - Σ (target - predicted)² / Σ (target - their mean)²; for targets that are equal up to rounding 1 if there is no
  /// error, else 0.  NaN for fewer than two.
  double r2() const;
  /// Joins means by the formula of Chan, Golub and LeVeque (1979).
  void merge(const Tensor& state, SourceLocation where = SourceLocation::current()) override;
};

struct PerplexityOptions {
  std::int64_t ignore_index = -100;  ///< targets with this number do not count
};
/// e to the mean cross-entropy.
class Perplexity : public Metric {
 public:
  explicit Perplexity(const PerplexityOptions& options = {}) : Metric(2), options_(options) {}
  /// logits: [N, C, ...]   target: int64 [N, ...] (DTypeError).  Other errors as nn::cross_entropy.
  void update(const In& logits, const In& target);
  double value() const;

 private:
  PerplexityOptions options_;
};

}  // namespace minnow::metrics
