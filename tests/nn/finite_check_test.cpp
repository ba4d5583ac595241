#include <minnow/nn/module/finite_check.h>

#include <chrono>
#include <gtest/gtest.h>
#include <limits>
#include <minnow/minnow.h>
#include <minnow/tensor/sim/options.h>
#include "support/devices.h"
#include "support/thrown.h"

namespace minnow {
namespace {

using test::error_of;
using test::expect_contains;

constexpr double kInf = std::numeric_limits<double>::infinity(), kNan = std::numeric_limits<double>::quiet_NaN();

class FiniteCheck : public test::DeviceTest {
 protected:
  static Tensor number(double x) { return full({}, x, {.device = device()}); }
};
INSTANTIATE_TEST_SUITE_P(Devices, FiniteCheck, test::all_devices(), test::device_test_name);

TEST_P(FiniteCheck, ReportsTheFirstBadLoss) {
  for (const double bad : {kNan, kInf, -kInf}) {
    nn::FiniteCheck check;
    check.finish();  // nothing was counted
    for (int i = 0; i < 3; ++i) check(number(i));
    check.finish();
    try {
      check(number(bad));
      check(number(1));
      check(number(bad));
    } catch (const ValueError&) {}
    const unsigned line = __LINE__ + 1;
    const std::string text = error_of<ValueError>([&] { check.finish(); });
    expect_contains(text, "FiniteCheck: loss number 4 was the first that is NaN or infinite  (finite_check_test.cpp:" +
                              std::to_string(line) + ")");
    expect_contains(error_of<ValueError>([&] { check.finish(); }), "loss number 4");
  }
}

TEST_P(FiniteCheck, TellsWithoutBeingAsked) {
  nn::FiniteCheck check;
  check(number(1));
  const auto train = [&] {
    check(number(kNan));
    for (int i = 0; i < 3; ++i) {
      synchronize(device());  // as if the steps took their time
      check(number(1));
    }
  };
  expect_contains(error_of<ValueError>(train), "loss number 2");
}

TEST(FiniteCheckOnCpu, TellsAtOnce) {
  nn::FiniteCheck check;
  check(tensor(1.0));
  check(tensor({1.0F, 2.0F}));
  expect_contains(error_of<ValueError>([&] {
                    check(tensor({1.0F, std::numeric_limits<float>::infinity()}));
                  }),
                  "loss number 3");
  expect_contains(error_of<ValueError>([&] { check(Tensor()); }), "undefined");
}

TEST_P(FiniteCheck, OutsideAndInsideOfACapturedStep) {
  nn::FiniteCheck outside, inside;
  CapturedStep step(
      [&](const Tensor& x) {
        const Tensor loss = sum(x) * 2;
        inside(loss);
        return loss;
      },
      {.device = device(), .warm_up = 1});
  const auto run = [&](double x) {
    const Tensor loss = step(number(x));
    outside(loss);
    inside.poll();
  };
  for (int i = 0; i < 4; ++i) run(i);
  EXPECT_EQ(step.replays(), device().is_cuda() ? 3 : 0);
  outside.finish();
  inside.finish();
  try {
    run(kInf);
  } catch (const ValueError&) {}
  expect_contains(error_of<ValueError>([&] { outside.finish(); }), "loss number 5");
  expect_contains(error_of<ValueError>([&] { inside.finish(); }), "loss number 5");

  nn::FiniteCheck late;
  CapturedStep at_once([&](const Tensor& x) { late(x); }, {.device = device(), .warm_up = 0});
  expect_contains(error_of<BackendError>([&] { at_once(number(1)); }), "FiniteCheck: cannot be captured");
}

TEST(FiniteCheckOnSim, DoesNotWait) {
  const Tensor loss = full({}, 1, {.device = "sim"});
  nn::FiniteCheck check;
  check(loss);
  check.finish();
  const sim::ScopedOptions slow({.bandwidth = 80});  // 16 bytes take 0.2 seconds
  const auto start = std::chrono::steady_clock::now();
  check(loss);
  for (int i = 0; i < 3; ++i) check.poll();
  const std::chrono::duration<double> calls = std::chrono::steady_clock::now() - start;
  check.finish();
  const std::chrono::duration<double> all = std::chrono::steady_clock::now() - start;
  EXPECT_LT(calls.count(), 0.15);
  EXPECT_GT(all.count(), 0.2);
}

}  // namespace
}  // namespace minnow
