#include <minnow/optim/schedule.h>

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <numbers>
#include <minnow/tensor/error.h>

namespace minnow::optim {
namespace {

void require_positive(const char* op, const char* name, std::int64_t value, SourceLocation where) {
  if (value <= 0) throw ValueError(fmt::format("{}: {} = {} is not positive\nit counts steps", op, name, value), where);
}

}  // namespace

Rate step_rate(StepLROptions o, SourceLocation where) {
  require_positive("StepLR", "step_size", o.step_size, where);
  if (!(o.gamma >= 0) || !std::isfinite(o.gamma))
    throw ValueError(
        fmt::format("StepLR: gamma = {} is not a finite number of at least 0\n0.1 is the usual one", o.gamma), where);
  return [o](double base, std::int64_t t) { return base * std::pow(o.gamma, static_cast<double>(t / o.step_size)); };
}

Rate cosine_rate(CosineAnnealingLROptions o, SourceLocation where) {
  require_positive("CosineAnnealingLR", "t_max", o.t_max, where);
  if (!(o.eta_min >= 0) || !std::isfinite(o.eta_min))
    throw ValueError(
        fmt::format("CosineAnnealingLR: eta_min = {} is not a finite number of at least 0\n0 is the usual one",
                    o.eta_min),
        where);
  return [o](double base, std::int64_t t) {
    const double angle = std::numbers::pi * static_cast<double>(t) / static_cast<double>(o.t_max);
    return o.eta_min + (base - o.eta_min) * (1 + std::cos(angle)) / 2;
  };
}

Rate linear_rate(LinearLROptions o, SourceLocation where) {
  require_positive("LinearLR", "total_iters", o.total_iters, where);
  if (!(o.start_factor > 0 && o.start_factor <= 1) || !(o.end_factor >= 0 && o.end_factor <= 1))
    throw ValueError(
        fmt::format("LinearLR: the factors {} and {} are not in (0, 1] and [0, 1]\nthey are shares of the rate",
                    o.start_factor, o.end_factor),
        where);
  return [o](double base, std::int64_t t) {
    const double share = static_cast<double>(std::min(t, o.total_iters)) / static_cast<double>(o.total_iters);
    return base * (o.start_factor + (o.end_factor - o.start_factor) * share);
  };
}

Rate sequential_rate(std::vector<Rate> rates, std::vector<std::int64_t> milestones, SourceLocation where) {
  if (rates.empty() || milestones.size() + 1 != rates.size())
    throw ValueError(
        fmt::format("SequentialLR: {} rates need one milestone fewer, not {}\nrates[i + 1] begins at milestones[i]",
                    rates.size(), milestones.size()),
        where);
  if (std::any_of(rates.begin(), rates.end(), [](const Rate& r) { return !r; }))
    throw ValueError("SequentialLR: a rate is empty\npass one, e.g. step_rate({.step_size = 10})", where);
  for (std::size_t i = 0; i < milestones.size(); ++i)
    if (milestones[i] <= (i ? milestones[i - 1] : 0))
      throw ValueError(
          "SequentialLR: the milestones are not ascending numbers above 0\neach rate needs a step of its own", where);
  return [rates = std::move(rates), milestones = std::move(milestones)](double base, std::int64_t t) {
    const auto next = std::upper_bound(milestones.begin(), milestones.end(), t);
    const auto i = static_cast<std::size_t>(next - milestones.begin());
    return rates[i](base, t - (i ? milestones[i - 1] : 0));
  };
}

Schedule::Schedule(Optimizer& optimizer, Rate rate, SourceLocation where)
    : optimizer_(optimizer), rate_(std::move(rate)) {
  if (!rate_) throw ValueError("Schedule: the rate is empty\npass one, e.g. step_rate({.step_size = 10})", where);
  for (int g = 0; g < optimizer.num_groups(); ++g) bases_.push_back(optimizer.lr(g));
  apply(0, where);
}

void Schedule::step(SourceLocation where) { apply(steps_ + 1, where); }

void Schedule::set_steps(std::int64_t steps, SourceLocation where) {
  if (steps < 0) throw ValueError(fmt::format("set_steps: {} is negative\nit counts the steps done", steps), where);
  apply(steps, where);
}

void Schedule::apply(std::int64_t steps, SourceLocation where) {
  if (!rate_) throw ValueError("Schedule: it was moved from\nuse the one that it was moved to", where);
  for (std::size_t g = 0; g < bases_.size(); ++g)
    optimizer_.set_lr(static_cast<int>(g), rate_(bases_[g], steps), where);
  steps_ = steps;
}

}  // namespace minnow::optim
