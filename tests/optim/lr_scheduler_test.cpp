// What every learning rate scheduler gives at its first, last and later steps, and for several groups.

#include <cmath>
#include <gtest/gtest.h>
#include <limits>
#include <minnow/minnow.h>
#include "support/thrown.h"

namespace minnow {
namespace {

using namespace optim;

Tensor leaf() { return ones({1}).requires_grad_(); }

TEST(LRScheduler, FunctionsAtTheirFirstAndLastSteps) {
  const LRFunction step = StepLR({.step_size = 3, .gamma = 0.5});
  EXPECT_EQ(step(8, 0), 8);
  EXPECT_EQ(step(8, 2), 8);
  EXPECT_EQ(step(8, 3), 4);
  EXPECT_EQ(step(8, 5), 4);
  EXPECT_EQ(step(8, 6), 2);
  const LRFunction to_0 = StepLR({.step_size = 1, .gamma = 0}),
                   down = LinearLR({.start_factor = 1, .end_factor = 0, .total_iters = 2});
  EXPECT_EQ(to_0(8, 0), 8);
  EXPECT_EQ(to_0(8, 1), 0);
  EXPECT_NEAR(down(5, 2), 0, 1e-12);

  const LRFunction cosine = CosineAnnealingLR({.T_max = 4, .eta_min = 2});
  EXPECT_EQ(cosine(10, 0), 10);
  EXPECT_NEAR(cosine(10, 1), 2 + 8 * (1 + std::sqrt(0.5)) / 2, 1e-12);
  EXPECT_NEAR(cosine(10, 2), 6, 1e-12);
  EXPECT_NEAR(cosine(10, 4), 2, 1e-12);
  EXPECT_NEAR(cosine(10, 6), 6, 1e-12);  // rises again, as PyTorch's
  EXPECT_NEAR(cosine(10, 8), 10, 1e-12);

  const LRFunction up = LinearLR({.start_factor = 0.2, .end_factor = 1, .total_iters = 4});
  EXPECT_NEAR(up(5, 0), 1, 1e-12);
  EXPECT_NEAR(up(5, 2), 3, 1e-12);
  EXPECT_NEAR(up(5, 4), 5, 1e-12);
  EXPECT_NEAR(up(5, 1000), 5, 1e-12);

  const LRFunction both = SequentialLR({up, step, cosine}, {4, 7});
  EXPECT_NEAR(both(5, 3), 4, 1e-12);
  EXPECT_EQ(both(5, 4), 5);  // the second begins, at its step 0
  EXPECT_EQ(both(5, 6), 5);
  EXPECT_EQ(both(5, 7), 5);  // and the third
  EXPECT_NEAR(both(5, 11), 2, 1e-12);
}

TEST(LRScheduler, ScalesEveryGroupAndSetStepsGoesBack) {
  const Tensor p = leaf(), q = leaf(), r = leaf();
  SGD sgd({p}, {.lr = 1});
  sgd.add_param_group({q}, {.lr = 0.1});
  StepLR scheduler(sgd, {.step_size = 2, .gamma = 0.5});
  sgd.add_param_group({r}, {.lr = 3});  // added after the scheduler was made: not scheduled
  for (int i = 0; i < 5; ++i) scheduler.step();
  EXPECT_EQ(scheduler.steps(), 5);
  EXPECT_EQ(sgd.lr(0), 0.25);
  EXPECT_DOUBLE_EQ(sgd.lr(1), 0.025);
  EXPECT_EQ(sgd.lr(2), 3);
  scheduler.set_steps(2);
  EXPECT_EQ(sgd.lr(0), 0.5);
  scheduler.set_steps(0);
  EXPECT_EQ(sgd.lr(0), 1);
  EXPECT_DOUBLE_EQ(sgd.lr(1), 0.1);
  EXPECT_THROW(scheduler.set_steps(-1), ValueError);
  EXPECT_THROW(LRScheduler(sgd, LRFunction()), ValueError);
  const LRFunction any = StepLR({.step_size = 1});
  EXPECT_THROW(SequentialLR({any, any}, {0}), ValueError);
  EXPECT_THROW(SequentialLR({any, any, any}, {3, 3}), ValueError);
}

TEST(LRScheduler, NextOptimizerStepUsesTheNewRate) {
  const Tensor p = leaf();
  SGD sgd({p}, {.lr = 0.5});
  StepLR scheduler(sgd, {.step_size = 1, .gamma = 0.5});
  for (const double want : {0.5, 0.25, 0.125}) {  // 1 - 0.5, - 0.25, - 0.125
    p.set_grad(ones({1}));
    sgd.step();
    scheduler.step();
    EXPECT_EQ(p.item(), want);
  }
}

TEST(LRScheduler, GroupsMayHaveFunctionsOfTheirOwn) {
  SGD sgd({leaf()}, {.lr = 1, .momentum = 0.5});
  sgd.add_param_group({leaf()}, {.lr = 0.5, .momentum = 0.5});
  LRScheduler scheduler(
      sgd, lr_by_group({LambdaLR([](auto) { return 0.5; }), LambdaLR([](auto t) { return t == 0 ? 1.0 : 0.25; })}));
  scheduler.step();
  EXPECT_EQ(scheduler.get_last_lr(), (std::vector<double>{0.5, 0.125}));
  sgd.set_lr(1);
  LRScheduler both(sgd, SequentialLR({lr_by_group({LinearLR(), OneCycleLR({.max_lr = 25, .total_steps = 9})}),
                                      ExponentialLR({.gamma = 0.5})},
                                     {2}));
  EXPECT_NEAR(sgd.lr(0), 1.0 / 3, 1e-12);
  EXPECT_EQ(sgd.lr(1), 1);
  EXPECT_EQ(sgd.momentum(0), 0.5);
  EXPECT_EQ(sgd.momentum(1), 0.95);
  both.set_steps(3);
  EXPECT_EQ(both.get_last_lr(), (std::vector<double>{0.5, 0.5}));
}

TEST(LRScheduler, ResumesFromItsState) {
  const auto make = [](Optimizer& o) { return OneCycleLR(o, {.max_lr = 0.5, .total_steps = 10}); };
  SGD a({leaf()}, {.lr = 1, .momentum = 0.5}), b({leaf()}, {.lr = 2});
  OneCycleLR from = make(a), to = make(b);
  for (int i = 0; i < 4; ++i) from.step();
  to.load_state_dict(from.state_dict());
  EXPECT_EQ(to.steps(), 4);
  EXPECT_EQ(b.lr(), a.lr());
  EXPECT_EQ(b.momentum(), a.momentum());
  from.step();
  to.step();
  EXPECT_EQ(b.lr(), a.lr());
  // The base rates are part of the state.
  SGD c({leaf()}, {.lr = 1}), d({leaf()}, {.lr = 2});
  ExponentialLR first(c, 0.5), second(d, 0.5);
  first.step();
  second.load_state_dict(first.state_dict());
  second.step();
  EXPECT_EQ(d.lr(), 0.25);
}

TEST(LRScheduler, RefusesStateThatDoesNotFit) {
  SGD sgd({leaf()}, {.lr = 1}), two({leaf()}, {.lr = 1});
  two.add_param_group({leaf()});
  ExponentialLR scheduler(sgd, 0.5), of_two(two, 0.5);
  OneCycleLR short_one(two, {.max_lr = 0.5, .total_steps = 3});
  StateDict more = scheduler.state_dict(), far = short_one.state_dict(), part = scheduler.state_dict();
  more.set("best", ones({1}));
  far.set("steps", full({}, 4.0));
  part.set("steps", full({}, 0.5));
  const auto refused = [](auto& s, const StateDict& values, const char* why) {
    const std::string text = test::error_of<ValueError>([&] { s.load_state_dict(values); });
    EXPECT_NE(text.find(why), std::string::npos) << text;
    EXPECT_EQ(s.steps(), 0);
  };
  refused(scheduler, of_two.state_dict(), "'base_lrs' must have 1 numbers");
  refused(scheduler, {}, "'steps' is missing");
  refused(scheduler, more, "'best' is not one of its names");
  refused(scheduler, part, "'steps' must be a whole number");
  refused(short_one, far, "step 4 is after the last");
  EXPECT_EQ(sgd.lr(), 1);
}

TEST(ReduceLROnPlateau, TakesTensorsAndResumes) {
  SGD a({leaf()}, {.lr = 1}), b({leaf()}, {.lr = 1});
  ReduceLROnPlateau from(a, {.factor = 0.5, .patience = 1, .cooldown = 2}),
      to(b, {.factor = 0.5, .patience = 1, .cooldown = 2});
  for (const double loss : {1.0, 1.0, std::nan("")}) from.step(full({}, loss));
  EXPECT_EQ(a.lr(), 0.5) << "NaN is no improvement";
  EXPECT_EQ(from.best(), 1);
  EXPECT_TRUE(from.in_cooldown());
  to.load_state_dict(from.state_dict());
  b.load_state_dict(a.state_dict());
  EXPECT_EQ(to.steps(), 3);
  for (int i = 0; i < 5; ++i) {
    from.step(2.0);
    to.step(2.0);
    EXPECT_EQ(from.num_bad_epochs(), to.num_bad_epochs());
    EXPECT_EQ(a.lr(), b.lr());
  }
  EXPECT_EQ(b.lr(), 0.25);
  StateDict broken = from.state_dict();
  broken.set("best", full({}, NAN));
  EXPECT_THROW(to.load_state_dict(broken), ValueError);
  EXPECT_THROW(to.load_state_dict({}), ValueError);
  EXPECT_THROW(to.step(ones({2})), ShapeError);
}

TEST(ParamGroups, HaveTheirOwnOptions) {
  const Tensor p = leaf(), q = leaf();
  SGD sgd({p}, {.lr = 0.5, .weight_decay = 1});
  sgd.add_param_group({q}, {.lr = 0.5, .momentum = 0.5});
  for (int i = 0; i < 2; ++i) {
    p.set_grad(ones({1}));
    q.set_grad(ones({1}));
    sgd.step();
  }
  EXPECT_EQ(p.item(), -0.5);   // 1 - 0.5 (1 + 1) = 0;  0 - 0.5 (1 + 0)
  EXPECT_EQ(q.item(), -0.25);  // 1 - 0.5 = 0.5;  0.5 - 0.5 (0.5 + 1)
  EXPECT_EQ(sgd.num_param_groups(), 2);
  EXPECT_THROW(sgd.add_param_group({p}, {}), ValueError);
  sgd.zero_grad();
  EXPECT_FALSE(p.grad().defined() || q.grad().defined());
}

}  // namespace
}  // namespace minnow
