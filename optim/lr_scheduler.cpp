#include <minnow/optim/lr_scheduler.h>

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <limits>
#include <numbers>
#include <minnow/tensor/capture_rules.h>
#include <minnow/tensor/create.h>
#include <minnow/tensor/error.h>

namespace minnow::optim {
namespace {

void require_positive(const char* op, const char* name, std::int64_t value, SourceLocation where) {
  if (value <= 0)
    throw ValueError(fmt::format("{}: {} must be positive, got {}\nit is a number of steps", op, name, value), where);
}

/// ValueError unless the value is finite and at least `low`.
void require_at_least(double low, const char* op, const char* name, double value, const char* hint,
                      SourceLocation where) {
  if (!(value >= low) || !std::isfinite(value))
    throw ValueError(fmt::format("{}: {} must be finite and at least {}, got {}\n{}", op, name, low, value, hint),
                     where);
}

void require_above_0(const char* op, const char* name, double value, const char* hint, SourceLocation where) {
  if (!(value > 0) || !std::isfinite(value))
    throw ValueError(fmt::format("{}: {} must be finite and positive, got {}\n{}", op, name, value, hint), where);
}

void require_momentums(const char* op, double base, double max, SourceLocation where) {
  if (!(base >= 0 && base < 1) || !(max >= 0 && max < 1))
    throw ValueError(fmt::format("{}: base_momentum and max_momentum must be in [0, 1), got {} and {}\n"
                                 "or set .cycle_momentum = false",
                                 op, base, max),
                     where);
}

/// The number of groups that all functions are for; 0 for any.
std::size_t common_groups(const char* op, const std::vector<LRFunction>& functions, SourceLocation where) {
  std::size_t groups = 0;
  for (const LRFunction& f : functions) {
    if (f.groups() && groups && f.groups() != groups)
      throw ValueError(fmt::format("{}: the functions are for {} and for {} groups\ngive lr_by_group() one function "
                                   "for each group of the optimizer",
                                   op, groups, f.groups()),
                       where);
    groups = std::max(groups, f.groups());
  }
  return groups;
}

void require_functions(const char* op, const std::vector<LRFunction>& functions, SourceLocation where) {
  if (std::any_of(functions.begin(), functions.end(), [](const LRFunction& f) { return !f; }))
    throw ValueError(fmt::format("{}: a function is empty\npass one, e.g. step_lr({{.step_size = 10}})", op), where);
}

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

/// The float64 numbers of a name; appends a line to `problems` unless there are `size` of them.
std::vector<double> read(const StateDict& values, const char* name, std::size_t size, std::string& problems) {
  const Tensor* value = values.find(name);
  if (!value) problems += fmt::format("\n  '{}' is missing", name);
  else if (!value->defined() || value->numel() != static_cast<std::int64_t>(size))
    problems += fmt::format("\n  '{}' must have {} numbers, it is {}", name, size, describe(*value));
  else return value->reshape({-1}).to_vector<double>();
  return std::vector<double>(size);
}

/// A number of steps.
std::int64_t read_count(const StateDict& values, const char* name, std::string& problems) {
  const double count = read(values, name, 1, problems)[0];
  if (count >= 0 && count < 0x1p53 && count == std::floor(count)) return static_cast<std::int64_t>(count);
  problems += fmt::format("\n  '{}' must be a whole number of at least 0, got {}", name, count);
  return 0;
}

void require_fit(const char* op, const StateDict& values, std::initializer_list<std::string_view> names,
                 std::string problems, SourceLocation where) {
  for (const auto& [name, value] : values)
    if (std::find(names.begin(), names.end(), name) == names.end())
      problems += fmt::format("\n  '{}' is not one of its names", name);
  if (!problems.empty())
    throw ValueError(fmt::format("{}::load_state_dict: the values do not fit{}\nload the state of a scheduler of the "
                                 "same kind, over as many groups",
                                 op, problems),
                     where);
}

}  // namespace

LRFunction LRFunction::of_rate(std::function<double(double, std::int64_t)> rate) {
  if (!rate) return {};
  return of([rate = std::move(rate)](double base, std::int64_t t, std::size_t) {
    const auto hidden = minnow::detail::CallSite::none();  // it may be the user's
    return LRValues{rate(base, t)};
  });
}

LRFunction step_lr(StepLROptions o, SourceLocation where) {
  require_positive("StepLR", "step_size", o.step_size, where);
  require_at_least(0, "StepLR", "gamma", o.gamma, "the default is 0.1", where);
  return [o](double base, std::int64_t t) {
    const std::int64_t drops = t / o.step_size;
    return base * std::pow(o.gamma, static_cast<double>(drops));
  };
}

LRFunction multi_step_lr(MultiStepLROptions o, SourceLocation where) {
  require_at_least(0, "MultiStepLR", "gamma", o.gamma, "the default is 0.1", where);
  std::sort(o.milestones.begin(), o.milestones.end());
  if (!o.milestones.empty() && o.milestones[0] < 0)
    throw ValueError(
        fmt::format("MultiStepLR: a milestone must be at least 0, got {}\nit is a number of steps", o.milestones[0]),
        where);
  return [o = std::move(o)](double base, std::int64_t t) {
    const auto passed = std::upper_bound(o.milestones.begin(), o.milestones.end(), t) - o.milestones.begin();
    return base * std::pow(o.gamma, static_cast<double>(passed));
  };
}

LRFunction constant_lr(ConstantLROptions o, SourceLocation where) {
  require_positive("ConstantLR", "total_iters", o.total_iters, where);
  if (!(o.factor >= 0 && o.factor <= 1))
    throw ValueError(
        fmt::format("ConstantLR: factor must be in [0, 1], got {}\nit multiplies the learning rate", o.factor), where);
  return [o](double base, std::int64_t t) { return t < o.total_iters ? base * o.factor : base; };
}

LRFunction exponential_lr(ExponentialLROptions o, SourceLocation where) {
  require_at_least(0, "ExponentialLR", "gamma", o.gamma, "a common value is 0.95", where);
  return [o](double base, std::int64_t t) { return base * std::pow(o.gamma, static_cast<double>(t)); };
}

LRFunction polynomial_lr(PolynomialLROptions o, SourceLocation where) {
  require_positive("PolynomialLR", "total_iters", o.total_iters, where);
  require_at_least(0, "PolynomialLR", "power", o.power, "the default is 1", where);
  return [o](double base, std::int64_t t) {
    const double progress = static_cast<double>(std::min(t, o.total_iters)) / static_cast<double>(o.total_iters);
    return base * std::pow(1 - progress, o.power);
  };
}

LRFunction lambda_lr(std::function<double(std::int64_t)> factor, SourceLocation where) {
  if (!factor)
    throw ValueError("LambdaLR: the function is empty\npass one, e.g. [](auto t) { return std::pow(0.95, t); }", where);
  return [factor = std::move(factor)](double base, std::int64_t t) { return base * factor(t); };
}

LRFunction cosine_annealing_lr(CosineAnnealingLROptions o, SourceLocation where) {
  require_positive("CosineAnnealingLR", "T_max", o.T_max, where);
  require_at_least(0, "CosineAnnealingLR", "eta_min", o.eta_min, "the default is 0", where);
  return [o](double base, std::int64_t t) {
    const double angle = std::numbers::pi * static_cast<double>(t) / static_cast<double>(o.T_max);
    return o.eta_min + (base - o.eta_min) * (1 + std::cos(angle)) / 2;
  };
}

LRFunction cosine_annealing_warm_restarts(CosineAnnealingWarmRestartsOptions o, SourceLocation where) {
  constexpr const char* kName = "CosineAnnealingWarmRestarts";
  require_positive(kName, "T_0", o.T_0, where);
  require_positive(kName, "T_mult", o.T_mult, where);
  require_at_least(0, kName, "eta_min", o.eta_min, "the default is 0", where);
  return [o](double base, std::int64_t t) {
    std::int64_t length = o.T_0;
    if (o.T_mult == 1) t %= length;
    else {
      for (; t >= length; length *= o.T_mult) {
        t -= length;
        if (length > std::numeric_limits<std::int64_t>::max() / o.T_mult) break;  // longer than any training
      }
    }
    const double angle = std::numbers::pi * static_cast<double>(t) / static_cast<double>(length);
    return o.eta_min + (base - o.eta_min) * (1 + std::cos(angle)) / 2;
  };
}

LRFunction one_cycle_lr(OneCycleLROptions o, SourceLocation where) {
  constexpr const char* kName = "OneCycleLR";
  require_above_0(kName, "max_lr", o.max_lr, "give the highest rate, e.g. .max_lr = 0.1", where);
  const std::int64_t total = o.total_steps ? o.total_steps : o.epochs * o.steps_per_epoch;
  if (total <= 0 || o.epochs < 0 || o.steps_per_epoch < 0)
    throw ValueError(fmt::format("OneCycleLR: give total_steps, or epochs and steps_per_epoch, got {}, {} and {}\n"
                                 "e.g. .epochs = 10, .steps_per_epoch = loader.size()",
                                 o.total_steps, o.epochs, o.steps_per_epoch),
                     where);
  if (!(o.pct_start >= 0 && o.pct_start <= 1))
    throw ValueError(fmt::format("OneCycleLR: pct_start must be in [0, 1], got {}\nthe default is 0.3", o.pct_start),
                     where);
  require_above_0(kName, "div_factor", o.div_factor, "the default is 25", where);
  require_above_0(kName, "final_div_factor", o.final_div_factor, "the default is 1e4", where);
  if (o.cycle_momentum) require_momentums(kName, o.base_momentum, o.max_momentum, where);

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
  return LRFunction::of([o, total, phases = std::move(phases)](double, std::int64_t t, std::size_t) {
    if (t > total)
      throw ValueError(fmt::format("OneCycleLR: step {} is after the last, total_steps is {}\n"
                                   "call step() once for each batch, and count the batches of all epochs",
                                   t, total),
                       minnow::detail::CallSite::where());
    const auto step = static_cast<double>(t);
    double start = 0;
    std::size_t i = 0;
    for (; i + 1 < phases.size() && step > phases[i].end; ++i) start = phases[i].end;
    const Phase& p = phases[i];
    const double progress = p.end == start ? 1 : (step - start) / (p.end - start);
    LRValues values{anneal(o.anneal_strategy, p.start_lr, p.end_lr, progress)};
    if (o.cycle_momentum) values.momentum = anneal(o.anneal_strategy, p.start_momentum, p.end_momentum, progress);
    return values;
  });
}

LRFunction cyclic_lr(CyclicLROptions o, SourceLocation where) {
  constexpr const char* kName = "CyclicLR";
  require_at_least(0, kName, "base_lr", o.base_lr, "give the lowest rate, e.g. .base_lr = 1e-3", where);
  require_above_0(kName, "max_lr", o.max_lr, "give the highest rate, e.g. .max_lr = 0.1", where);
  require_positive(kName, "step_size_up", o.step_size_up, where);
  if (o.step_size_down == 0) o.step_size_down = o.step_size_up;
  require_positive(kName, "step_size_down", o.step_size_down, where);
  require_at_least(0, kName, "gamma", o.gamma, "the default is 1", where);
  if (o.cycle_momentum) require_momentums(kName, o.base_momentum, o.max_momentum, where);
  if (!o.scale_fn) {
    o.scale_mode = o.mode == CyclicMode::exp_range ? ScaleMode::iterations : ScaleMode::cycle;
    if (o.mode == CyclicMode::triangular) o.scale_fn = [](double) { return 1.0; };
    else if (o.mode == CyclicMode::triangular2) o.scale_fn = [](double cycle) { return std::exp2(1 - cycle); };
    else o.scale_fn = [gamma = o.gamma](double t) { return std::pow(gamma, t); };
  }
  return LRFunction::of([o = std::move(o)](double, std::int64_t t, std::size_t) {
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

LRFunction linear_lr(LinearLROptions o, SourceLocation where) {
  require_positive("LinearLR", "total_iters", o.total_iters, where);
  if (!(o.start_factor > 0 && o.start_factor <= 1) || !(o.end_factor >= 0 && o.end_factor <= 1))
    throw ValueError(fmt::format("LinearLR: start_factor must be in (0, 1] and end_factor in [0, 1], got {} and {}\n"
                                 "they multiply the learning rate",
                                 o.start_factor, o.end_factor),
                     where);
  return [o](double base, std::int64_t t) {
    const double progress = static_cast<double>(std::min(t, o.total_iters)) / static_cast<double>(o.total_iters);
    return base * (o.start_factor + (o.end_factor - o.start_factor) * progress);
  };
}

LRFunction sequential_lr(std::vector<LRFunction> functions, std::vector<std::int64_t> milestones,
                         SourceLocation where) {
  if (functions.empty() || milestones.size() + 1 != functions.size())
    throw ValueError(fmt::format("SequentialLR: n functions need n - 1 milestones, got {} and {}\n"
                                 "functions[i + 1] begins at milestones[i]",
                                 functions.size(), milestones.size()),
                     where);
  require_functions("SequentialLR", functions, where);
  for (std::size_t i = 0; i < milestones.size(); ++i)
    if (milestones[i] <= (i ? milestones[i - 1] : 0))
      throw ValueError(
          "SequentialLR: the milestones must be positive and ascending\neach function needs at least one step", where);
  const std::size_t groups = common_groups("SequentialLR", functions, where);
  return LRFunction::of(
      [functions = std::move(functions), milestones = std::move(milestones)](double base, std::int64_t t,
                                                                             std::size_t group) {
        const auto next = std::upper_bound(milestones.begin(), milestones.end(), t);
        const auto i = static_cast<std::size_t>(next - milestones.begin());
        return functions[i].values(base, t - (i ? milestones[i - 1] : 0), group);
      },
      groups);
}

LRFunction chained_lr(std::vector<LRFunction> functions, SourceLocation where) {
  if (functions.empty())
    throw ValueError(
        "ChainedScheduler: there is no function\npass some, e.g. {linear_lr(), step_lr({.step_size = 10})}", where);
  require_functions("ChainedScheduler", functions, where);
  const std::size_t groups = common_groups("ChainedScheduler", functions, where);
  return LRFunction::of(
      [functions = std::move(functions)](double base, std::int64_t t, std::size_t group) {
        LRValues values{base};
        for (const LRFunction& f : functions) {
          const LRValues next = f.values(values.lr, t, group);
          values.lr = next.lr;
          if (next.momentum) values.momentum = next.momentum;
        }
        return values;
      },
      groups);
}

LRFunction lr_by_group(std::vector<LRFunction> functions, SourceLocation where) {
  if (functions.empty())
    throw ValueError("lr_by_group: there is no function\npass one for each group of the optimizer", where);
  require_functions("lr_by_group", functions, where);
  for (const LRFunction& f : functions)
    if (f.groups())
      throw ValueError("lr_by_group: a function is for several groups already\npass functions for one group each",
                       where);
  const std::size_t groups = functions.size();
  return LRFunction::of(
      [functions = std::move(functions)](double base, std::int64_t t, std::size_t group) {
        return functions[group].values(base, t, group);
      },
      groups);
}

LRScheduler::LRScheduler(Optimizer& optimizer, LRFunction function, SourceLocation where)
    : optimizer_(optimizer), function_(std::move(function)) {
  if (!function_)
    throw ValueError("LRScheduler: the function is empty\npass one, e.g. step_lr({.step_size = 10})", where);
  for (int g = 0; g < optimizer.num_param_groups(); ++g) base_lrs_.push_back(optimizer.lr(g));
  if (function_.groups() && function_.groups() != base_lrs_.size())
    throw ValueError(fmt::format("LRScheduler: the function is for {} groups, the optimizer has {}\n"
                                 "give lr_by_group() one function for each group",
                                 function_.groups(), base_lrs_.size()),
                     where);
  apply(0, where);
}

void LRScheduler::step(SourceLocation where) {
  refuse_captures("LRScheduler::step", where);
  apply(steps_ + 1, where);
}

void LRScheduler::set_steps(std::int64_t steps, SourceLocation where) {
  if (steps < 0)
    throw ValueError(
        fmt::format("set_steps: the number of steps must be at least 0, got {}\n0 goes back to the start", steps),
        where);
  apply(steps, where);
}

void LRScheduler::apply(std::int64_t steps, SourceLocation where) {
  const minnow::detail::CallSite site(where);
  if (!function_) throw ValueError("LRScheduler: it was moved from\nuse the one that it was moved to", where);
  std::vector<LRValues> values;
  for (std::size_t g = 0; g < base_lrs_.size(); ++g) values.push_back(function_.values(base_lrs_[g], steps, g));
  std::vector<double> lrs;
  for (std::size_t g = 0; g < values.size(); ++g) {
    const int group = static_cast<int>(g);
    if (values[g].momentum) optimizer_.set_momentum(group, *values[g].momentum, where);
    optimizer_.set_lr(group, values[g].lr, where);
    lrs.push_back(values[g].lr);
  }
  last_lrs_ = std::move(lrs);
  steps_ = steps;
}

StateDict LRScheduler::state_dict() const {
  return {{"steps", numbers({static_cast<double>(steps_)})}, {"base_lrs", numbers(base_lrs_)}};
}

void LRScheduler::load_state_dict(const StateDict& values, SourceLocation where) {
  std::string problems;
  const std::int64_t steps = read_count(values, "steps", problems);
  std::vector<double> base_lrs = read(values, "base_lrs", base_lrs_.size(), problems);
  for (const double lr : base_lrs)
    if (!(lr >= 0) || !std::isfinite(lr))
      problems += fmt::format("\n  'base_lrs' must be finite and at least 0, got {}", lr);
  require_fit("LRScheduler", values, {"steps", "base_lrs"}, std::move(problems), where);
  std::swap(base_lrs_, base_lrs);
  try {
    apply(steps, where);
  } catch (...) {
    base_lrs_ = std::move(base_lrs);
    throw;
  }
}

ReduceLROnPlateau::ReduceLROnPlateau(Optimizer& optimizer, ReduceLROnPlateauOptions o, SourceLocation where)
    : optimizer_(optimizer),
      options_(o),
      best_(o.mode == PlateauMode::min ? std::numeric_limits<double>::infinity()
                                       : -std::numeric_limits<double>::infinity()) {
  constexpr const char* kName = "ReduceLROnPlateau";
  if (!(o.factor >= 0 && o.factor < 1))
    throw ValueError(fmt::format("ReduceLROnPlateau: factor must be in [0, 1), got {}\nthe default is 0.1", o.factor),
                     where);
  for (const auto& [name, steps] : {std::pair("patience", o.patience), std::pair("cooldown", o.cooldown)})
    require_at_least(0, kName, name, static_cast<double>(steps), "it is a number of steps", where);
  require_at_least(0, kName, "threshold", o.threshold, "the default is 1e-4", where);
  require_at_least(0, kName, "min_lr", o.min_lr, "the default is 0", where);
  require_at_least(0, kName, "eps", o.eps, "the default is 1e-8", where);
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
  if (is_better(metric)) {
    best_ = metric;
    num_bad_epochs_ = 0;
  } else {
    ++num_bad_epochs_;
  }
  if (in_cooldown()) {
    --cooldown_counter_;
    num_bad_epochs_ = 0;
  }
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
  std::string problems;
  const std::int64_t steps = read_count(values, "steps", problems);
  const double best = read(values, "best", 1, problems)[0];
  if (std::isnan(best)) problems += "\n  'best' is NaN";
  const std::int64_t bad = read_count(values, "num_bad_epochs", problems);
  const std::int64_t cooldown = read_count(values, "cooldown_counter", problems);
  require_fit("ReduceLROnPlateau", values, {"steps", "best", "num_bad_epochs", "cooldown_counter"}, std::move(problems),
              where);
  steps_ = steps;
  best_ = best;
  num_bad_epochs_ = bad;
  cooldown_counter_ = cooldown;
}

}  // namespace minnow::optim
