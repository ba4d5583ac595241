#pragma once

#include <concepts>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <optional>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>
#include <minnow/optim/optimizer.h>

namespace minnow::optim {

/// What a schedule gives a group after some steps.  No momentum: it leaves the group's as it is.
struct LRValues {
  double lr = 0;
  std::optional<double> momentum{};
};

class LRScheduler;

/// A group's learning rate after `steps` steps of the scheduler, and its momentum if the schedule cycles that: a
/// scheduler without an optimizer, or a function double(double base_lr, std::int64_t steps).  `base_lr` is the group's
/// rate when the scheduler was made.
class LRFunction {
 public:
  using Rate = std::function<double(double, std::int64_t)>;
  /// (base_lr, steps, group)
  using Values = std::function<LRValues(double, std::int64_t, std::size_t)>;

  LRFunction() = default;
  template <class F>
  requires(!std::is_same_v<F, LRFunction> && std::is_constructible_v<Rate, F>) LRFunction(F rate)
      : values(of_rate(std::move(rate))) {}
  /// ValueError for a scheduler with an optimizer, whose rates it has set.
  LRFunction(const LRScheduler& schedule, SourceLocation where = SourceLocation::current());
  /// For schedules with momentum, or that differ by group.  `for_groups`: how many they are for; 0 for any number.
  explicit LRFunction(Values of, std::size_t for_groups = 0) : values(std::move(of)), groups(for_groups) {}

  double operator()(double base_lr, std::int64_t steps) const { return values(base_lr, steps, 0).lr; }

  Values values;
  std::size_t groups = 0;

 private:
  static Values of_rate(Rate rate);
};

/// The part of a scale in CyclicLR that a step counts for: the cycle (from 1), or the steps (from 0).
enum class ScaleMode { cycle, iterations };
/// CyclicLR's amplitude: the same in each cycle, half in each cycle, or gamma^steps.
enum class CyclicMode { triangular, triangular2, exp_range };
/// OneCycleLR's way from one rate to the next.
enum class AnnealStrategy { cos, linear };

struct StepLROptions {
  std::int64_t step_size = 1;  ///< positive
  double gamma = 0.1;
};
struct MultiStepLROptions {
  std::vector<std::int64_t> milestones{};  ///< at least 0, in any order; one that is listed twice counts twice
  double gamma = 0.1;
};
struct ConstantLROptions {
  double factor = 1.0 / 3;       ///< in [0, 1]
  std::int64_t total_iters = 5;  ///< positive
};
struct ExponentialLROptions {
  double gamma = 1;
};
struct PolynomialLROptions {
  std::int64_t total_iters = 5;  ///< positive
  double power = 1;              ///< at least 0
};
struct CosineAnnealingLROptions {
  std::int64_t T_max = 1;  ///< positive: steps from the highest to the lowest rate
  double eta_min = 0;
};
struct CosineAnnealingWarmRestartsOptions {
  std::int64_t T_0 = 1;     ///< positive: steps to the first restart
  std::int64_t T_mult = 1;  ///< positive: each cycle is this many times longer than the one before
  double eta_min = 0;
};
struct LinearLROptions {
  double start_factor = 1.0 / 3;  ///< in (0, 1]
  double end_factor = 1;          ///< in [0, 1]
  std::int64_t total_iters = 5;   ///< positive
};
struct OneCycleLROptions {
  double max_lr = 0;             ///< positive; must be given
  std::int64_t total_steps = 0;  ///< positive; or give epochs and steps_per_epoch
  std::int64_t epochs = 0;
  std::int64_t steps_per_epoch = 0;
  double pct_start = 0.3;  ///< the part of the steps in which the rate rises; in [0, 1]
  AnnealStrategy anneal_strategy = AnnealStrategy::cos;
  bool cycle_momentum = true;  ///< momentum (or beta1) falls while the rate rises, and the reverse
  double base_momentum = 0.85;
  double max_momentum = 0.95;
  double div_factor = 25;         ///< positive: the first rate is max_lr / div_factor
  double final_div_factor = 1e4;  ///< positive: the last rate is the first / final_div_factor
  bool three_phase = false;       ///< down to the first rate as fast as up, then to the last one
};
struct CyclicLROptions {
  double base_lr = 0;                ///< at least 0: the lowest rate
  double max_lr = 0;                 ///< positive; must be given
  std::int64_t step_size_up = 2000;  ///< positive
  std::int64_t step_size_down = 0;   ///< 0: as step_size_up
  CyclicMode mode = CyclicMode::triangular;
  double gamma = 1;                          ///< of exp_range
  std::function<double(double)> scale_fn{};  ///< scales the amplitude; if given, mode is not used
  ScaleMode scale_mode = ScaleMode::cycle;   ///< what scale_fn is called with
  bool cycle_momentum = true;                ///< momentum (or beta1) falls while the rate rises, and the reverse
  double base_momentum = 0.8;
  double max_momentum = 0.9;
};
struct SequentialLROptions {
  std::vector<LRFunction> functions{};
  std::vector<std::int64_t> milestones{};
};

/// functions[g] for group g.  A scheduler over another number of groups is a ValueError.
LRFunction lr_by_group(std::vector<LRFunction> functions, SourceLocation where = SourceLocation::current());

/// Sets the learning rates of an optimizer's groups: those of step 0 when it is made, the next ones at each step().
/// Call step() after the optimizer's (a warning otherwise).  Does not touch groups that are added later.  The optimizer
/// must outlive it. Without an optimizer, as in StepLR({.step_size = 30}), it is a schedule for SequentialLR,
/// ChainedScheduler and lr_by_group.
class LRScheduler {
 public:
  /// ValueError for an empty function, for one made for another number of groups, and for one that cycles momentum if
  /// the optimizer has neither momentum nor betas.
  LRScheduler(Optimizer& optimizer, LRFunction function, SourceLocation where = SourceLocation::current());
  /// BackendError in a CapturedStep, whose replays would not call it.
  void step(SourceLocation where = SourceLocation::current());
  std::int64_t steps() const { return steps_; }
  /// Goes to this number of steps.  ValueError below 0.
  void set_steps(std::int64_t steps, SourceLocation where = SourceLocation::current());
  /// The rates of the groups, as the last step set them.
  std::vector<double> get_last_lr() const { return last_lrs_; }

  /// The number of steps and the base rates, as float64: "steps", "base_lrs".
  StateDict state_dict() const;
  /// Goes to that step: sets the rates of the groups too.  ValueError, which lists all names that are missing,
  /// unexpected or do not fit; nothing has changed when it throws.
  void load_state_dict(const StateDict& values, SourceLocation where = SourceLocation::current());

 protected:
  explicit LRScheduler(LRFunction function) : function_(std::move(function)) {}

 private:
  friend class LRFunction;
  void apply(std::int64_t steps, SourceLocation where);

  Optimizer* optimizer_ = nullptr;
  LRFunction function_;
  std::vector<double> base_lrs_, last_lrs_;
  std::int64_t steps_ = 0;
};

namespace detail {
using AnyLROptions =
    std::variant<StepLROptions, MultiStepLROptions, ConstantLROptions, ExponentialLROptions, PolynomialLROptions,
                 CosineAnnealingLROptions, CosineAnnealingWarmRestartsOptions, LinearLROptions, OneCycleLROptions,
                 CyclicLROptions, SequentialLROptions, std::vector<LRFunction>, std::function<double(std::int64_t)>>;
LRFunction schedule(AnyLROptions options, SourceLocation where);
}  // namespace detail

/// A scheduler with a schedule of its own: StepLR(sgd, {.step_size = 30}), or by its first options, StepLR(sgd, 30).
template <class Options> class Schedule : public LRScheduler {
 public:
  explicit Schedule(Options options = {}, SourceLocation where = SourceLocation::current())
      : LRScheduler(detail::schedule(std::move(options), where)) {}
  explicit Schedule(Optimizer& optimizer, Options options = {}, SourceLocation where = SourceLocation::current())
      : LRScheduler(optimizer, detail::schedule(std::move(options), where), where) {}
  template <class A>
  requires std::is_arithmetic_v<A> Schedule(Optimizer& optimizer, A a, SourceLocation where = SourceLocation::current())
      : Schedule(optimizer, Options{Number<A>{a}}, where) {}
  template <class A, class B>
  requires(std::is_arithmetic_v<A>&& std::is_arithmetic_v<B>)
      Schedule(Optimizer& optimizer, A a, B b, SourceLocation where = SourceLocation::current())
      : Schedule(optimizer, Options{Number<A>{a}, Number<B>{b}}, where) {}

 private:
  template <class From> struct Number {  // becomes what an option is
    From value;
    template <class To> operator To() const { return static_cast<To>(value); }
  };
};

/// base_lr gamma^⌊t / step_size⌋
using StepLR = Schedule<StepLROptions>;
/// base_lr gamma^(number of milestones up to t): MultiStepLR(sgd, {30, 80}).
class MultiStepLR : public Schedule<MultiStepLROptions> {
 public:
  using Schedule::Schedule;
  // Templates, as a list of options would fit a vector of numbers too.
  template <std::integral T>
  MultiStepLR(Optimizer& optimizer, std::initializer_list<T> milestones, double gamma = 0.1,
              SourceLocation where = SourceLocation::current())
      : Schedule(optimizer, {{milestones.begin(), milestones.end()}, gamma}, where) {}
  template <std::same_as<std::vector<std::int64_t>> Milestones>
  MultiStepLR(Optimizer& optimizer, const Milestones& milestones, double gamma = 0.1,
              SourceLocation where = SourceLocation::current())
      : Schedule(optimizer, {milestones, gamma}, where) {}
};
/// base_lr factor for total_iters steps, then base_lr.
using ConstantLR = Schedule<ConstantLROptions>;
/// base_lr gamma^t
using ExponentialLR = Schedule<ExponentialLROptions>;
/// base_lr (1 - min(t, total_iters) / total_iters)^power
using PolynomialLR = Schedule<PolynomialLROptions>;
/// eta_min + (base_lr - eta_min) (1 + cos(π t / T_max)) / 2: half a cosine down (Loshchilov and Hutter 2017).
using CosineAnnealingLR = Schedule<CosineAnnealingLROptions>;
/// eta_min + (base_lr - eta_min) (1 + cos(π t' / T)) / 2, where t' are the steps since the last restart, and T is T_0
/// in the first cycle and T_mult times as long in each further one: SGDR (Loshchilov and Hutter 2017).
using CosineAnnealingWarmRestarts = Schedule<CosineAnnealingWarmRestartsOptions>;
/// base_lr times a factor that goes linearly from start_factor to end_factor in total_iters steps, and stays there.
using LinearLR = Schedule<LinearLROptions>;
/// base_lr factor(t), where t counts steps: LambdaLR(sgd, [](auto t) { return std::pow(0.95, t); }).
/// By group: LRScheduler(sgd, lr_by_group({LambdaLR(f), LambdaLR(g)})).
using LambdaLR = Schedule<std::function<double(std::int64_t)>>;
/// The 1cycle policy (Smith and Topin 2018, "Super-Convergence"), with one step for each batch: up from
/// max_lr / div_factor to max_lr, and down to max_lr / div_factor / final_div_factor; base_lr is not used.  With
/// cycle_momentum it sets momentum, or beta1 where the optimizer has betas; ValueError if it has neither.
/// ValueError after total_steps steps.
using OneCycleLR = Schedule<OneCycleLROptions>;
/// Cyclical learning rates (Smith 2017), with one step for each batch: up from base_lr to max_lr in step_size_up steps
/// and down again in step_size_down, over and over; the optimizer's rate is not used.  With cycle_momentum as
/// OneCycleLR.
using CyclicLR = Schedule<CyclicLROptions>;
/// All at once: each function's base_lr is what the one before gives, so that factors multiply.  Of several momentums
/// the last counts.  ChainedScheduler(sgd, {ConstantLR({.factor = 0.1}), ExponentialLR({.gamma = 0.9})})
using ChainedScheduler = Schedule<std::vector<LRFunction>>;
/// One after the other: functions[i + 1] begins, at its own step 0, at milestones[i]:
/// SequentialLR(adam, {LinearLR({.total_iters = 100}), CosineAnnealingLR({.T_max = 900})}, {100}).  ValueError unless
/// there is one milestone fewer than functions, and the milestones are positive and ascending.
class SequentialLR : public Schedule<SequentialLROptions> {
 public:
  SequentialLR(std::vector<LRFunction> functions, std::vector<std::int64_t> milestones,
               SourceLocation where = SourceLocation::current())
      : Schedule({std::move(functions), std::move(milestones)}, where) {}
  SequentialLR(Optimizer& optimizer, std::vector<LRFunction> functions, std::vector<std::int64_t> milestones,
               SourceLocation where = SourceLocation::current())
      : Schedule(optimizer, {std::move(functions), std::move(milestones)}, where) {}
};

/// Whether a lower or a higher metric is better.
enum class PlateauMode { min, max };
/// An improvement is by a part of the best metric, or by a number.
enum class ThresholdMode { rel, abs };

struct ReduceLROnPlateauOptions {
  PlateauMode mode = PlateauMode::min;
  double factor = 0.1;         ///< multiplies the rate; in [0, 1)
  std::int64_t patience = 10;  ///< steps without improvement that change nothing; at least 0
  double threshold = 1e-4;     ///< less than this is no improvement; at least 0
  ThresholdMode threshold_mode = ThresholdMode::rel;
  std::int64_t cooldown = 0;  ///< steps after a reduction that do not count; at least 0
  double min_lr = 0;          ///< at least 0
  double eps = 1e-8;          ///< a reduction by no more than this is not made; at least 0
};

/// Multiplies the rates of all groups by factor when a metric has not improved for more than `patience` steps.  NaN is
/// no improvement.  The optimizer must outlive it.
class ReduceLROnPlateau {
 public:
  /// ValueError for options out of range.
  explicit ReduceLROnPlateau(Optimizer& optimizer, ReduceLROnPlateauOptions options = {},
                             SourceLocation where = SourceLocation::current());
  /// Call it after each epoch, with the validation loss for example.  BackendError in a CapturedStep.
  void step(double metric, SourceLocation where = SourceLocation::current());
  /// With a tensor of one element, which is read: waits for its device.
  void step(const Tensor& metric, SourceLocation where = SourceLocation::current()) {
    step(metric.item<double>(where), where);
  }
  std::int64_t steps() const { return steps_; }
  double best() const { return best_; }
  std::int64_t num_bad_epochs() const { return num_bad_epochs_; }
  bool in_cooldown() const { return cooldown_counter_ > 0; }
  /// The rates of the optimizer's groups.
  std::vector<double> get_last_lr() const;

  /// "steps", "best", "num_bad_epochs", "cooldown_counter", as float64.  The rates are in the optimizer's state.
  StateDict state_dict() const;
  /// ValueError for missing or unexpected names, or counts that are not whole numbers; nothing has changed then.
  void load_state_dict(const StateDict& values, SourceLocation where = SourceLocation::current());

 private:
  bool is_better(double metric) const;

  Optimizer& optimizer_;
  ReduceLROnPlateauOptions options_;
  double best_;
  std::int64_t steps_ = 0, num_bad_epochs_ = 0, cooldown_counter_ = 0;
};

}  // namespace minnow::optim
