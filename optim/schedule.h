#pragma once

#include <concepts>
#include <cstdint>
#include <functional>
#include <vector>
#include <minnow/optim/optimizer.h>

namespace minnow::optim {

/// A group's learning rate after `steps` steps of the schedule, from the rate that it began with.
using Rate = std::function<double(double base, std::int64_t steps)>;

struct StepLROptions {
  std::int64_t step_size = 1;  ///< positive
  double gamma = 0.1;
};
struct CosineAnnealingLROptions {
  std::int64_t t_max = 1;  ///< positive: steps from the highest to the lowest rate
  double eta_min = 0;
};
struct LinearLROptions {
  double start_factor = 1.0 / 3;  ///< in (0, 1]
  double end_factor = 1;          ///< in [0, 1]
  std::int64_t total_iters = 5;   ///< positive
};

/// base gamma^⌊t / step_size⌋
Rate step_rate(StepLROptions options, SourceLocation where = SourceLocation::current());
/// eta_min + (base - eta_min) (1 + cos(π t / t_max)) / 2
Rate cosine_rate(CosineAnnealingLROptions options, SourceLocation where = SourceLocation::current());
/// base times a factor that goes from start_factor to end_factor in total_iters steps, and stays: a warm-up.
Rate linear_rate(LinearLROptions options = {}, SourceLocation where = SourceLocation::current());
/// One after the other: rates[i + 1] begins, at its own step 0, at milestones[i].  ValueError unless there is one
/// milestone fewer than rates, ascending.
Rate sequential_rate(std::vector<Rate> rates, std::vector<std::int64_t> milestones,
                     SourceLocation where = SourceLocation::current());

/// Sets the learning rates of an optimizer's groups: at once those of step 0, then the next ones at each step(), which
/// follows the optimizer's.  The optimizer must outlive it.  A group that is added later is left alone.
class Schedule {
 public:
  /// ValueError for an empty rate.
  Schedule(Optimizer& optimizer, Rate rate, SourceLocation where = SourceLocation::current());
  void step(SourceLocation where = SourceLocation::current());
  std::int64_t steps() const { return steps_; }
  /// Continues as after this number of steps.  ValueError below 0.
  void set_steps(std::int64_t steps, SourceLocation where = SourceLocation::current());

 private:
  void apply(std::int64_t steps, SourceLocation where);

  Optimizer& optimizer_;
  Rate rate_;
  std::vector<double> bases_;
  std::int64_t steps_ = 0;
};

/// Multiplies the rate by gamma every step_size steps.
class StepLR : public Schedule {
 public:
  StepLR(Optimizer& optimizer, StepLROptions options, SourceLocation where = SourceLocation::current())
      : Schedule(optimizer, step_rate(options, where), where) {}
  template <std::integral I>
  StepLR(Optimizer& optimizer, I step_size, double gamma = 0.1, SourceLocation where = SourceLocation::current())
      : StepLR(optimizer, StepLROptions{.step_size = static_cast<std::int64_t>(step_size), .gamma = gamma}, where) {}
};

/// Half a cosine from the rate down to eta_min (Loshchilov and Hutter 2017).
class CosineAnnealingLR : public Schedule {
 public:
  CosineAnnealingLR(Optimizer& optimizer, CosineAnnealingLROptions options,
                    SourceLocation where = SourceLocation::current())
      : Schedule(optimizer, cosine_rate(options, where), where) {}
  template <std::integral I>
  CosineAnnealingLR(Optimizer& optimizer, I t_max, double eta_min = 0, SourceLocation where = SourceLocation::current())
      : CosineAnnealingLR(
            optimizer, CosineAnnealingLROptions{.t_max = static_cast<std::int64_t>(t_max), .eta_min = eta_min}, where) {
  }
};

/// Warms up, or cools down, along a line.
class LinearLR : public Schedule {
 public:
  explicit LinearLR(Optimizer& optimizer, LinearLROptions options = {},
                    SourceLocation where = SourceLocation::current())
      : Schedule(optimizer, linear_rate(options, where), where) {}
};

/// SequentialLR(adam, {linear_rate({.total_iters = 100}), cosine_rate({.t_max = 900})}, {100})
class SequentialLR : public Schedule {
 public:
  SequentialLR(Optimizer& optimizer, std::vector<Rate> rates, std::vector<std::int64_t> milestones,
               SourceLocation where = SourceLocation::current())
      : Schedule(optimizer, sequential_rate(std::move(rates), std::move(milestones), where), where) {}
};

}  // namespace minnow::optim
