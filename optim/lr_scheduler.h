#pragma once

#include <concepts>
#include <cstdint>
#include <functional>
#include <vector>
#include <minnow/optim/optimizer.h>

namespace minnow::optim {

/// A group's learning rate after `steps` steps of the scheduler.  `base_lr`: the group's rate when the scheduler was
/// made.
using LRFunction = std::function<double(double base_lr, std::int64_t steps)>;

struct StepLROptions {
  std::int64_t step_size = 1;  ///< positive
  double gamma = 0.1;
};
struct CosineAnnealingLROptions {
  std::int64_t T_max = 1;  ///< positive: steps from the highest to the lowest rate
  double eta_min = 0;
};
struct LinearLROptions {
  double start_factor = 1.0 / 3;  ///< in (0, 1]
  double end_factor = 1;          ///< in [0, 1]
  std::int64_t total_iters = 5;   ///< positive
};

/// base_lr gamma^⌊t / step_size⌋
LRFunction step_lr(StepLROptions options, SourceLocation where = SourceLocation::current());
/// eta_min + (base_lr - eta_min) (1 + cos(π t / T_max)) / 2
LRFunction cosine_annealing_lr(CosineAnnealingLROptions options, SourceLocation where = SourceLocation::current());
/// base_lr times a factor that goes linearly from start_factor to end_factor in total_iters steps, and stays there.
LRFunction linear_lr(LinearLROptions options = {}, SourceLocation where = SourceLocation::current());
/// One after the other: functions[i + 1] begins, at its own step 0, at milestones[i].  ValueError unless there is one
/// milestone fewer than functions, and the milestones are positive and ascending.
LRFunction sequential_lr(std::vector<LRFunction> functions, std::vector<std::int64_t> milestones,
                         SourceLocation where = SourceLocation::current());

/// Sets the learning rates of an optimizer's groups: those of step 0 when it is made, the next ones at each step().
/// Call step() after the optimizer's.  Does not touch groups that are added later.  The optimizer must outlive it.
class LRScheduler {
 public:
  /// ValueError for an empty function.
  LRScheduler(Optimizer& optimizer, LRFunction function, SourceLocation where = SourceLocation::current());
  void step(SourceLocation where = SourceLocation::current());
  std::int64_t steps() const { return steps_; }
  /// Goes to this number of steps.  ValueError below 0.
  void set_steps(std::int64_t steps, SourceLocation where = SourceLocation::current());

 private:
  void apply(std::int64_t steps, SourceLocation where);

  Optimizer& optimizer_;
  LRFunction function_;
  std::vector<double> base_lrs_;
  std::int64_t steps_ = 0;
};

/// Multiplies the rate by gamma every step_size steps.
class StepLR : public LRScheduler {
 public:
  StepLR(Optimizer& optimizer, StepLROptions options, SourceLocation where = SourceLocation::current())
      : LRScheduler(optimizer, step_lr(options, where), where) {}
  template <std::integral I>
  StepLR(Optimizer& optimizer, I step_size, double gamma = 0.1, SourceLocation where = SourceLocation::current())
      : StepLR(optimizer, StepLROptions{.step_size = static_cast<std::int64_t>(step_size), .gamma = gamma}, where) {}
};

/// Half a cosine from the base rate down to eta_min (Loshchilov and Hutter 2017).
class CosineAnnealingLR : public LRScheduler {
 public:
  CosineAnnealingLR(Optimizer& optimizer, CosineAnnealingLROptions options,
                    SourceLocation where = SourceLocation::current())
      : LRScheduler(optimizer, cosine_annealing_lr(options, where), where) {}
  template <std::integral I>
  CosineAnnealingLR(Optimizer& optimizer, I T_max, double eta_min = 0, SourceLocation where = SourceLocation::current())
      : CosineAnnealingLR(
            optimizer, CosineAnnealingLROptions{.T_max = static_cast<std::int64_t>(T_max), .eta_min = eta_min}, where) {
  }
};

/// Linear warm-up or decay.
class LinearLR : public LRScheduler {
 public:
  explicit LinearLR(Optimizer& optimizer, LinearLROptions options = {},
                    SourceLocation where = SourceLocation::current())
      : LRScheduler(optimizer, linear_lr(options, where), where) {}
};

/// SequentialLR(adam, {linear_lr({.total_iters = 100}), cosine_annealing_lr({.T_max = 900})}, {100})
class SequentialLR : public LRScheduler {
 public:
  SequentialLR(Optimizer& optimizer, std::vector<LRFunction> functions, std::vector<std::int64_t> milestones,
               SourceLocation where = SourceLocation::current())
      : LRScheduler(optimizer, sequential_lr(std::move(functions), std::move(milestones), where), where) {}
};

}  // namespace minnow::optim
