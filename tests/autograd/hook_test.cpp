#include <gtest/gtest.h>
#include <minnow/autograd/engine.h>
#include <minnow/ops/elementwise/arithmetic.h>
#include <minnow/ops/reductions/reduce.h>
#include <minnow/tensor/create.h>
#include <minnow/tensor/error.h>
#include "devices.h"
#include "thrown.h"

namespace minnow {
namespace {

using test::error_of;
using test::has;

std::string behind(unsigned line) { return "  (hook_test.cpp:" + std::to_string(line) + ")"; }

class Hooks : public test::DeviceTest {
 protected:
  static Tensor leaf(const char* name) {
    Tensor x = ones({2, 3}, {.device = device()}).requires_grad_();
    x.set_name(name);
    return x;
  }
};
INSTANTIATE_TEST_SUITE_P(Devices, Hooks, test::all_devices(), test::device_test_name);

TEST_P(Hooks, AnotherShapeOfANonLeafNamesTheForwardLine) {
  Tensor x = leaf("w");
  const unsigned line = __LINE__ + 1;
  const Tensor y = x * 2;
  const auto hook = register_hook(y, [](const Tensor&) { return ones({3}); });
  const std::string text = error_of<ShapeError>([&] { sum(y).backward(); });
  EXPECT_TRUE(has(text, "ShapeError: register_hook: a hook returned a gradient of another shape" + behind(line)))
      << text;
  EXPECT_TRUE(has(text, "float32[2, 3] on " + device().str() + "   result of 'mul'")) << text;
  EXPECT_TRUE(has(text, "returned  float32[3] on cpu")) << text;
}

TEST_P(Hooks, AnotherDtypeOfALeafNamesTheLeafAndTheHooksLine) {
  Tensor x = leaf("fc.weight");
  const unsigned line = __LINE__ + 1;
  const auto hook = register_hook(x, [](const Tensor& g) { return g.to(DType::float64); });
  const std::string text = error_of<DTypeError>([&] { sum(x * 2).backward(); });
  EXPECT_TRUE(has(text, "gradient of another dtype" + behind(line))) << text;
  EXPECT_TRUE(has(text, "parameter 'fc.weight'")) << text;
}

TEST_P(Hooks, AnotherDeviceIsRefused) {
  if (device().is_cpu()) GTEST_SKIP() << "there is no other device than the host's";
  Tensor x = leaf("w");
  const auto hook = register_hook(x, [](const Tensor& g) { return g.cpu(); });
  const std::string text = error_of<DeviceError>([&] { sum(x * 2).backward(); });
  EXPECT_TRUE(has(text, "gradient of another device")) << text;
  EXPECT_FALSE(x.grad().defined());
}

TEST_P(Hooks, ReturnedGradientReplacesTheGradient) {
  Tensor x = leaf("w");
  const auto first = register_hook(x, [](const Tensor& g) { return g * 5; });
  const auto second = register_hook(x, [](const Tensor&) { return Tensor(); });
  sum(x * 2).backward();
  EXPECT_EQ(x.grad().to_vector<float>(), std::vector<float>(6, 10));
}

TEST_P(Hooks, AllRunInTheirOrderAndEachIsRemovedAlone) {
  for (const bool of_leaf : {true, false}) {
    Tensor x = leaf("w");
    const Tensor y = x * 1, at = of_leaf ? x : y;
    HookHandle first = register_hook(at, [](const Tensor& g) { return g + 1; });
    const auto second = register_hook(at, [](const Tensor& g) { return g * 3; });
    sum(y).backward({.retain_graph = true});
    EXPECT_EQ(x.grad().to_vector<float>(), std::vector<float>(6, 6));  // (1 + 1) 3
    EXPECT_EQ(grad(sum(y), at, {.retain_graph = true}).to_vector<float>(), std::vector<float>(6, 6));
    first.remove();
    x.set_grad(Tensor());
    sum(y).backward();
    EXPECT_EQ(x.grad().to_vector<float>(), std::vector<float>(6, 3));
  }
}

TEST_P(Hooks, BackwardInsideOfAHookIsRefused) {
  Tensor x = leaf("w"), other = leaf("other");
  HookHandle hook = register_hook(x, [&](const Tensor&) {
    sum(other * 2).backward();
    return Tensor();
  });
  std::string text = error_of<AutogradError>([&] { sum(x * 2).backward(); });
  EXPECT_TRUE(has(text, "AutogradError: backward: it was called inside of a gradient hook")) << text;
  hook = register_hook(x, [&](const Tensor&) { return grad(sum(other * 2), other); });
  text = error_of<AutogradError>([&] { sum(x * 2).backward(); });
  EXPECT_TRUE(has(text, "AutogradError: grad: it was called inside of a gradient hook")) << text;
  sum(other * 2).backward();  // a later call is allowed
  EXPECT_EQ(other.grad().to_vector<float>(), std::vector<float>(6, 2));
}

TEST_P(Hooks, LiveAsLongAsTheirHandles) {
  for (const bool of_leaf : {true, false}) {
    Tensor x = leaf("w");
    const Tensor y = x * 1, at = of_leaf ? x : y;
    int calls = 0;
    const auto count = [&](const Tensor&) { return ++calls, Tensor(); };
    const auto run = [&] { sum(y).backward({.retain_graph = true}); };
    { const auto handle = register_hook(at, count); }
    run();
    EXPECT_EQ(calls, 0);
    HookHandle kept = register_hook(at, count);
    kept = register_hook(at, count);  // removes the first hook
    run();
    EXPECT_EQ(calls, 1);
    HookHandle moved = std::move(kept);
    run();
    EXPECT_EQ(calls, 2);
    moved.remove();
    run();
    EXPECT_EQ(calls, 2);
    register_hook(at, count).detach();
    run();
    EXPECT_EQ(calls, 3);
  }
}

TEST(PostAccumulateHook, IsCalledAsSoonAsTheGradientIsComplete) {
  const Tensor first = full({2}, 2, {.dtype = float32}).requires_grad_();
  const Tensor twice = full({2}, 3, {.dtype = float32}).requires_grad_();
  const Tensor last = full({2}, 5, {.dtype = float32}).requires_grad_();
  std::vector<std::string> order;
  std::vector<HookHandle> hooks;
  const auto note = [&](const Tensor& x, const std::string& name) {
    hooks.push_back(register_post_accumulate_grad_hook(x, [&order, name](const Tensor& p) {
      order.push_back(name + " " + std::to_string(p.grad()[0].item<float>()));
    }));
  };
  note(first, "first");
  note(twice, "twice");
  note(last, "last");
  const Tensor a = first * 1, b = a * twice;
  const HookHandle on_a = register_hook(a, [&](const Tensor&) {
    order.push_back("a");
    return Tensor();
  });
  const HookHandle on_b = register_hook(b, [&](const Tensor&) {
    order.push_back("b");
    return Tensor();
  });
  sum(b * last * twice).backward();
  // d/dtwice of first * twice^2 * last: 2 * 2 * 3 * 5
  EXPECT_EQ(order, (std::vector<std::string>{"last 18.000000", "b", "twice 60.000000", "a", "first 45.000000"}));
}

}  // namespace
}  // namespace minnow
