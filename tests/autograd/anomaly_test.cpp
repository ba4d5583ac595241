#include <minnow/autograd/anomaly.h>

#include <gtest/gtest.h>
#include <limits>
#include <thread>
#include <minnow/minnow.h>
#include "support/devices.h"
#include "support/thrown.h"

namespace minnow {
namespace {

using test::error_of;
using test::expect_contains;

constexpr double kInf = std::numeric_limits<double>::infinity(), kNan = std::numeric_limits<double>::quiet_NaN();

std::string at(unsigned line) { return "  (anomaly_test.cpp:" + std::to_string(line) + ")"; }

class Anomaly : public test::DeviceTest {
 protected:
  static Tensor leaf(std::vector<float> numbers, const char* name = "w") {
    Tensor x = tensor(numbers).to(device()).requires_grad_();
    x.set_name(name);
    return x;
  }
  /// The error of sum(y).backward() under the guard.
  static std::string anomaly_of(const Tensor& y) {
    const DetectAnomalyGuard guard;
    return error_of<AutogradError>([&] { sum(y).backward(); });
  }
};
INSTANTIATE_TEST_SUITE_P(Devices, Anomaly, test::all_devices(), test::device_test_name);

TEST_P(Anomaly, NamesOperationForwardLineOperandAndCounts) {
  const Tensor x = leaf({1, 0, 2, 0});
  const unsigned line = __LINE__ + 1;
  const Tensor y = log(x * 1);
  const std::string text = anomaly_of(y * 2);
  expect_contains(text,
                  "AutogradError: log: the gradient of its operand 0 has 0 NaN and 2 infinite of 4 values" + at(line));
  expect_contains(text, "operand   float32[4] on " + device().str() +
                            "   result of 'mul' (anomaly_test.cpp:" + std::to_string(line) + ")");
  expect_contains(text, "the gradient of its result is finite");
  EXPECT_FALSE(x.grad().defined());
}

TEST_P(Anomaly, RootOfZeroNamesTheParameter) {
  const Tensor x = leaf({0, 4}, "fc.weight");
  const std::string text = anomaly_of(sqrt(x));
  expect_contains(text, "sqrt: the gradient of its operand 0 has 0 NaN and 1 infinite of 2 values" + at(__LINE__ - 1));
  expect_contains(text, "parameter 'fc.weight'");
}

TEST_P(Anomaly, ZeroOverZero) {
  const Tensor x = leaf({0, 1}), y = leaf({0, 1}, "y");
  const unsigned line = __LINE__ + 1;
  const Tensor z = x / y;
  expect_contains(anomaly_of(z), "div: the gradient of its operand 0 has 0 NaN and 1 infinite of 2 values" + at(line));
  const unsigned next = __LINE__ + 1;
  const Tensor only_y = x.detach() / y;
  expect_contains(anomaly_of(only_y),
                  "div: the gradient of its operand 1 has 1 NaN and 0 infinite of 2 values" + at(next));
}

TEST_P(Anomaly, OverflowOfExpIsFoundWhereItHappened) {
  const Tensor x = leaf({1, 1000});
  const unsigned line = __LINE__ + 1;
  const Tensor e = exp(x);
  expect_contains(anomaly_of(log(e)),
                  "exp: the gradient of its operand 0 has 1 NaN and 0 infinite of 2 values" + at(line));
  const DetectAnomalyGuard guard({.check_forward = true});
  const std::string text = error_of<AutogradError>([&] { log(exp(x)).sum().backward(); });
  expect_contains(text, "exp: its result has 0 NaN and 1 infinite of 2 values" + at(__LINE__ - 1));
  expect_contains(text, "no operand has NaN");
}

TEST_P(Anomaly, LayersNameTheLineOfTheirCall) {
  nn::Sequential net(nn::Linear(2, 3), nn::ReLU(), nn::Linear(3, 1));
  net.to(device());
  nn::LayerNorm norm(2, {.eps = 0});
  norm.to(device());
  const Tensor x = leaf({1, 1}).reshape({1, 2});
  const Tensor normed = norm(x);
  const unsigned line = __LINE__ + 1;
  const std::string text = anomaly_of(normed);
  expect_contains(text, "layer_norm: the gradient of its operand");
  expect_contains(text, at(line - 2));
  net.parameters()[0].set_data(full({3, 2}, kInf, {.device = device()}));
  const Tensor out = net(leaf({0, 0}).reshape({1, 2}));
  expect_contains(anomaly_of(out), at(__LINE__ - 1));
}

struct Branch : nn::Module {
  nn::Linear fc = child("fc", nn::Linear(2, 2));
  Tensor forward(const Tensor& x) override {
    const Tensor h = fc(x);
    return log(h - h);  // kLogLine
  }
};
constexpr unsigned kLogLine = __LINE__ - 3;

TEST_P(Anomaly, OperationsOfAForwardNameTheirOwnLine) {
  Branch net;
  net.to(device());
  expect_contains(anomaly_of(net(ones({1, 2}, {.device = device()}))), "log: " + std::string("the gradient"));
  expect_contains(anomaly_of(net(ones({1, 2}, {.device = device()}))), at(kLogLine));
}

TEST_P(Anomaly, SecondDerivative) {
  const Tensor x = leaf({0, 1});
  const unsigned line = __LINE__ + 1;
  const Tensor y = pow(x, 1.5);
  const DetectAnomalyGuard guard;
  const Tensor slope = grad(sum(y), x, {.create_graph = true});  // 0 at 0
  const std::string text = error_of<AutogradError>([&] { sum(slope).backward(); });
  expect_contains(text, at(line));
  expect_contains(text, "1 infinite of 2 values");
}

TEST_P(Anomaly, OperationRecordedByTheUser) {
  const auto reciprocal = [](const In& x) {
    return record("reciprocal", 1 / x->detach(), {x}, [x = Saved(*x)](const Tensor& g) { return -g / (x() * x()); });
  };
  const Tensor x = leaf({0, 1});
  const unsigned line = __LINE__ + 1;
  const Tensor y = reciprocal(x);
  expect_contains(anomaly_of(y),
                  "reciprocal: the gradient of its operand 0 has 0 NaN and 1 infinite of 2 values" + at(line));
}

TEST_P(Anomaly, SlicesAndCheckpoints) {
  const Tensor x = leaf({0, 1, 2});
  const Tensor first = x(slice(0, 1));
  expect_contains(anomaly_of(sqrt(first)), "sqrt: " + std::string("the gradient of its operand 0"));
  const unsigned line = __LINE__ + 1;
  const Tensor again = checkpoint([](const Tensor& t) { return sqrt(t); }, x);
  expect_contains(anomaly_of(again),
                  "sqrt: the gradient of its operand 0 has 0 NaN and 1 infinite of 3 values" + at(line));
}

TEST_P(Anomaly, GivenGradientsAndHooks) {
  const Tensor x = leaf({1, 2});
  const unsigned line = __LINE__ + 1;
  const Tensor y = x * 3;
  const DetectAnomalyGuard guard;
  const Tensor bad = full({2}, kNan, {.device = device()});
  expect_contains(
      error_of<AutogradError>([&] { backward({y}, {bad}, {.retain_graph = true}); }),
      "mul: the gradient that backward was given for its result has 2 NaN and 0 infinite of 2 values" + at(line));
  {
    const auto hook = register_hook(y, [&](const Tensor&) { return bad; });
    const std::string text = error_of<AutogradError>([&] { sum(y).backward({.retain_graph = true}); });
    expect_contains(text, "mul: the gradient of its operand 0 has 2 NaN");
    expect_contains(text, "a hook on the gradient of its result returned 2 NaN and 0 infinite of 2 values");
  }
  const auto hook = register_hook(x, [&](const Tensor&) { return bad; });
  const unsigned last = __LINE__ + 1;
  const std::string text = error_of<AutogradError>([&] { sum(y).backward(); });
  expect_contains(text,
                  "backward: the gradient after the hooks of a leaf has 2 NaN and 0 infinite of 2 values" + at(last));
  expect_contains(text, "parameter 'w'");
}

TEST_P(Anomaly, SumsOfFiniteGradientsThatOverflow) {
  const Tensor x = leaf({1, 2});
  const float most = std::numeric_limits<float>::max();
  const Tensor scale = full({2}, most, {.device = device()});
  {
    const Tensor y = x * 1, uses = y * scale + y * scale;
    expect_contains(anomaly_of(uses), "mul: the sum of the gradients of its uses has 0 NaN and 2 infinite of 2 values" +
                                          at(__LINE__ - 2));
  }
  {
    const Tensor y = x * 1, parts = cat({y(slice(0, 1)) * most, y(slice(0, 1)) * most});
    expect_contains(anomaly_of(parts),
                    "mul: the sum of the gradients of its uses has 0 NaN and 1 infinite of 2 values");
  }
  const DetectAnomalyGuard guard;
  sum(x * scale).backward();  // its sum is infinite, its elements are not
  const std::string text = error_of<AutogradError>([&] { sum(x * scale).backward(); });
  expect_contains(text, "backward: the sum of the gradients of its uses has 0 NaN and 2 infinite");
}

TEST_P(Anomaly, OverflowOfAConversion) {
  const Tensor x = tensor({1.F}).to(device()).to(DType::float16).requires_grad_();
  const Tensor wide = x.to(DType::float32);
  expect_contains(anomaly_of(wide * 1e6),
                  "the gradient of its operand 0 has 0 NaN and 1 infinite of 1 value" + at(__LINE__ - 2));
}

TEST_P(Anomaly, OnlyWhileItIsOnAndOnThisThread) {
  const Tensor x = leaf({0});
  const auto is_refused = [&] {
    x.set_grad(Tensor());
    try {
      sum(sqrt(x)).backward();
      return false;
    } catch (const AutogradError&) { return true; }
  };
  EXPECT_FALSE(is_refused());
  {
    const DetectAnomalyGuard guard;
    EXPECT_TRUE(is_refused());
    {
      const DetectAnomalyGuard inner({.check_forward = true});
      EXPECT_TRUE(is_refused());
    }
    EXPECT_NO_THROW(log(x));
    EXPECT_TRUE(is_anomaly_enabled());
    bool elsewhere = true;
    std::thread([&] { elsewhere = is_refused(); }).join();
    EXPECT_FALSE(elsewhere);
  }
  EXPECT_FALSE(is_anomaly_enabled());
  EXPECT_FALSE(is_refused());
  set_detect_anomaly(true);
  EXPECT_TRUE(is_refused());
  set_detect_anomaly(false);
  EXPECT_FALSE(is_refused());
}

TEST_P(Anomaly, ForwardAllowsInfinitiesThatTheCallerWrote) {
  const DetectAnomalyGuard guard({.check_forward = true});
  const Tensor x = tensor({{1.F, 2.F}, {3.F, 4.F}}).to(device()).requires_grad_();
  const Tensor mask = tensor({false, true, false, false}).reshape({2, 2}).to(device());
  sum(softmax(masked_fill(x, mask, -kInf), 1)).backward();
  sum(softmax(where(mask, -kInf, x), 1)).backward();
  sum(softmax(x + where(mask, -kInf, zeros({2, 2}, {.device = device()})), 1)).backward();
  sum(amax(pad(x, {1, 1}, PadMode::constant, -kInf), 1)).backward();
  EXPECT_NO_THROW(scaled_dot_product_attention(x.reshape({1, 1, 2, 2}), x.reshape({1, 1, 2, 2}),
                                               x.reshape({1, 1, 2, 2}), {}, {.is_causal = true}));
}

TEST_P(Anomaly, ForwardNamesTheOperandThatHasNan) {
  const DetectAnomalyGuard guard({.check_forward = true});
  const Tensor w = leaf({1, 2}), data = full({2}, kNan, {.device = device()});
  const std::string text = error_of<AutogradError>([&] { w* data; });
  expect_contains(text, "mul: its result has 2 NaN and 0 infinite of 2 values" + at(__LINE__ - 1));
  expect_contains(text, "operand  float32[2] on " + device().str() + "   2 NaN and 0 infinite of 2 values");
  expect_contains(text, "an operand has NaN");
  const Tensor infinite = leaf({1, 2}) * full({2}, kInf, {.device = device()});
  expect_contains(error_of<AutogradError>([&] { infinite - infinite; }), "sub: its result has 2 NaN");
}

TEST_P(Anomaly, CapturedStepsRunDirectly) {
  const Tensor w = leaf({1, 4});
  optim::SGD sgd({w}, {.lr = 0.5});
  unsigned line = 0;
  CapturedStep step(
      [&](const Tensor& x) {
        sgd.zero_grad();
        line = __LINE__ + 1;
        const Tensor loss = sum(sqrt(w * x));
        loss.backward();
        return loss;
      },
      {.device = device(), .warm_up = 1});
  const Tensor good = ones({2}, {.device = device()}), bad = zeros({2}, {.device = device()});
  for (int i = 0; i < 3; ++i) step(good);
  EXPECT_EQ(step.replays(), device().is_cuda() ? 2 : 0);
  {
    const DetectAnomalyGuard guard;
    EXPECT_EQ(step(good).item(), 3);
    const std::string text = error_of<AutogradError>([&] { step(bad); });
    expect_contains(text, "sqrt: the gradient of its operand 0");
    expect_contains(text, at(line));
  }
  EXPECT_EQ(step.replays(), device().is_cuda() ? 2 : 0);
  EXPECT_EQ(step(good).item(), 3);
  EXPECT_EQ(w.grad().to_vector<float>(), (std::vector<float>{0.5F, 0.25F}));

  CapturedStep inside(
      [&](const Tensor& x) {
        const DetectAnomalyGuard guard;
        sum(w * x).backward();
      },
      {.device = device(), .warm_up = 0});
  expect_contains(error_of<BackendError>([&] { inside(good); }), "detect_anomaly: gradients cannot be checked while");
}

}  // namespace
}  // namespace minnow
