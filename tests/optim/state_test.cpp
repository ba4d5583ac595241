// States that an optimizer and a scheduler accept, and errors for the others.

#include <gtest/gtest.h>
#include <limits>
#include <minnow/minnow.h>
#include "support/thrown.h"

namespace minnow::optim {
namespace {

Tensor number(double value) { return full({}, value, {.dtype = DType::float64}); }

TEST(OptimizerState, CountsAreWholeAndFlagsAre0Or1) {
  const Tensor w = ones({2}).requires_grad_();
  sum(w * w).backward();
  Adam adam({w}, {.lr = 0.5});
  adam.step();
  const auto refused = [&](const char* name, double value, const std::string& why) {
    StateDict values = adam.state_dict();
    values.set(name, number(value));
    const std::string text = test::error_of<ValueError>([&] { adam.load_state_dict(values); });
    EXPECT_NE(text.find("'" + std::string(name) + "' " + why), std::string::npos) << text;
    EXPECT_EQ(adam.state_dict().at("state.0.step").item(), 1);
    EXPECT_FALSE(adam.options().amsgrad);
    EXPECT_EQ(adam.lr(), 0.5);
  };
  refused("state.0.step", 2.5, "must be a whole number");
  refused("state.0.step", -1, "must be a whole number");
  refused("state.0.step", std::numeric_limits<double>::quiet_NaN(), "must be a whole number");
  refused("param_groups.0.amsgrad", 0.3, "must be 0 or 1");
  refused("param_groups.0.maximize", -1, "must be 0 or 1");
  refused("param_groups.0.maximize", std::numeric_limits<double>::quiet_NaN(), "must be 0 or 1");
}

TEST(OptimizerState, ExampleInTheHintIsValid) {
  const Tensor w = ones({2}).requires_grad_();
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const auto proposal = [](auto f) {
    const std::string text = test::error_of<ValueError>(f);
    return text.substr(text.find("e.g. "));
  };
  EXPECT_EQ(proposal([&] { Adam({w}, {.lr = nan}); }), "e.g. 1e-3");
  EXPECT_EQ(proposal([&] { Adam({w}, {.lr = -1}); }), "e.g. 1e-3");
  EXPECT_EQ(proposal([&] { AdamW({w}, {.weight_decay = -1}); }), "e.g. 1e-2");
  EXPECT_EQ(proposal([&] { Adam({w}, {.eps = nan}); }), "e.g. 1e-8");
  EXPECT_EQ(proposal([&] { SGD({w}, {.lr = nan}); }), "e.g. 1e-3");
  EXPECT_EQ(proposal([&] { SGD({w}, {.momentum = -1}); }), "e.g. 0.9");
  EXPECT_EQ(proposal([&] { SGD({w}, {.weight_decay = nan}); }), "e.g. 1e-4");
}

TEST(OptimizerState, MovedFromSchedulerIsAnError) {
  const Tensor w = ones({2}).requires_grad_();
  SGD sgd({w}, {.lr = 1});
  LRScheduler scheduler(sgd, [](double base, std::int64_t t) { return base / static_cast<double>(1 + t); });
  LRScheduler to = std::move(scheduler);
  for (const std::string& text : {test::error_of<ValueError>([&] { scheduler.step(); }),
                                  test::error_of<ValueError>([&] { scheduler.set_steps(3); })})
    EXPECT_NE(text.find("LRScheduler: it was moved from  (state_test.cpp:"), std::string::npos) << text;
  to.step();
  EXPECT_EQ(sgd.lr(), 0.5);
  EXPECT_EQ(to.steps(), 1);
}

TEST(OptimizerState, FailedSchedulerStepChangesNothing) {
  const Tensor w = ones({2}).requires_grad_();
  SGD sgd({w}, {.lr = 1});
  LRScheduler scheduler(sgd, [](double base, std::int64_t t) { return t == 1 ? -1 : base; });
  EXPECT_THROW(scheduler.step(), ValueError);
  EXPECT_EQ(scheduler.steps(), 0);
}

}  // namespace
}  // namespace minnow::optim
