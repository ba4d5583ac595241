// Rows of docs/differences-from-pytorch.md about optimizers and schedules that no other test asserts.

#include <cmath>
#include <gtest/gtest.h>
#include <type_traits>
#include <minnow/minnow.h>

namespace minnow::optim {
namespace {

struct Rate {
  double lr, momentum;
};

Tensor one() { return ones({1}, {.dtype = DType::float64}).requires_grad_(); }

/// One step with the gradient 1: how far it goes.
template <class Optimizer> double step_of(Optimizer& optimizer, const Tensor& p) {
  const double before = p.item();
  p.set_grad(ones_like(p));
  optimizer.step();
  return before - p.item();
}

template <class Scheduler> std::vector<Rate> rates(SGD& sgd, const Tensor& p, Scheduler& scheduler, int steps) {
  std::vector<Rate> seen;
  for (int i = 0; i < steps; ++i, scheduler.step()) {
    seen.push_back({sgd.lr(), sgd.momentum()});
    (void)step_of(sgd, p);
  }
  return seen;
}

TEST(OptimDifferences, AChainedScheduleStartsFromTheRateOfTheOneBefore) {
  const LRFunction half = ExponentialLR({.gamma = 0.5}),
                   shrink = LambdaLR([](std::int64_t t) { return 1 / static_cast<double>(1 + t); });
  for (const auto& [first, second] : {std::pair(half, shrink), std::pair(shrink, half)}) {
    const Tensor p = one();
    SGD sgd({p}, {.lr = 1});
    ChainedScheduler chained(sgd, {first, second});
    const auto seen = rates(sgd, p, chained, 3);  // in PyTorch LambdaLR sets 1, 1 / 2, 1 / 3 behind the other
    EXPECT_EQ(seen[1].lr, 0.5 / 2);
    EXPECT_NEAR(seen[2].lr, 0.25 / 3, 1e-15);
  }
}

TEST(OptimDifferences, OfSeveralSchedulersTheLastToStepSetsTheRate) {
  const Tensor p = one();
  SGD sgd({p}, {.lr = 1});
  ExponentialLR half(sgd, 0.5), tenth(sgd, 0.1);
  (void)step_of(sgd, p);
  half.step(), tenth.step();
  EXPECT_EQ(sgd.lr(), 0.1);
  half.step();
  EXPECT_EQ(sgd.lr(), 0.25);
}

TEST(OptimDifferences, ACycleInASequenceChangesNothingBeforeItsTurn) {
  for (const auto& [cycle, lr, momentum] :
       {std::tuple(LRFunction(OneCycleLR({.max_lr = 10, .total_steps = 10})), 0.4, 0.95),
        std::tuple(LRFunction(CyclicLR({.base_lr = 0.1, .max_lr = 1, .step_size_up = 3})), 0.1, 0.9)}) {
    const Tensor p = one();
    SGD sgd({p}, {.lr = 1, .momentum = 0.5});
    SequentialLR both(sgd, {StepLR({.step_size = 2, .gamma = 0.25}), cycle}, {3});
    const auto seen = rates(sgd, p, both, 4);
    for (int i = 0; i < 3; ++i) {
      EXPECT_EQ(seen[static_cast<std::size_t>(i)].lr, i < 2 ? 1 : 0.25) << i;
      EXPECT_EQ(seen[static_cast<std::size_t>(i)].momentum, 0.5) << i;
    }
    EXPECT_NEAR(seen[3].lr, lr, 1e-12);
    EXPECT_NEAR(seen[3].momentum, momentum, 1e-12);
  }
}

TEST(OptimDifferences, AChangedOptionCountsInTheSameStep) {
  const Tensor p = one(), q = one();
  ASGD asgd({p}, {.lr = 0.1, .lambd = 0});
  for (const double lr : {0.1, 0.2, 0.3}) {
    asgd.set_lr(lr);
    EXPECT_NEAR(step_of(asgd, p), lr, 1e-12);
  }
  // Gradients of 1: the second mean is 1 when corrected, the first m = 0.5 * 0.1 + 0.5 * 1.
  NAdam nadam({q}, {.lr = 0.1, .eps = 0});
  (void)step_of(nadam, q);
  nadam.options().betas.first = 0.5;
  const auto momentum = [](int t) { return 0.5 * (1 - 0.5 * std::pow(0.96, t * 4e-3)); };
  const double product = momentum(1) * momentum(2);  // in PyTorch that of 0.9 in the first step
  const double want = (1 - momentum(2)) / (1 - product) + 0.55 * momentum(3) / (1 - product * momentum(3));
  EXPECT_NEAR(step_of(nadam, q), 0.1 * want, 1e-12);
}

TEST(OptimDifferences, LBFGSIsNoOptimizer) {
  static_assert(!std::is_base_of_v<Optimizer, LBFGS>);
  static_assert(!std::is_constructible_v<StepLR, LBFGS&, StepLROptions>);
  LBFGS lbfgs({one()}, {.lr = 0.25});
  for (const auto& [name, value] : lbfgs.state_dict()) EXPECT_EQ(name.find("lr"), std::string::npos) << name;
}

}  // namespace
}  // namespace minnow::optim
