// CapturedStepOptions::check_every: steps that do something else than what was captured are refused by name.

#include <gtest/gtest.h>
#include <minnow/minnow.h>
#include "support/devices.h"
#include "support/thrown.h"

namespace minnow {
namespace {

class CheckedStepTest : public test::DeviceTest {
 protected:
  static CapturedStepOptions options() { return {.device = device(), .warm_up = 1, .check_every = 3}; }
  void SetUp() override {
    if (device().is_cuda()) GTEST_SKIP() << "a graph has no list of calls";
  }
};
INSTANTIATE_TEST_SUITE_P(Devices, CheckedStepTest, test::all_devices(), test::device_test_name);

/// Runs a step until it is refused; the number of runs before, and the text.
template <class Step> std::pair<int, std::string> refused(Step& step, const Tensor& x) {
  for (int i = 0; i < 20; ++i) {
    try {
      step(x);
    } catch (const BackendError& error) { return {i, error.what()}; }
  }
  return {20, ""};
}

void expect_part(const std::string& text, const std::string& part) {
  EXPECT_NE(text.find(part), std::string::npos) << text << "\nhas no: " << part;
}

TEST_P(CheckedStepTest, BranchOfTheHostIsRefusedWithBothLines) {
  bool other = false;
  unsigned first = 0, second = 0;
  CapturedStep step(
      [&](const Tensor& x) {
        const Tensor y = x * 2;
        if (other) {
          second = __LINE__ + 1;
          return tanh(y);
        }
        first = __LINE__ + 1;
        return relu(y);
      },
      options());
  const Tensor x = ones({2, 3});
  for (int i = 0; i < 10; ++i) step(x);
  EXPECT_EQ(step.replays(), 9);
  other = true;
  const auto [runs, text] = refused(step, x);
  EXPECT_LT(runs, 3);
  expect_part(text,
              "BackendError: CapturedStep: the function does not make the calls that were captured  (checked_step");
  expect_part(text, "captured  call 2 of 2, relu: unary: ");
  expect_part(text, "now       call 2 of 2, tanh: unary: ");
  expect_part(text, "(checked_step_test.cpp:" + std::to_string(first) + ")");
  expect_part(text, "(checked_step_test.cpp:" + std::to_string(second) + ")");
  EXPECT_EQ(refused(step, x).first, 0) << "until it is what was captured";
  other = false;
  EXPECT_EQ(step(x).to_vector<double>(), std::vector<double>(6, 2.0));
  EXPECT_EQ(refused(step, x).second, "");
}

TEST_P(CheckedStepTest, NumberOfTheHostIsRefused) {
  double scale = 2;
  CapturedStep step([&](const Tensor& x) { return clamp(x, -scale, scale); }, options());
  const Tensor x = ones({3});
  EXPECT_EQ(refused(step, x).second, "");
  scale = 3;
  const std::string text = refused(step, x).second;
  expect_part(text, "clamp");
}

TEST_P(CheckedStepTest, OtherShapesAndMoreCallsAreRefused) {
  std::int64_t width = 2;
  int layers = 1;
  CapturedStep step(
      [&](const Tensor& x) {
        Tensor y = x.narrow(1, 0, width).contiguous();
        for (int i = 0; i < layers; ++i) y = exp(y);
        return sum(y);
      },
      options());
  const Tensor x = ones({2, 4});
  EXPECT_EQ(refused(step, x).second, "");
  width = 3;
  expect_part(refused(step, x).second, "float32[2, 3]");
  width = 2;
  layers = 2;
  expect_part(refused(step, x).second, "now       call 3 of 4, exp: unary");
}

TEST_P(CheckedStepTest, AnotherTensorIsRefused) {
  std::vector<Tensor> targets = {ones({3}, {.device = device()}), zeros({3}, {.device = device()})};
  std::size_t chosen = 0;
  CapturedStep step([&](const Tensor& x) { return x - targets[chosen]; }, options());
  const Tensor x = ones({3});
  EXPECT_EQ(refused(step, x).second, "");
  chosen = 1;
  expect_part(refused(step, x).second, "sub");
}

TEST_P(CheckedStepTest, ResultThatBecomesAnOperandIsRefused) {
  Tensor average = zeros({3}, {.device = device()});
  CapturedStep step([&](const Tensor& x) { return average = average * 0.5 + x; }, options());
  expect_part(refused(step, ones({3})).second, "mul");
}

TEST_P(CheckedStepTest, RefusedRunHasNoEffect) {
  manual_seed(2);
  const Tensor w = ones({3}, {.device = device()}).requires_grad_();
  optim::Adam adam({w}, {.lr = 0.1});
  bool other = false;
  const auto train = [&](const Tensor& x) {
    const Tensor loss = other ? sum(w * x * x) : sum(dropout(w, {.p = 0.5}) * x);
    adam.zero_grad();
    loss.backward();
    adam.step();
  };
  CapturedStep step(train, options());
  const Tensor x = full({3}, 0.5);
  for (int i = 0; i < 3; ++i) step(x);
  other = true;
  while (refused(step, x).first > 0) {}
  const auto before = w.to_vector<double>();
  const PhiloxState random = default_generator().state();
  EXPECT_THROW(step(x), BackendError);
  EXPECT_EQ(w.to_vector<double>(), before);
  EXPECT_EQ(default_generator().state().offset, random.offset);
}

/// Training gives the same bits as direct steps, whether it is checked or not.
TEST_P(CheckedStepTest, StepThatStaysTheSameIsNotRefused) {
  const auto train = [&](bool captured) {
    manual_seed(5);
    nn::Sequential net(nn::Linear(6, 8), nn::BatchNorm1d(8), nn::GELU(), nn::Dropout(0.3), nn::Linear(8, 3));
    net.to(device());
    optim::AdamW adam(net.parameters(), {.lr = 0.05});
    const auto step = [&](const Tensor& x, const Tensor& y) {
      const Tensor loss = nn::cross_entropy(net(x), y);
      adam.zero_grad();
      loss.backward();
      adam.step();
      return loss;
    };
    CapturedStep checked(step, options());
    std::vector<double> seen;
    for (int i = 0; i < 12; ++i) {
      RandomGenerator generator(static_cast<std::uint64_t>(i));
      const Tensor x = randn({4, 6}, {.generator = &generator}).to(device());
      const Tensor y = randint(0, 3, {4}, {.generator = &generator}).to(device());
      seen.push_back((captured ? checked(x, y) : step(x, y)).item());
      adam.set_lr(0, 0.05 / (i + 1));
      seen.push_back(net.parameters()[0].grad()(0, 0).item());
    }
    for (const Tensor& p : net.parameters())
      for (const double v : p.to_vector<double>()) seen.push_back(v);
    seen.push_back(rand({}).item());
    if (captured) { EXPECT_EQ(checked.replays(), 11); }
    return seen;
  };
  EXPECT_EQ(train(false), train(true));
}

TEST_P(CheckedStepTest, GradientsThatAccumulateAreNotRefused) {
  const Tensor w = ones({3}, {.device = device()}).requires_grad_();
  CapturedStep step([&](const Tensor& x) { sum(w * x).backward(); }, options());
  const Tensor x = full({3}, 2.0);
  for (int i = 0; i < 10; ++i) step(x);
  EXPECT_EQ(w.grad().to_vector<double>(), std::vector<double>(3, 20.0));
}

TEST(CheckedStep, NegativeNumberIsAnError) {
  expect_part(test::error_of<ValueError>([] { CapturedStep([] {}, {.device = Device(), .check_every = -1}); }),
              "check_every = -1");
}

}  // namespace
}  // namespace minnow
