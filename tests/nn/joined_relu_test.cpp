// In a Sequential a ReLU and the layer beside it are one operation; nobody can tell, but by time and memory.

#include <cmath>
#include <gtest/gtest.h>
#include <limits>
#include <minnow/autograd/node.h>
#include <minnow/minnow.h>
#include "support/deterministic.h"
#include "support/devices.h"

namespace minnow {
namespace {

class JoinedRelu : public test::DeviceTest {
 protected:
  void SetUp() override { manual_seed(5); }
  static Tensor input(const Shape& shape) { return randn(shape).to(device()).requires_grad_(); }
};
INSTANTIATE_TEST_SUITE_P(Devices, JoinedRelu, test::all_devices(), test::device_test_name);

/// The result and all gradients of modules called one after the other, or as a Sequential.
std::vector<Tensor> results(const nn::Sequential& net, const Tensor& x, bool joined) {
  Tensor y = x;
  if (joined) y = net(x);
  else
    for (nn::Module& module : net) y = module(y);
  std::vector<Tensor> inputs = net.parameters();
  inputs.push_back(x);
  const Tensor weights = (arange(y.numel(), float32) - 7).reshape(y.shape()).to(y.device());
  std::vector<Tensor> all = grad({sum(y * weights)}, inputs);
  all.push_back(y);
  return all;
}

std::int64_t nodes_of(const nn::Sequential& net, const Tensor& x) {
  const std::int64_t before = autograd::live_nodes();
  const Tensor y = net(x);
  return autograd::live_nodes() - before;
}

TEST_P(JoinedRelu, GivesWhatTheModulesGiveOneAfterTheOther) {
  struct Case {
    nn::Sequential net;
    Shape x;
    std::int64_t nodes;
  };
  const Case cases[] = {
      {nn::Sequential(nn::Linear(6, 5), nn::ReLU(), nn::Linear(5, 3)), {4, 6}, 2},
      {nn::Sequential(nn::Conv2d(3, 16, 3), nn::ReLU(), nn::Conv2d(16, 4, 3, {.padding = Padding::same})),
       {2, 3, 9, 8},
       2},
      {nn::Sequential(nn::Conv2d(1, 16, 3), nn::ReLU(), nn::MaxPool2d(2)), {2, 1, 9, 8}, 2},
      {nn::Sequential(nn::Conv1d(2, 3, 3), nn::ReLU(), nn::MaxPool1d(2)), {2, 2, 9}, -1},
      {nn::Sequential(nn::BatchNorm2d(3), nn::ReLU(), nn::MaxPool2d(3, 2, 1)), {2, 3, 9, 8}, -1},
      {nn::Sequential(nn::Conv2d(2, 3, 3), nn::ReLU(), nn::MaxPool2d(2, {.ceil_mode = true})), {2, 6, 7}, -1},
      {nn::Sequential(nn::ReLU(), nn::MaxPool2d(2), nn::ReLU()), {2, 3, 9, 8}, 2},
  };
  for (Case c : cases) {
    c.net.to(device());
    const Tensor x = input(c.x);
    if (c.nodes >= 0) { EXPECT_EQ(nodes_of(c.net, x), c.nodes) << c.net.to_string(); }
    const test::Deterministic scope;  // cuDNN adds in any order otherwise
    const auto joined = results(c.net, x, true), apart = results(c.net, x, false);
    ASSERT_EQ(joined.size(), apart.size());
    for (std::size_t i = 0; i < joined.size(); ++i)
      EXPECT_TRUE(allclose(joined[i], apart[i], 1e-4, 1e-5)) << c.net.to_string() << i;
  }
}

TEST_P(JoinedRelu, HasSecondDerivatives) {
  const test::Deterministic scope;  // gradgradcheck calls the function twice
  nn::Sequential net(nn::Conv2d(2, 3, 3), nn::ReLU(), nn::MaxPool2d(2));
  net.to(device(), float64);
  const Tensor x = randn({1, 2, 6, 6}, {.dtype = float64}).to(device()).requires_grad_();
  EXPECT_TRUE(gradcheck([&](const std::vector<Tensor>& in) { return sum(square(net(in[0]))); }, {x}));
  EXPECT_TRUE(gradgradcheck([&](const std::vector<Tensor>& in) { return sum(square(net(in[0]))); }, {x}));
}

TEST_P(JoinedRelu, NanIsKept) {
  for (const nn::Sequential& made :
       {nn::Sequential(nn::Conv2d(1, 16, 3), nn::ReLU()), nn::Sequential(nn::Linear(6, 6), nn::ReLU()),
        nn::Sequential(nn::Conv2d(1, 16, 3), nn::ReLU(), nn::MaxPool2d(2))}) {
    nn::Sequential net = made;
    net.to(device());
    const Tensor x = full({2, 1, 6, 6}, std::numeric_limits<double>::quiet_NaN(), {.device = device()});
    EXPECT_TRUE(all(isnan(net(x))).item<bool>()) << net.to_string();
  }
}

TEST_P(JoinedRelu, HooksAndDerivedClassesAreCalled) {
  struct Doubled : nn::Linear {
    using nn::Linear::Linear;
    Tensor forward(const Tensor& x) override { return nn::Linear::forward(x) * 2; }
  };
  nn::Sequential net(nn::Linear(3, 4), nn::ReLU(), Doubled(4, 2), nn::ReLU());
  net.to(device());
  const Tensor x = input({5, 3});
  EXPECT_TRUE(allclose(net(x), relu(linear(relu(linear(x, net.get<nn::Linear>(0).weight, net.get<nn::Linear>(0).bias)),
                                           net.get<nn::Linear>(2).weight, net.get<nn::Linear>(2).bias) *
                                    2)));
  int calls = 0;
  Tensor before;
  {
    const auto hook = net[1].register_forward_hook([&](nn::Module&, const Tensor& in, const Tensor&) {
      ++calls;
      before = in;
    });
    (void)net(x);
    EXPECT_EQ(calls, 1);
    EXPECT_LT(amin(before).item(), 0);  // the layer before has not applied it
  }
  (void)net(x);
  EXPECT_EQ(calls, 1);
}

TEST_P(JoinedRelu, WhatTheReluReadIsNotKept) {
  nn::Sequential net(nn::Conv2d(16, 16, 3, {.padding = 1}), nn::ReLU(), nn::MaxPool2d(4));
  net.to(device());
  const Tensor x = input({4, 16, 32, 32});
  const std::int64_t before = memory_stats(device()).allocated;
  const Tensor y = net(x);
  EXPECT_LT(memory_stats(device()).allocated - before, x.nbytes() / 2);
}

}  // namespace
}  // namespace minnow
