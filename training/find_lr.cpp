#include <minnow/training/find_lr.h>

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <iterator>
#include <limits>
#include <numeric>
#include <minnow/autograd/grad_mode.h>
#include <minnow/nn/module/clone.h>
#include <minnow/tensor/error.h>

namespace minnow::training::detail {
namespace {

StateDict copied(const StateDict& state) {
  StateDict copy;
  for (const auto& [name, value] : state) copy.set(name, value.detach().clone());
  return copy;
}

}  // namespace

LRSearch::LRSearch(nn::Module& model, optim::Optimizer& optimizer, const FindLROptions& o, SourceLocation where)
    : model_(model), optimizer_(optimizer), options_(o), where_(where) {
  if (!(o.start > 0) || !(o.end > o.start) || !std::isfinite(o.end))
    throw ValueError(fmt::format("find_lr: start is {} and end {}\n0 < start < end, e.g. 1e-7 and 10", o.start, o.end),
                     where);
  if (o.steps < 10)
    throw ValueError(fmt::format("find_lr: steps must be at least 10, got {}\n100 is usual", o.steps), where);
  if (!(o.smoothing >= 0 && o.smoothing < 1))
    throw ValueError(fmt::format("find_lr: smoothing must be in [0, 1), got {}", o.smoothing), where);
  if (!(o.diverges > 1)) throw ValueError(fmt::format("find_lr: diverges must be above 1, got {}", o.diverges), where);
  weights_ = nn::snapshot(model, where), state_ = copied(optimizer.state_dict());
  for (const Tensor& p : model.parameters())
    gradients_.emplace_back(p, p.grad().defined() ? p.grad().clone() : Tensor());
  for (int g = 0; g < optimizer.num_param_groups(); ++g) shares_.push_back(optimizer.lr(g) / optimizer.lr(0));
  random_ = default_generator().state();
}

void LRSearch::begin_step() {
  const double share = static_cast<double>(curve_.rates.size()) / static_cast<double>(options_.steps - 1);
  curve_.rates.push_back(options_.start * std::pow(options_.end / options_.start, share));
  for (std::size_t g = 0; g < shares_.size(); ++g)
    optimizer_.set_lr(static_cast<int>(g), curve_.rates.back() * shares_[g], where_);
}

void LRSearch::end_step(const Tensor& loss) {
  loss.require_defined("find_lr", where_);
  if (loss.numel() != 1)
    throw ShapeError(fmt::format("find_lr: the loss has {} elements\nreturn its mean", loss.numel()), where_);
  average_ = options_.smoothing * average_ + (1 - options_.smoothing) * loss.detach().item<double>();
  const double steps = static_cast<double>(curve_.rates.size());
  const double smoothed = average_ / (1 - std::pow(options_.smoothing, steps));
  curve_.losses.push_back(smoothed);
  least_ = curve_.losses.size() == 1 ? smoothed : std::min(least_, smoothed);
  over_ = curve_.rates.size() == static_cast<std::size_t>(options_.steps) || !std::isfinite(smoothed) ||
          (least_ > 0 && smoothed > options_.diverges * least_);
  if (!over_) optimizer_.step();
}

void LRSearch::restore() {
  const NoGradGuard no_grad;
  model_.load_state_dict(weights_);
  optimizer_.load_state_dict(state_, where_);
  for (const auto& [parameter, gradient] : gradients_) parameter.set_grad(gradient);
  default_generator().set_state(random_);
}

LRCurve LRSearch::curve() const {
  LRCurve curve = curve_;
  curve.suggestion = std::numeric_limits<double>::quiet_NaN();
  // The rates' logarithms are evenly apart.  Means of a tenth on each side: single batches differ.
  const auto window = static_cast<std::ptrdiff_t>(std::max<std::size_t>(1, curve.losses.size() / 10));
  double fastest = 0;
  for (auto at = curve.losses.begin() + 2 * window; at - curve.losses.begin() + window < std::ssize(curve.losses);
       ++at) {
    const double slope = std::accumulate(at, at + window, 0.0) - std::accumulate(at - window, at, 0.0);
    if (slope < fastest)
      fastest = slope, curve.suggestion = curve.rates[static_cast<std::size_t>(at - curve.losses.begin())];
  }
  return curve;
}

}  // namespace minnow::training::detail
