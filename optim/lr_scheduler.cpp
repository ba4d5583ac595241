#include <minnow/optim/lr_scheduler.h>

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <numbers>
#include <minnow/tensor/error.h>

namespace minnow::optim {
namespace {

void require_positive(const char* op, const char* name, std::int64_t value, SourceLocation where) {
  if (value <= 0)
    throw ValueError(fmt::format("{}: {} must be positive, got {}\nit is a number of steps", op, name, value), where);
}

}  // namespace

LRFunction step_lr(StepLROptions o, SourceLocation where) {
  require_positive("StepLR", "step_size", o.step_size, where);
  if (!(o.gamma >= 0) || !std::isfinite(o.gamma))
    throw ValueError(fmt::format("StepLR: gamma must be finite and at least 0, got {}\nthe default is 0.1", o.gamma),
                     where);
  return [o](double base, std::int64_t t) {
    const std::int64_t drops = t / o.step_size;
    return base * std::pow(o.gamma, static_cast<double>(drops));
  };
}

LRFunction cosine_annealing_lr(CosineAnnealingLROptions o, SourceLocation where) {
  require_positive("CosineAnnealingLR", "T_max", o.T_max, where);
  if (!(o.eta_min >= 0) || !std::isfinite(o.eta_min))
    throw ValueError(
        fmt::format("CosineAnnealingLR: eta_min must be finite and at least 0, got {}\nthe default is 0", o.eta_min),
        where);
  return [o](double base, std::int64_t t) {
    const double angle = std::numbers::pi * static_cast<double>(t) / static_cast<double>(o.T_max);
    return o.eta_min + (base - o.eta_min) * (1 + std::cos(angle)) / 2;
  };
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
  if (std::any_of(functions.begin(), functions.end(), [](const LRFunction& f) { return !f; }))
    throw ValueError("SequentialLR: a function is empty\npass one, e.g. step_lr({.step_size = 10})", where);
  for (std::size_t i = 0; i < milestones.size(); ++i)
    if (milestones[i] <= (i ? milestones[i - 1] : 0))
      throw ValueError(
          "SequentialLR: the milestones must be positive and ascending\neach function needs at least one step", where);
  return [functions = std::move(functions), milestones = std::move(milestones)](double base, std::int64_t t) {
    const auto next = std::upper_bound(milestones.begin(), milestones.end(), t);
    const auto i = static_cast<std::size_t>(next - milestones.begin());
    return functions[i](base, t - (i ? milestones[i - 1] : 0));
  };
}

LRScheduler::LRScheduler(Optimizer& optimizer, LRFunction function, SourceLocation where)
    : optimizer_(optimizer), function_(std::move(function)) {
  if (!function_)
    throw ValueError("LRScheduler: the function is empty\npass one, e.g. step_lr({.step_size = 10})", where);
  for (int g = 0; g < optimizer.num_param_groups(); ++g) base_lrs_.push_back(optimizer.lr(g));
  apply(0, where);
}

void LRScheduler::step(SourceLocation where) { apply(steps_ + 1, where); }

void LRScheduler::set_steps(std::int64_t steps, SourceLocation where) {
  if (steps < 0)
    throw ValueError(
        fmt::format("set_steps: the number of steps must be at least 0, got {}\n0 goes back to the start", steps),
        where);
  apply(steps, where);
}

void LRScheduler::apply(std::int64_t steps, SourceLocation where) {
  if (!function_) throw ValueError("LRScheduler: it was moved from\nuse the one that it was moved to", where);
  for (std::size_t g = 0; g < base_lrs_.size(); ++g)
    optimizer_.set_lr(static_cast<int>(g), function_(base_lrs_[g], steps), where);
  steps_ = steps;
}

}  // namespace minnow::optim
