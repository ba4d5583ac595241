#pragma once

#include <cstdint>
#include <limits>
#include <minnow/tensor/io/state_dict.h>

namespace minnow::training {

/// Whether more is better, or less.
enum class Best : std::uint8_t { min, max };

struct EarlyStoppingOptions {
  Best best = Best::min;
  std::int64_t patience = 10;  ///< updates without an improvement until it stops; at least 1
  double min_delta = 0;        ///< an improvement is more than this
};

/// Says when a measure, e.g. the loss of the validation, has not improved for a while.
///
///     training::EarlyStopping stopping({.patience = 5});
///     do {
///       ...
///       if (stopping.update(loss_of_validation())) best = nn::snapshot(net);
///     } while (!stopping.stops());
///
/// A part of a Checkpoint: a run that is resumed goes on counting.
class EarlyStopping {
 public:
  /// ValueError for a patience below 1, or a min_delta that is negative or NaN.
  explicit EarlyStopping(const EarlyStoppingOptions& options = {}, SourceLocation where = SourceLocation::current());
  /// Whether the value is the best so far; a NaN never is.
  bool update(double value);
  bool stops() const { return without_ >= options_.patience; }
  /// NaN before the first improvement.
  double best() const { return best_; }
  std::int64_t updates_without_improvement() const { return without_; }

  StateDict state_dict() const;
  /// ValueError if it is not that of an EarlyStopping.
  void load_state_dict(const StateDict& state, SourceLocation where = SourceLocation::current());

 private:
  EarlyStoppingOptions options_;
  double best_ = std::numeric_limits<double>::quiet_NaN();
  std::int64_t without_ = 0;
};

}  // namespace minnow::training
