// Inputs of a captured step: it has copies of them.

#include <gtest/gtest.h>
#include <minnow/minnow.h>
#include "support/devices.h"

namespace minnow {
namespace {

class CapturedInputsTest : public test::DeviceTest {};
INSTANTIATE_TEST_SUITE_P(Devices, CapturedInputsTest, test::all_devices(), test::device_test_name);

/// Runs f on several inputs, captured and directly, and compares the results.
template <class F> void expect_same(Device device, const std::vector<Tensor>& inputs, F&& f) {
  CapturedStep step(f, {.device = device, .warm_up = 0});
  for (const Tensor& x : inputs) {
    const Tensor want = f(x.contiguous().to(device)).cpu();
    const Tensor got = step(x);
    EXPECT_TRUE(got.cpu().allclose(want, 1e-6, 1e-6));
  }
}

TEST_P(CapturedInputsTest, InputsMayLieAnywhere) {
  const Tensor whole = randn({7, 5, 4}).to(device());
  expect_same(device(),
              {whole(0), whole(3), whole(all, 0, all).narrow(0, 1, 5), whole(1).cpu(), whole(2).t().contiguous().t(),
               zeros({5, 4}), whole(4)},
              [](const Tensor& x) { return exp(x) * 2 + x.sum(0); });
}

TEST_P(CapturedInputsTest, StepMayWriteItsInput) {
  const Tensor x = full({3}, 2.0, {.device = device()});
  CapturedStep step(
      [](const Tensor& in) {
        Tensor y = in;
        y.mul_(3);
        return y + 1;
      },
      {.device = device(), .warm_up = 0});
  for (int i = 0; i < 3; ++i) EXPECT_EQ(step(x).to_vector<double>(), std::vector<double>(3, 7.0));
  EXPECT_EQ(x.to_vector<double>(), std::vector<double>(3, 2.0)) << "it is the caller's";
}

TEST_P(CapturedInputsTest, StepMayReturnItsInput) {
  CapturedStep step([](const Tensor& x) { return x.t(); }, {.device = device(), .warm_up = 0});
  for (int i = 0; i < 3; ++i) {
    const Tensor result = step(full({2, 1}, 1.0 + i, {.device = device()}));
    const Tensor other = full({2, 1}, -1.0, {.device = device()});
    EXPECT_EQ(result.to_vector<double>(), std::vector<double>(2, 1.0 + i));
  }
}

TEST_P(CapturedInputsTest, StepMayKeepItsInput) {
  std::vector<Tensor> seen;
  CapturedStep step(
      [&](const Tensor& x) {
        seen = {x};
        return x + 1;
      },
      {.device = device(), .warm_up = 0});
  for (int i = 0; i < 3; ++i) {
    step(full({2}, 1.0 + i, {.device = device()}));
    EXPECT_EQ(seen[0].to_vector<double>(), std::vector<double>(2, 1.0 + i));
  }
}

TEST_P(CapturedInputsTest, InputMayBeWhatTheStepWrites) {
  const Tensor state = full({4}, 1.0, {.device = device()});
  CapturedStep step(
      [&](const Tensor& x) {
        Tensor s = state;
        s.mul_(2);
        s.add_(x);
        return s + x;
      },
      {.device = device(), .warm_up = 0});
  const std::vector<double> want = {4, 12, 36, 108};
  for (const double value : want) {
    const Tensor result = step(state);  // 2 state + state, and the old state once more
    EXPECT_EQ(result.to_vector<double>(), std::vector<double>(4, value));
  }
  CapturedStep twice([](const Tensor& x) { return (x * 2).t().contiguous(); }, {.device = device(), .warm_up = 0});
  Tensor x = arange(0, 4).reshape({2, 2}).to(device(), DType::float32);
  x = twice(x);
  for (int i = 0; i < 3; ++i) x = twice(x);
  EXPECT_EQ(x.to_vector<double>(), (std::vector<double>{0, 16, 32, 48}));
}

}  // namespace
}  // namespace minnow
