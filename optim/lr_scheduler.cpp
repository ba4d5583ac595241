#include <minnow/optim/lr_scheduler.h>

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <limits>
#include <map>
#include <numbers>
#include <minnow/tensor/create.h>
#include <minnow/tensor/error.h>
#include <minnow/tensor/runtime/capture_rules.h>
#include <minnow/tensor/runtime/warning.h>

namespace minnow::optim {
namespace {

/// ValueErrors of a schedule's options.
struct Check {
  const char* op;
  SourceLocation where;

  template <class... A> const Check& that(bool good, const char* text, const A&... args) const {
    if (!good) throw ValueError(fmt::format("{}: {}", op, fmt::format(fmt::runtime(text), args...)), where);
    return *this;
  }
  const Check& steps(const char* name, std::int64_t value) const {
    return that(value > 0, "{} must be positive, got {}\nit is a number of steps", name, value);
  }
  const Check& at_least_0(const char* name, double value, const char* hint) const {
    return that(value >= 0 && std::isfinite(value), "{} must be finite and at least 0, got {}\n{}", name, value, hint);
  }
  const Check& above_0(const char* name, double value, const char* hint) const {
    return that(value > 0 && std::isfinite(value), "{} must be finite and positive, got {}\n{}", name, value, hint);
  }
  const Check& momentums(double base, double max) const {
    return that(base >= 0 && base < 1 && max >= 0 && max < 1,
                "base_momentum and max_momentum must be in [0, 1), got {} and {}\nor set .cycle_momentum = false", base,
                max);
  }
  /// Returns the number of groups that all functions are for; 0 for any.
  std::size_t functions(const std::vector<LRFunction>& functions) const {
    std::size_t groups = 0;
    for (const LRFunction& f : functions) {
      that(f.values != nullptr, "a function is empty\npass one, e.g. StepLR({{.step_size = 10}})");
      that(
          !f.groups || !groups || f.groups == groups,
          "the functions are for {} and for {} groups\ngive lr_by_group() one function for each group of the optimizer",
          groups, f.groups);
      groups = std::max(groups, f.groups);
    }
    return groups;
  }
};

double anneal(AnnealStrategy strategy, double start, double end, double progress) {
  if (strategy == AnnealStrategy::linear) return (end - start) * progress + start;
  return end + (start - end) / 2 * (std::cos(std::numbers::pi * progress) + 1);
}

/// BackendError in a captured step, whose replays would keep the rate of the capture.
void refuse_captures(const char* op, SourceLocation where) {
  if (minnow::detail::CaptureRules::current())
    throw BackendError(std::string(op) +
                           ": it cannot be part of a captured step, whose replays would not call it\n"
                           "call it after the captured step: rates that are set outside count in replays",
                       where);
}

Tensor numbers(const std::vector<double>& values) { return tensor(values, {.dtype = DType::float64}); }

/// The numbers of a state that has the names and sizes of `like`.  ValueError which lists what does not fit.
std::map<std::string, std::vector<double>, std::less<>> read(const char* op, const StateDict& values,
                                                             const StateDict& like, SourceLocation where) {
  std::string problems;
  std::map<std::string, std::vector<double>, std::less<>> all;
  for (const auto& [name, size] : like) {
    const Tensor* value = values.find(name);
    if (!value || !value->defined() || value->numel() != size.numel()) {
      problems += value ? fmt::format("\n  '{}' must have {} numbers, it is {}", name, size.numel(), describe(*value))
                        : fmt::format("\n  '{}' is missing", name);
      continue;
    }
    for (const double x : all[name] = value->reshape({-1}).to_vector<double>()) {
      const auto [fits, what] =
          name == "base_lrs" ? std::pair(x >= 0 && std::isfinite(x), "finite and at least 0")
          : name == "best"   ? std::pair(!std::isnan(x), "a number")
                             : std::pair(x >= 0 && x < 0x1p53 && x == std::floor(x), "a whole number of at least 0");
      if (!fits) problems += fmt::format("\n  '{}' must be {}, got {}", name, what, x);
    }
  }
  for (const auto& [name, value] : values)
    if (!like.contains(name)) problems += fmt::format("\n  '{}' is not one of its names", name);
  if (!problems.empty())
    throw ValueError(fmt::format("{}::load_state_dict: the values do not fit{}\nload the state of a scheduler of the "
                                 "same kind, over as many groups",
                                 op, problems),
                     where);
  return all;
}

double progress(std::int64_t t, std::int64_t total) {
  return static_cast<double>(std::min(t, total)) / static_cast<double>(total);
}

LRFunction made(const StepLROptions& o, SourceLocation where) {
  Check{"StepLR", where}.steps("step_size", o.step_size).at_least_0("gamma", o.gamma, "the default is 0.1");
  return [o](double base, std::int64_t t) {
    const std::int64_t steps = t / o.step_size;
    return base * std::pow(o.gamma, static_cast<double>(steps));
  };
}

LRFunction made(MultiStepLROptions o, SourceLocation where) {
  const Check check{"MultiStepLR", where};
  check.at_least_0("gamma", o.gamma, "the default is 0.1");
  for (const std::int64_t t : o.milestones)
    check.that(t >= 0, "a milestone must be at least 0, got {}\nit is a number of steps", t);
  return [o = std::move(o)](double base, std::int64_t t) {
    const auto passed = std::count_if(o.milestones.begin(), o.milestones.end(), [t](auto m) { return m <= t; });
    return base * std::pow(o.gamma, static_cast<double>(passed));
  };
}

LRFunction made(const ConstantLROptions& o, SourceLocation where) {
  Check{"ConstantLR", where}
      .steps("total_iters", o.total_iters)
      .that(o.factor >= 0 && o.factor <= 1, "factor must be in [0, 1], got {}\nit multiplies the learning rate",
            o.factor);
  return [o](double base, std::int64_t t) { return t < o.total_iters ? base * o.factor : base; };
}

LRFunction made(const ExponentialLROptions& o, SourceLocation where) {
  Check{"ExponentialLR", where}.at_least_0("gamma", o.gamma, "a common value is 0.95");
  return [o](double base, std::int64_t t) { return base * std::pow(o.gamma, static_cast<double>(t)); };
}

LRFunction made(const PolynomialLROptions& o, SourceLocation where) {
  Check{"PolynomialLR", where}.steps("total_iters", o.total_iters).at_least_0("power", o.power, "the default is 1");
  return [o](double base, std::int64_t t) { return base * std::pow(1 - progress(t, o.total_iters), o.power); };
}

LRFunction made(const LinearLROptions& o, SourceLocation where) {
  Check{"LinearLR", where}
      .steps("total_iters", o.total_iters)
      .that(o.start_factor > 0 && o.start_factor <= 1 && o.end_factor >= 0 && o.end_factor <= 1,
            "start_factor must be in (0, 1] and end_factor in [0, 1], got {} and {}\nthey multiply the learning rate",
            o.start_factor, o.end_factor);
  return [o](double base, std::int64_t t) {
    return base * (o.start_factor + (o.end_factor - o.start_factor) * progress(t, o.total_iters));
  };
}

LRFunction made(std::function<double(std::int64_t)> factor, SourceLocation where) {
  Check{"LambdaLR", where}.that(factor != nullptr,
                                "the function is empty\npass one, e.g. [](auto t) {{ return std::pow(0.95, t); }}");
  return [factor = std::move(factor)](double base, std::int64_t t) { return base * factor(t); };
}

LRFunction made(const CosineAnnealingLROptions& o, SourceLocation where) {
  Check{"CosineAnnealingLR", where}.steps("T_max", o.T_max).at_least_0("eta_min", o.eta_min, "the default is 0");
  return [o](double base, std::int64_t t) {
    return anneal(AnnealStrategy::cos, base, o.eta_min, static_cast<double>(t) / static_cast<double>(o.T_max));
  };
}

LRFunction made(const CosineAnnealingWarmRestartsOptions& o, SourceLocation where) {
  Check{"CosineAnnealingWarmRestarts", where}
      .steps("T_0", o.T_0)
      .steps("T_mult", o.T_mult)
      .at_least_0("eta_min", o.eta_min, "the default is 0");
  return [o](double base, std::int64_t t) {
    std::int64_t length = o.T_0;
    if (o.T_mult == 1) t %= length;
    else {
      for (; t >= length; length *= o.T_mult) {
        t -= length;
        if (length > std::numeric_limits<std::int64_t>::max() / o.T_mult) break;  // longer than any training
      }
    }
    return anneal(AnnealStrategy::cos, base, o.eta_min, static_cast<double>(t) / static_cast<double>(length));
  };
}

LRFunction made(const OneCycleLROptions& o, SourceLocation where) {
  const Check check{"OneCycleLR", where};
  check.above_0("max_lr", o.max_lr, "give the highest rate, e.g. .max_lr = 0.1");
  const std::int64_t total = o.total_steps ? o.total_steps : o.epochs * o.steps_per_epoch;
  check.that(total > 0 && o.epochs >= 0 && o.steps_per_epoch >= 0,
             "give total_steps, or epochs and steps_per_epoch, got {}, {} and {}\n"
             "e.g. .epochs = 10, .steps_per_epoch = loader.size()",
             o.total_steps, o.epochs, o.steps_per_epoch);
  check.that(o.pct_start >= 0 && o.pct_start <= 1, "pct_start must be in [0, 1], got {}\nthe default is 0.3",
             o.pct_start);
  check.above_0("div_factor", o.div_factor, "the default is 25");
  check.above_0("final_div_factor", o.final_div_factor, "the default is 1e4");
  if (o.cycle_momentum) check.momentums(o.base_momentum, o.max_momentum);

  struct Phase {
    double end, start_lr, end_lr, start_momentum, end_momentum;
  };
  const double first = o.max_lr / o.div_factor, last = first / o.final_div_factor;
  const double steps = static_cast<double>(total), low = o.base_momentum, high = o.max_momentum;
  std::vector<Phase> phases{{o.pct_start * steps - 1, first, o.max_lr, high, low}};
  if (o.three_phase) {
    phases.push_back({2 * o.pct_start * steps - 2, o.max_lr, first, low, high});
    phases.push_back({steps - 1, first, last, high, high});
  } else {
    phases.push_back({steps - 1, o.max_lr, last, low, high});
  }
  return LRFunction([o, total, phases = std::move(phases)](double, std::int64_t t, std::size_t) {
    Check{"OneCycleLR", minnow::detail::CallSite::where()}.that(
        t <= total,
        "step {} is after the last, total_steps is {}\n"
        "call step() once for each batch, and count the batches of all epochs",
        t, total);
    const auto step = static_cast<double>(t);
    double start = 0;
    std::size_t i = 0;
    for (; i + 1 < phases.size() && step > phases[i].end; ++i) start = phases[i].end;
    const Phase& p = phases[i];
    const double done = p.end == start ? 1 : (step - start) / (p.end - start);
    LRValues values{anneal(o.anneal_strategy, p.start_lr, p.end_lr, done)};
    if (o.cycle_momentum) values.momentum = anneal(o.anneal_strategy, p.start_momentum, p.end_momentum, done);
    return values;
  });
}

LRFunction made(CyclicLROptions o, SourceLocation where) {
  const Check check{"CyclicLR", where};
  check.at_least_0("base_lr", o.base_lr, "give the lowest rate, e.g. .base_lr = 1e-3");
  check.above_0("max_lr", o.max_lr, "give the highest rate, e.g. .max_lr = 0.1");
  check.steps("step_size_up", o.step_size_up);
  if (o.step_size_down == 0) o.step_size_down = o.step_size_up;
  check.steps("step_size_down", o.step_size_down);
  check.at_least_0("gamma", o.gamma, "the default is 1");
  if (o.cycle_momentum) check.momentums(o.base_momentum, o.max_momentum);
  if (!o.scale_fn) {
    o.scale_mode = o.mode == CyclicMode::exp_range ? ScaleMode::iterations : ScaleMode::cycle;
    if (o.mode == CyclicMode::triangular) o.scale_fn = [](double) { return 1.0; };
    else if (o.mode == CyclicMode::triangular2) o.scale_fn = [](double cycle) { return std::exp2(1 - cycle); };
    else o.scale_fn = [gamma = o.gamma](double t) { return std::pow(gamma, t); };
  }
  return LRFunction([o = std::move(o)](double, std::int64_t t, std::size_t) {
    const auto up = static_cast<double>(o.step_size_up), steps = static_cast<double>(t);
    const double total = up + static_cast<double>(o.step_size_down), ratio = up / total;
    const double cycle = std::floor(1 + steps / total), x = 1 + steps / total - cycle;
    const double height = x <= ratio ? x / ratio : (x - 1) / (ratio - 1);
    const auto hidden = minnow::detail::CallSite::none();
    const double scale = height * o.scale_fn(o.scale_mode == ScaleMode::cycle ? cycle : steps);
    LRValues values{o.base_lr + (o.max_lr - o.base_lr) * scale};
    if (o.cycle_momentum) values.momentum = o.max_momentum - (o.max_momentum - o.base_momentum) * scale;
    return values;
  });
}

LRFunction made(SequentialLROptions o, SourceLocation where) {
  const Check check{"SequentialLR", where};
  check.that(!o.functions.empty() && o.milestones.size() + 1 == o.functions.size(),
             "n functions need n - 1 milestones, got {} and {}\nfunctions[i + 1] begins at milestones[i]",
             o.functions.size(), o.milestones.size());
  const std::size_t groups = check.functions(o.functions);
  for (std::size_t i = 0; i < o.milestones.size(); ++i)
    check.that(o.milestones[i] > (i ? o.milestones[i - 1] : 0),
               "the milestones must be positive and ascending\neach function needs at least one step");
  return LRFunction(
      [o = std::move(o)](double base, std::int64_t t, std::size_t group) {
        const auto next = std::upper_bound(o.milestones.begin(), o.milestones.end(), t);
        const auto i = static_cast<std::size_t>(next - o.milestones.begin());
        return o.functions[i].values(base, t - (i ? o.milestones[i - 1] : 0), group);
      },
      groups);
}

LRFunction made(std::vector<LRFunction> functions, SourceLocation where) {
  const Check check{"ChainedScheduler", where};
  check.that(!functions.empty(), "there is no function\npass some, e.g. {{LinearLR(), StepLR({{.step_size = 10}})}}");
  const std::size_t groups = check.functions(functions);
  return LRFunction(
      [functions = std::move(functions)](double base, std::int64_t t, std::size_t group) {
        LRValues values{base};
        for (const LRFunction& f : functions) {
          const LRValues next = f.values(values.lr, t, group);
          values = {next.lr, next.momentum ? next.momentum : values.momentum};
        }
        return values;
      },
      groups);
}

}  // namespace

LRFunction::Values LRFunction::of_rate(Rate rate) {
  if (!rate) return {};
  return [rate = std::move(rate)](double base, std::int64_t t, std::size_t) {
    const auto hidden = minnow::detail::CallSite::none();  // it may be the user's
    return LRValues{rate(base, t)};
  };
}

LRFunction::LRFunction(const LRScheduler& schedule, SourceLocation where) : LRFunction(schedule.function_) {
  Check{"LRScheduler", where}.that(
      !schedule.optimizer_,
      "a scheduler in another one must have no optimizer, whose rates it would set too\n"
      "leave it out, e.g. SequentialLR(sgd, {{LinearLR(), StepLR({{.step_size = 10}})}}, {{5}})");
}

LRFunction detail::schedule(AnyLROptions options, SourceLocation where) {
  return std::visit([&](auto& o) { return made(std::move(o), where); }, options);
}

LRFunction lr_by_group(std::vector<LRFunction> functions, SourceLocation where) {
  const Check check{"lr_by_group", where};
  check.that(!functions.empty(), "there is no function\npass one for each group of the optimizer");
  check.that(check.functions(functions) == 0,
             "a function is for several groups already\npass functions for one group each");
  const std::size_t groups = functions.size();
  const auto of_group = [functions = std::move(functions)](double base, std::int64_t t, std::size_t group) {
    return functions[group].values(base, t, group);
  };
  return LRFunction(of_group, groups);
}

LRScheduler::LRScheduler(Optimizer& optimizer, LRFunction function, SourceLocation where)
    : optimizer_(&optimizer), function_(std::move(function)) {
  const Check check{"LRScheduler", where};
  check.that(function_.values != nullptr, "the function is empty\npass one, e.g. StepLR({{.step_size = 10}})");
  for (int g = 0; g < optimizer.num_param_groups(); ++g) base_lrs_.push_back(optimizer.lr(g));
  check.that(!function_.groups || function_.groups == base_lrs_.size(),
             "the function is for {} groups, the optimizer has {}\ngive lr_by_group() one function for each group",
             function_.groups, base_lrs_.size());
  apply(0, where);
}

void LRScheduler::step(SourceLocation where) {
  refuse_captures("LRScheduler::step", where);
  apply(steps_ + 1, where);
  if (steps_ == 1 && !optimizer_->has_stepped_)
    minnow::detail::warn_once(std::string("LRScheduler::step: the ") + optimizer_->name() +
                                  " has not made a step, so that the first rate of the schedule is not used: call the "
                                  "optimizer's step() before",
                              where);
}

void LRScheduler::set_steps(std::int64_t steps, SourceLocation where) {
  Check{"set_steps", where}.that(steps >= 0, "the number of steps must be at least 0, got {}\n0 goes back to the start",
                                 steps);
  apply(steps, where);
}

void LRScheduler::apply(std::int64_t steps, SourceLocation where) {
  const minnow::detail::CallSite site(where);
  Check{"LRScheduler", where}
      .that(function_.values != nullptr, "it was moved from\nuse the one that it was moved to")
      .that(optimizer_, "it has no optimizer\ngive it one, e.g. StepLR(sgd, 10)");
  std::vector<LRValues> values;
  for (std::size_t g = 0; g < base_lrs_.size(); ++g) values.push_back(function_.values(base_lrs_[g], steps, g));
  std::vector<double> lrs;
  for (const auto& [lr, momentum] : values) {
    const int group = static_cast<int>(lrs.size());
    if (momentum) optimizer_->set_momentum(group, *momentum, where);
    optimizer_->set_lr(group, lr, where);
    lrs.push_back(lr);
  }
  last_lrs_ = std::move(lrs);
  steps_ = steps;
}

StateDict LRScheduler::state_dict() const {
  return {{"steps", numbers({static_cast<double>(steps_)})}, {"base_lrs", numbers(base_lrs_)}};
}

void LRScheduler::load_state_dict(const StateDict& values, SourceLocation where) {
  auto state = read("LRScheduler", values, state_dict(), where);
  std::swap(base_lrs_, state["base_lrs"]);
  try {
    apply(static_cast<std::int64_t>(state["steps"][0]), where);
  } catch (...) {
    base_lrs_ = std::move(state["base_lrs"]);
    throw;
  }
}

ReduceLROnPlateau::ReduceLROnPlateau(Optimizer& optimizer, ReduceLROnPlateauOptions o, SourceLocation where)
    : optimizer_(optimizer),
      options_(o),
      best_(o.mode == PlateauMode::min ? std::numeric_limits<double>::infinity()
                                       : -std::numeric_limits<double>::infinity()) {
  Check{"ReduceLROnPlateau", where}
      .that(o.factor >= 0 && o.factor < 1, "factor must be in [0, 1), got {}\nthe default is 0.1", o.factor)
      .at_least_0("patience", static_cast<double>(o.patience), "it is a number of steps")
      .at_least_0("cooldown", static_cast<double>(o.cooldown), "it is a number of steps")
      .at_least_0("threshold", o.threshold, "the default is 1e-4")
      .at_least_0("min_lr", o.min_lr, "the default is 0")
      .at_least_0("eps", o.eps, "the default is 1e-8");
}

bool ReduceLROnPlateau::is_better(double metric) const {
  const bool relative = options_.threshold_mode == ThresholdMode::rel;
  if (options_.mode == PlateauMode::min)
    return metric < (relative ? best_ * (1 - options_.threshold) : best_ - options_.threshold);
  return metric > (relative ? best_ * (1 + options_.threshold) : best_ + options_.threshold);
}

void ReduceLROnPlateau::step(double metric, SourceLocation where) {
  refuse_captures("ReduceLROnPlateau::step", where);
  ++steps_;
  const bool better = is_better(metric);
  if (better) best_ = metric;
  num_bad_epochs_ = better || in_cooldown() ? 0 : num_bad_epochs_ + 1;
  if (in_cooldown()) --cooldown_counter_;
  if (num_bad_epochs_ <= options_.patience) return;
  for (int g = 0; g < optimizer_.num_param_groups(); ++g) {
    const double lr = optimizer_.lr(g, where), reduced = std::max(lr * options_.factor, options_.min_lr);
    if (lr - reduced > options_.eps) optimizer_.set_lr(g, reduced, where);
  }
  cooldown_counter_ = options_.cooldown;
  num_bad_epochs_ = 0;
}

std::vector<double> ReduceLROnPlateau::get_last_lr() const {
  std::vector<double> lrs;
  lrs.reserve(static_cast<std::size_t>(optimizer_.num_param_groups()));
  for (int g = 0; g < optimizer_.num_param_groups(); ++g) lrs.push_back(optimizer_.lr(g));
  return lrs;
}

StateDict ReduceLROnPlateau::state_dict() const {
  return {{"steps", numbers({static_cast<double>(steps_)})},
          {"best", numbers({best_})},
          {"num_bad_epochs", numbers({static_cast<double>(num_bad_epochs_)})},
          {"cooldown_counter", numbers({static_cast<double>(cooldown_counter_)})}};
}

void ReduceLROnPlateau::load_state_dict(const StateDict& values, SourceLocation where) {
  auto state = read("ReduceLROnPlateau", values, state_dict(), where);
  const auto count = [&](const char* name) { return static_cast<std::int64_t>(state[name][0]); };
  steps_ = count("steps");
  best_ = state["best"][0];
  num_bad_epochs_ = count("num_bad_epochs");
  cooldown_counter_ = count("cooldown_counter");
}

}  // namespace minnow::optim
