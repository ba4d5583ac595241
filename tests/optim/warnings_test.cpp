#include <gtest/gtest.h>
#include <string>
#include <vector>
#include <minnow/minnow.h>
#include "support/thrown.h"

/// Warnings about steps that are out of order or change nothing.
namespace minnow {
namespace {

using test::expect_contains;

class StepWarnings : public testing::Test {
 protected:
  StepWarnings() {
    before_ = set_warning_handler([this](const std::string& text) { warnings.push_back(text); });
  }
  ~StepWarnings() override { set_warning_handler(before_); }

  std::vector<std::string> warnings;

 private:
  WarningHandler before_;
};

TEST_F(StepWarnings, OfASchedulerBeforeTheOptimizer) {
  nn::Linear net(2, 1);
  sum(net(ones({1, 2}))).backward();
  for (int i = 0; i < 2; ++i) {
    optim::SGD sgd(net.parameters(), 0.1);
    optim::StepLR schedule(sgd, {.step_size = 3});
    schedule.step();
    sgd.step();
    schedule.step();
  }
  ASSERT_EQ(warnings.size(), 1U);  // for the line, once
  expect_contains(warnings[0], "the SGD has not made a step");
  expect_contains(warnings[0], "warnings_test.cpp:32)");

  optim::SGD sgd(net.parameters(), 0.1), resumed(net.parameters(), 0.1);
  optim::StepLR schedule(sgd, {.step_size = 3});
  sgd.step();
  schedule.step();
  resumed.load_state_dict(sgd.state_dict());
  optim::StepLR(resumed, {.step_size = 3}).step();
  EXPECT_EQ(warnings.size(), 1U);
}

TEST_F(StepWarnings, OfAStepWithoutAnyGradient) {
  nn::Linear net(2, 1), other(2, 1);
  optim::Adam adam(net.parameters(), 1e-3);
  sum(other(ones({1, 2}))).backward();
  for (int i = 0; i < 3; ++i) adam.step();
  ASSERT_EQ(warnings.size(), 1U);
  expect_contains(warnings[0], "Adam::step: none of the optimizer's parameters has a gradient");
  expect_contains(warnings[0], "warnings_test.cpp:53)");
  net.weight.set_grad(ones({1, 2}));  // one is enough
  adam.step();
  EXPECT_EQ(warnings.size(), 1U);
}

}  // namespace
}  // namespace minnow
