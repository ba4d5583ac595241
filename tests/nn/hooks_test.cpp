#include <gtest/gtest.h>
#include <minnow/minnow.h>
#include "support/devices.h"
#include "support/thrown.h"

namespace minnow {
namespace {

using test::error_of;
using test::expect_contains;

/// Tests of hooks before and after forward, and in backward.
class ModuleHooks : public test::DeviceTest {};
INSTANTIATE_TEST_SUITE_P(Devices, ModuleHooks, test::all_devices(), test::device_test_name);

struct Two : nn::Module {
  nn::Parameter w = parameter("w", tensor({2.0F, 3.0F}));
  Tensor forward(const Tensor& x, const Tensor& y) override { return x * w + y * y; }
};

struct Pair : nn::ModuleOf<std::tuple<Tensor, Tensor>(Tensor, double)> {
  nn::Parameter w = parameter("w", tensor(2.0F));
  std::tuple<Tensor, Tensor> forward(Tensor x, double factor) override { return {x * w, x * factor}; }
};

TEST_P(ModuleHooks, PreHooksSeeAndReplaceInputs) {
  nn::Linear net(2, 2);
  net.to(device());
  const Tensor x = ones({1, 2}, {.device = device()}), y = net(x).detach(), twice = net(x * 2).detach();
  int calls = 0;
  {
    const auto look = net.register_forward_pre_hook([&](nn::Module& module, const Tensor& input) {
      EXPECT_EQ(module.describe(), "Linear(2, 2)");
      EXPECT_EQ(input.shape(), (Shape{1, 2}));
      ++calls;
    });
    EXPECT_TRUE(net(x).detach().equal(y));
    auto change = net.register_forward_pre_hook([](nn::Module&, const Tensor& input) { return input * 2; });
    EXPECT_TRUE(net(x).detach().equal(twice));
    const auto none = net.register_forward_pre_hook([](nn::Module&, const Tensor&) { return Tensor(); });
    EXPECT_TRUE(net(x).detach().equal(twice));
    change.remove();
    EXPECT_TRUE(net(x).detach().equal(y));
  }
  EXPECT_EQ(calls, 4);
  EXPECT_TRUE(net(x).detach().equal(y));
  Pair pair;
  const auto all =
      pair.register_forward_pre_hook([](const nn::ForwardPreCall& call) { call.inputs[0] = ones({1}) * 5; });
  EXPECT_EQ(std::get<1>(pair(ones({1}), 3)).item(), 15);
}

TEST_P(ModuleHooks, ForwardHooksReplaceOutputs) {
  nn::ReLU net;
  const Tensor x = ones({2}, {.device = device()});
  auto hook = net.register_forward_hook([](nn::Module&, const Tensor&, const Tensor& y) { return y * 3; });
  EXPECT_EQ(net(x).to_vector<float>(), (std::vector<float>{3, 3}));
  hook = net.register_forward_hook([](const nn::ForwardCall& call) { call.outputs[0] = call.inputs[0] * 7; });
  EXPECT_EQ(net(x).to_vector<float>(), (std::vector<float>{7, 7}));
}

TEST_P(ModuleHooks, BackwardHooksGetTheGradients) {
  Two net;
  net.to(device());
  Tensor x = tensor({1.0F, 1.0F}).to(device()).requires_grad_(), y = tensor({4.0F, 5.0F}).to(device()).requires_grad_();
  int calls = 0;
  const auto hook = net.register_full_backward_hook([&](const nn::BackwardCall& call) {
    ++calls;
    EXPECT_EQ(call.module.describe(), "Two");
    ASSERT_EQ(call.grad_inputs.size(), 2U);
    EXPECT_EQ(call.grad_inputs[0].to_vector<float>(), (std::vector<float>{20, 30}));
    EXPECT_EQ(call.grad_inputs[1].to_vector<float>(), (std::vector<float>{80, 100}));
    EXPECT_EQ(call.grad_outputs[0].to_vector<float>(), (std::vector<float>{10, 10}));
    call.grad_inputs[0] = call.grad_inputs[0] * 100;
  });
  const Tensor out = net(x, y);
  sum(out * 10).backward({.retain_graph = true});
  EXPECT_EQ(calls, 1);
  EXPECT_EQ(x.grad().to_vector<float>(), (std::vector<float>{2000, 3000}));
  EXPECT_EQ(y.grad().to_vector<float>(), (std::vector<float>{80, 100}));
  EXPECT_EQ(net.w.grad().to_vector<float>(), (std::vector<float>{10, 10}));
  sum(out * 10).backward();
  EXPECT_EQ(calls, 2);
  EXPECT_EQ(x.grad().to_vector<float>(), (std::vector<float>{4000, 6000}));
}

TEST_P(ModuleHooks, HooksBeforeBackwardReplaceTheGradientsOfOutputs) {
  Two net;
  net.to(device());
  Tensor x = tensor({1.0F, 1.0F}).to(device()).requires_grad_(), y = tensor({4.0F, 5.0F}).to(device()).requires_grad_();
  std::vector<int> order;
  const auto after = net.register_full_backward_hook([&](const nn::BackwardCall& call) {
    order.push_back(2);
    EXPECT_EQ(call.grad_outputs[0].to_vector<float>(), (std::vector<float>{30, 30})) << "as it was replaced";
  });
  auto before = net.register_full_backward_pre_hook([&](nn::Module& module, const Tensor& g) {
    order.push_back(1);
    EXPECT_EQ(module.describe(), "Two");
    return g * 3;
  });
  sum(net(x, y) * 10).backward();
  EXPECT_EQ(order, (std::vector<int>{1, 2}));
  EXPECT_EQ(net.w.grad().to_vector<float>(), (std::vector<float>{30, 30}));
  before = net.register_full_backward_pre_hook([](nn::Module&, const Tensor&) { return ones({7}); });
  EXPECT_THROW(sum(net(x, y)).backward(), ShapeError);
  before = net.register_full_backward_pre_hook([&](nn::Module&, const Tensor&) { order.push_back(3); });
  net.zero_grad();
  sum(net(x.detach(), y.detach()) * 30).backward();
  EXPECT_EQ(order.back(), 2) << "an input without a gradient: the other hook still runs";
  EXPECT_EQ(net.w.grad().to_vector<float>(), (std::vector<float>{30, 30}));
}

TEST_P(ModuleHooks, ABackwardHookOfOneInputMayReturnItsGradient) {
  nn::Linear net(2, 2);
  net.to(device());
  Tensor x = ones({1, 2}, {.device = device()}).requires_grad_();
  auto hook = net.register_full_backward_hook(
      [](nn::Module&, const Tensor&, const Tensor& grad_output) { return zeros_like(grad_output); });
  sum(net(x)).backward();
  EXPECT_EQ(x.grad().to_vector<float>(), (std::vector<float>{0, 0}));
  EXPECT_EQ(net.bias.grad().to_vector<float>(), (std::vector<float>{1, 1}));
  hook = net.register_full_backward_hook([](nn::Module&, const Tensor& g, const Tensor&) { return g.unsqueeze(0); });
  expect_contains(error_of<ShapeError>([&] { sum(net(x)).backward(); }), "a hook of Linear(2, 2)");
}

TEST_P(ModuleHooks, WithoutAnInputThatRequiresAGradient) {
  int calls = 0;
  Tensor y;
  {
    Pair net;
    net.to(device());
    auto hook = net.register_full_backward_hook([&](const nn::BackwardCall& call) {
      ++calls;
      EXPECT_FALSE(call.grad_inputs[0].defined());
      EXPECT_EQ(call.grad_outputs.size(), 2U);
      EXPECT_EQ(call.grad_outputs[0].item(), 5);
      EXPECT_FALSE(call.grad_outputs[1].defined());
      EXPECT_EQ(call.module.parameters().size(), 1U);  // the object that was called is gone
    });
    hook.detach();
    y = std::get<0>(net(ones({}, {.device = device()}), 3));
  }
  (y * 5).backward();
  EXPECT_EQ(calls, 1);
  const NoGradGuard guard;
  Pair net;
  const auto hook = net.register_full_backward_hook([&](const nn::BackwardCall&) { ++calls; });
  (void)net(ones({}), 3);
  EXPECT_EQ(calls, 1);
}

TEST_P(ModuleHooks, SeveralOutputsAndSecondDerivatives) {
  Pair net;
  net.to(device());
  Tensor x = full({}, 3.0, {.device = device()}).requires_grad_();
  int calls = 0;
  const auto hook = net.register_full_backward_hook([&](const nn::BackwardCall& call) {
    ++calls;
    EXPECT_TRUE(call.grad_outputs[0].defined() && call.grad_outputs[1].defined());
  });
  const auto [a, b] = net(x, 4);
  const Tensor g = grad(a * a + b * b, x, {.create_graph = true});  // (w² + 16) 2 x
  EXPECT_EQ(g.item(), 120);
  EXPECT_EQ(grad(g, net.w).item(), 24);  // 4 w x
  EXPECT_GE(calls, 1);
}

TEST_P(ModuleHooks, ACapturedStepIsCapturedAgain) {
  nn::Linear net(2, 2);
  net.to(device());
  Tensor x = ones({1, 2}, {.device = device()}).requires_grad_();
  int calls = 0;
  CapturedStep step(
      [&](const Tensor& t) {
        Tensor loss = sum(net(t * x));
        net.zero_grad();
        loss.backward();
        return loss;
      },
      {.device = device()});
  const Tensor one = ones({1, 2}, {.device = device()});
  for (int i = 0; i < 4; ++i) (void)step(one);
  const auto hook = net.register_full_backward_hook([&](nn::Module&, const Tensor&, const Tensor&) { ++calls; });
  for (int i = 0; i < 4; ++i) (void)step(one);
  EXPECT_GE(calls, 1);
}

TEST(ModuleHooksErrors, EmptyOnesAreRefused) {
  nn::ReLU net;
  expect_contains(error_of<ValueError>([&] { (void)net.register_forward_hook(nn::ForwardHook()); }),
                  "the hook is empty");
  expect_contains(error_of<ValueError>(
                      [&] { (void)net.register_full_backward_hook(std::function<void(const nn::BackwardCall&)>()); }),
                  "register_full_backward_hook: the hook is empty");
  expect_contains(error_of<ValueError>([&] {
                    (void)net.register_forward_pre_hook(std::function<Tensor(nn::Module&, const Tensor&)>());
                  }),
                  "register_forward_pre_hook: the hook is empty");
}

}  // namespace
}  // namespace minnow
