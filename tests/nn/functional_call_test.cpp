#include <gtest/gtest.h>
#include <minnow/minnow.h>

#include "devices.h"
#include "thrown.h"

/// A module called with other weights than its own.
namespace minnow {
namespace {

using test::error_of;
using test::has;

struct TiedNet : nn::Module {
  nn::Linear first = child("first", nn::Linear(4, 4));
  nn::Linear second = child("second", nn::Linear(4, 4));
  TiedNet() { second.weight = first.weight; }
  Tensor forward(const Tensor& x) override { return second(tanh(first(x))); }
};

class FunctionalCall : public test::DeviceTest {
 protected:
  nn::Sequential net() const {
    manual_seed(1);
    nn::Sequential made(nn::Linear(3, 5), nn::Tanh(), nn::Linear(5, 2));
    made.to(device(), DType::float64);
    return made;
  }
  Tensor input() const { return randn({4, 3}, {DType::float64, device()}); }
};

TEST_P(FunctionalCall, GivesWhatTheModuleWithTheseWeightsGives) {
  const nn::Sequential a = net();
  nn::Sequential b = nn::clone(a);
  for (const Tensor& p : b.parameters()) {
    const NoGradGuard guard;
    p.mul_(1.5);
  }
  const Tensor x = input(), before = a(x);
  EXPECT_TRUE(equal(nn::functional_call(a, b.state_dict(), x), b(x)));
  EXPECT_TRUE(equal(a(x), before));
  // Only some of them.
  StateDict some{{"0.weight", b.state_dict().at("0.weight")}};
  const Tensor mixed = nn::functional_call(a, some, x);
  EXPECT_FALSE(equal(mixed, b(x)));
  EXPECT_FALSE(equal(mixed, before));
  for (const auto& [name, p] : a.named_parameters()) EXPECT_TRUE(p.is_leaf() && p.requires_grad()) << name;
}

TEST_P(FunctionalCall, GradientsFlowIntoTheWeightsAndOn) {
  const nn::Sequential a = net(), b = net();
  const Tensor scale = full({}, 1.0, {DType::float64, device()}).requires_grad_();
  std::vector<nn::NamedTensor> scaled = a.named_parameters();
  Tensor wanted = zeros({}, {DType::float64, device()});
  for (auto& [name, w] : scaled) w = w * scale;
  const Tensor x = input();
  sum(square(nn::functional_call(a, scaled, x))).backward();
  sum(square(b(x))).backward();
  for (std::size_t i = 0; i < 4; ++i) {
    const Tensor p = a.parameters()[i], q = b.parameters()[i];
    EXPECT_TRUE(allclose(p.grad(), q.grad(), 1e-12, 1e-12));
    wanted = wanted + sum(p.detach() * q.grad());
  }
  EXPECT_TRUE(allclose(scale.grad(), wanted, 1e-12, 1e-12));
}

TEST_P(FunctionalCall, MamlIsItsSecondDerivative) {
  const nn::Sequential a = net();
  const Tensor x = input(), y = zeros({4, 2}, {DType::float64, device()});
  const auto outer = [&](const std::vector<Tensor>& weights) {
    std::vector<nn::NamedTensor> fast = a.named_parameters();
    for (std::size_t i = 0; i < fast.size(); ++i) fast[i].tensor = weights[i];
    for (int step = 0; step < 2; ++step) {
      std::vector<Tensor> now;
      for (const auto& [name, w] : fast) now.push_back(w);
      const auto grads = grad({nn::mse_loss(nn::functional_call(a, fast, x), y)}, now, {.create_graph = true});
      for (std::size_t i = 0; i < fast.size(); ++i) fast[i].tensor = now[i] - grads[i] * 0.1;
    }
    return nn::mse_loss(nn::functional_call(a, fast, x), y);
  };
  std::vector<Tensor> weights;
  for (const Tensor& p : a.parameters()) weights.push_back(p.detach().clone().requires_grad_());
  EXPECT_TRUE(gradcheck(outer, weights));
  EXPECT_FALSE(a.parameters()[0].grad().defined());
  // The module's own parameters as the first weights.
  outer(a.parameters()).backward();
  outer(weights).backward();
  for (std::size_t i = 0; i < weights.size(); ++i)
    EXPECT_TRUE(allclose(a.parameters()[i].grad(), weights[i].grad(), 1e-9, 1e-12));
}

TEST_P(FunctionalCall, AGraphFromBeforeStaysRight) {
  const nn::Sequential a = net(), b = net();
  const Tensor x = input();
  const Tensor before = sum(square(a(x)));
  StateDict zero;
  for (const auto& [name, p] : a.named_parameters()) zero.set(name, zeros_like(p.detach()));
  EXPECT_EQ(sum(abs(nn::functional_call(a, zero, x))).item(), 0);
  before.backward();
  sum(square(b(x))).backward();
  for (std::size_t i = 0; i < 4; ++i) EXPECT_TRUE(equal(a.parameters()[i].grad(), b.parameters()[i].grad()));
}

TEST_P(FunctionalCall, TiedParametersStayOne) {
  TiedNet tied;
  tied.to(device());
  const Tensor x = randn({2, 4}, device());
  const Tensor w = zeros({4, 4}, device()).requires_grad_();
  for (const char* name : {"first.weight", "second.weight"})
    EXPECT_TRUE(allclose(nn::functional_call(tied, StateDict{{name, w}}, x), tied.second.bias.expand({2, 4})));
  const Tensor y = tied(x);
  EXPECT_FALSE(equal(y, tied.second.bias.expand({2, 4})));
  EXPECT_EQ(tied.parameters().size(), 3U);
}

TEST_P(FunctionalCall, BuffersAreWrittenWhereTheyAreGiven) {
  nn::BatchNorm1d norm(3);
  norm.to(device());
  StateDict values = norm.state_dict().clone();
  const Tensor x = randn({8, 3}, device()) + 2.0;
  (void)nn::functional_call(norm, values, x);
  EXPECT_NE(sum(values.at("running_mean")).item(), 0);
  EXPECT_EQ(sum(norm.state_dict().at("running_mean")).item(), 0);
}

TEST_P(FunctionalCall, ComputedWeightsAreComputedFromWhatIsGiven) {
  nn::Linear layer(3, 3);
  nn::weight_norm(layer);
  layer.to(device());
  const Tensor x = randn({2, 3}, device()), y = layer(x);
  StateDict doubled{
      {"parametrizations.weight.original0", layer.state_dict().at("parametrizations.weight.original0") * 2.0}};
  EXPECT_TRUE(allclose(nn::functional_call(layer, doubled, x) - layer.bias, (y - layer.bias) * 2.0, 1e-5, 1e-5));
  EXPECT_TRUE(equal(layer(x), y));
}

TEST_P(FunctionalCall, UnderAutocastTheWeightsThatAreGivenCount) {
  nn::Linear layer(4, 4);
  layer.to(device());
  const Tensor x = randn({2, 4}, device());
  const Autocast autocast(DType::bfloat16);
  const Tensor y = layer(x);
  const StateDict zero{{"weight", zeros({4, 4}, device())}, {"bias", zeros({4}, device())}};
  EXPECT_EQ(sum(abs(nn::functional_call(layer, zero, x))).item(), 0);
  EXPECT_TRUE(equal(layer(x), y));
}

TEST_P(FunctionalCall, AModuleIsAsBeforeAfterAnError) {
  const nn::Sequential a = net();
  const Tensor x = input(), before = a(x);
  const StateDict other{{"0.weight", zeros({5, 7}, {DType::float64, device()})}};
  EXPECT_TRUE(has(error_of<ShapeError>([&] { nn::functional_call(a, other, x); }), "linear: "));
  EXPECT_TRUE(equal(a(x), before));
  const std::string unknown = error_of<ValueError>([&] {
    nn::functional_call(a, StateDict{{"0.weight", ones({5, 3}, {DType::float64, device()})}, {"fc", x}}, x);
  });
  EXPECT_TRUE(has(unknown, "functional_call: there is no parameter or buffer 'fc'")) << unknown;
  EXPECT_TRUE(has(unknown, "functional_call_test.cpp")) << unknown;
  EXPECT_TRUE(equal(a(x), before));
}

INSTANTIATE_TEST_SUITE_P(Devices, FunctionalCall, test::all_devices(), test::device_test_name);

}  // namespace
}  // namespace minnow
