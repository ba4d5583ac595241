#pragma once

#include <cstdint>
#include <utility>
#include <vector>
#include <minnow/nn/module/module.h>
#include <minnow/optim/optimizer.h>
#include <minnow/tensor/error.h>
#include <minnow/tensor/io/state_dict.h>
#include <minnow/tensor/random.h>

namespace minnow::training {

struct FindLROptions {
  double start = 1e-7, end = 10;  ///< the rates of the first and of the last step
  std::int64_t steps = 100;       ///< over which the rate grows by the same factor each time; at least 10
  double smoothing = 0.95;        ///< of the losses: the weight of those before, in [0, 1)
  double diverges = 4;            ///< it ends when a smoothed loss is so many times the least one
};

/// What losses are like at which learning rates.
struct LRCurve {
  std::vector<double> rates, losses;  ///< losses: smoothed
  /// The rate around which the loss falls fastest over the logarithm of the rate; NaN if it never falls.
  double suggestion = 0;
};

namespace detail {

/// Steps with growing rates, and what was before them.
class LRSearch {
 public:
  LRSearch(nn::Module& model, optim::Optimizer& optimizer, const FindLROptions& options, SourceLocation where);
  bool is_over() const { return over_; }
  void begin_step();
  /// ShapeError unless the loss has one element.
  void end_step(const Tensor& loss);
  void restore();
  LRCurve curve() const;

 private:
  nn::Module& model_;
  optim::Optimizer& optimizer_;
  const FindLROptions options_;
  const SourceLocation where_;
  StateDict weights_, state_;
  std::vector<std::pair<Tensor, Tensor>> gradients_;
  std::vector<double> shares_;  ///< of the groups' rates in the first one
  PhiloxState random_;
  LRCurve curve_;
  double average_ = 0, least_ = 0;
  bool over_ = false;
};

}  // namespace detail

/// Tries learning rates (Smith 2017, "Cyclical learning rates for training neural networks"): one step for each, with
/// batches of the loader, from the first to the last or until the loss diverges.  step(batch): computes the gradients
/// of a batch and returns its loss; the optimizer steps after it.
///
///     const auto curve = training::find_lr(net, adam, train, [&](auto& batch) {
///       auto& [x, y] = batch;
///       const Tensor loss = nn::cross_entropy(net(x), y);
///       adam.zero_grad();
///       loss.backward();
///       return loss;
///     });
///     adam.set_lr(curve.suggestion);
///
/// Afterwards, and if step() throws, all is as before, bit by bit: parameters, buffers, gradients, the optimizer's
/// state and rates, the default generator and the loader's position (that of its state_dict()).  Waits for each loss.
/// ValueError for options out of range, or a loader without batches.
template <class Loader, class Step>
LRCurve find_lr(nn::Module& model, optim::Optimizer& optimizer, Loader& loader, const Step& step,
                const FindLROptions& options = {}, SourceLocation where = SourceLocation::current()) {
  detail::LRSearch search(model, optimizer, options, where);
  constexpr bool kHasPosition = requires { loader.load_state_dict(loader.state_dict()); };
  StateDict position;
  if constexpr (kHasPosition)
    for (const auto& [name, value] : loader.state_dict()) position.set(name, value.clone());
  const auto restore = [&] {
    search.restore();
    if constexpr (kHasPosition) loader.load_state_dict(position, where);
  };
  try {
    while (!search.is_over()) {
      bool empty = true;
      for (auto& batch : loader) {
        empty = false;
        search.begin_step();
        search.end_step(step(batch));
        if (search.is_over()) break;
      }
      if (empty) throw ValueError("find_lr: the loader has no batches\ngive it samples", where);
    }
  } catch (...) {
    restore();
    throw;
  }
  restore();
  return search.curve();
}

}  // namespace minnow::training
