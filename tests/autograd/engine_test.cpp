#include <gtest/gtest.h>
#include <thread>
#include <minnow/autograd/engine.h>
#include <minnow/autograd/gradcheck.h>
#include <minnow/autograd/record.h>
#include <minnow/ops/elementwise/arithmetic.h>
#include <minnow/ops/elementwise/unary.h>
#include <minnow/ops/products/matmul.h>
#include <minnow/ops/reductions/reduce.h>
#include <minnow/tensor/create.h>
#include <minnow/tensor/error.h>
#include "devices.h"
#include "thrown.h"

namespace minnow {
namespace {

class Engine : public test::DeviceTest {
 protected:
  static Tensor leaf(const Nested& values) { return tensor(values, {DType::float64, device()}).requires_grad_(); }
  static std::vector<double> values(const Tensor& t) { return t.to_vector<double>(); }
  using Doubles = std::vector<double>;
};
INSTANTIATE_TEST_SUITE_P(Devices, Engine, test::all_devices(), test::device_test_name);

TEST_P(Engine, GradientsAccumulateOverUsesAndCalls) {
  Tensor x = leaf({1, 2});
  sum(x * x + x).backward();
  EXPECT_EQ(values(x.grad()), (Doubles{3, 5}));
  sum(x).backward();
  EXPECT_EQ(values(x.grad()), (Doubles{4, 6}));
}

TEST_P(Engine, LeavesDoNotShareAGradientTensor) {
  Tensor a = leaf({1}), b = leaf({2});
  (a + b).backward();
  add_(a.grad(), 10);
  EXPECT_EQ(values(b.grad()), (Doubles{1}));
}

TEST_P(Engine, CallersGradientIsCopied) {
  Tensor x = leaf({1, 2});
  const Tensor y = x + 0, g = ones_like(y);
  y.backward(g, {.retain_graph = true});
  y.backward(g);
  EXPECT_EQ(values(g), (Doubles{1, 1}));
  EXPECT_EQ(values(x.grad()), (Doubles{2, 2}));
}

TEST_P(Engine, AGradientThatOthersHoldIsNotAddedTo) {
  // This gradient arrives first; the sum is written into the next one, which nothing else holds.
  Tensor x = leaf({1, 2}), w = leaf({3, 4});
  const Tensor a = x * 1, b = w * 1, h = a * 2, s = a + b;
  (sum(h) + sum(s * 3)).backward();
  EXPECT_EQ(values(x.grad()), (Doubles{5, 5}));
  EXPECT_EQ(values(w.grad()), (Doubles{3, 3}));
  const Tensor c = x * 1, given = ones_like(c);
  backward({c, c * 2}, {given, given});
  EXPECT_EQ(values(given), (Doubles{1, 1}));
  EXPECT_EQ(values(x.grad()), (Doubles{8, 8}));
}

TEST_P(Engine, FreedGraphIsAnError) {
  Tensor x = leaf({2});
  const Tensor y = x * x;
  y.backward();
  try {
    y.backward();
    FAIL() << "the freed graph ran again";
  } catch (const AutogradError& e) {
    EXPECT_NE(std::string(e.what()).find("retain_graph"), std::string::npos) << e.what();
  }
  const Tensor z = x * x;
  z.backward({.retain_graph = true});
  EXPECT_NO_THROW(z.backward());
}

TEST_P(Engine, AnOverwrittenSavedValueIsAnErrorThatNamesTheForwardLine) {
  Tensor x = leaf({1, 2});
  const Tensor h = x * 2;
  const unsigned line = __LINE__ + 1;
  const Tensor y = h * h;
  {
    const NoGradGuard no_grad;
    add_(h, 1);
  }
  try {
    sum(y).backward();
    FAIL() << "a wrong gradient was given";
  } catch (const AutogradError& e) {
    EXPECT_EQ(e.where().line, line) << e.what();
    EXPECT_NE(std::string(e.what()).find("mul"), std::string::npos) << e.what();
  }
}

TEST_P(Engine, AnOverwrittenResultThatIsSavedIsAnErrorToo) {
  Tensor x = leaf({1, 2});
  const Tensor y = exp(x);  // its gradient needs y itself
  {
    const NoGradGuard no_grad;
    mul_(y, 2);
  }
  EXPECT_THROW(sum(y).backward(), AutogradError);
  EXPECT_FALSE(x.grad().defined());
}

TEST_P(Engine, UnrecordedWritesKeepTheHistory) {
  Tensor x = leaf({1, 2});
  const Tensor y = x * 3;
  {
    const NoGradGuard no_grad;
    add_(y, 1);
  }
  sum(y * 2).backward();
  EXPECT_EQ(values(x.grad()), (Doubles{6, 6}));
  x.requires_grad_(false);
  EXPECT_FALSE(x.requires_grad());
  EXPECT_FALSE((x * 2).requires_grad());
}

TEST_P(Engine, AGradientOfAnotherDtypeIsConverted) {
  Tensor x = leaf({1, 2});
  exp(x).backward(ones({2}, {DType::float32, device()}));
  EXPECT_EQ(x.grad().dtype(), DType::float64);
  DType seen = DType::int64;
  const Tensor y = x * 1;
  const auto hook = register_hook(y, [&](const Tensor& g) { return seen = g.dtype(), Tensor(); });
  y.backward(ones({2}, {DType::float32, device()}));
  EXPECT_EQ(seen, DType::float64);
}

TEST_P(Engine, AnAliasWrittenBehindTheGraphIsRefused) {
  Tensor x = leaf({1, 2});
  const Tensor h = x * 2;
  Tensor alias = h.detach();
  alias += 1;
  EXPECT_THROW(h + 1, AutogradError);
}

TEST_P(Engine, SharedMemoryIsNotWrittenWhileRecording) {
  Tensor x = leaf({1, 2});
  const Tensor h = x * 2, part = h(0);
  EXPECT_THROW(mul_(part, 3), AutogradError);
  EXPECT_THROW(add_(x, 1), AutogradError);
  const NoGradGuard no_grad;
  EXPECT_NO_THROW(add_(x, 1));
  EXPECT_EQ(values(x), (Doubles{2, 3}));
}

TEST_P(Engine, NoGradGuardStopsRecordingInItsScope) {
  Tensor x = leaf({1});
  {
    const NoGradGuard no_grad;
    EXPECT_FALSE((x * 2).requires_grad());
  }
  EXPECT_TRUE((x * 2).requires_grad());
  EXPECT_FALSE(x.detach().requires_grad());
}

TEST_P(Engine, GradDoesNotWriteLeafGradients) {
  Tensor x = leaf({3}), w = leaf({2}), unused = leaf({1});
  const Tensor h = x * w, y = h * h;
  const auto g = grad({y}, {x, h}, {.retain_graph = true});
  EXPECT_EQ(values(g[0]), (Doubles{24}));
  EXPECT_EQ(values(g[1]), (Doubles{12}));
  EXPECT_FALSE(x.grad().defined());
  EXPECT_THROW(grad(y, unused, {.retain_graph = true}), AutogradError);
  EXPECT_FALSE(grad(y, unused, {.allow_unused = true}).defined());
}

TEST_P(Engine, ErrorsSayWhichOfSeveralInputsAndOutputs) {
  const Tensor x = leaf({3}), unused = leaf({1}), plain = x.detach(), y = x * x;
  using Tensors = std::vector<Tensor>;
  const auto error = [](const Tensors& outputs, const Tensors& inputs, const Tensors& given = {}) {
    return test::error_of<Error>([&] { grad(outputs, inputs, {.retain_graph = true, .grad_outputs = given}); });
  };
  const auto has = [](const std::string& text, const char* part) { return text.find(part) != std::string::npos; };
  const std::string undefined = error({y}, {x, Tensor()}), without = error({y}, {x, x, plain});
  EXPECT_TRUE(has(undefined, "inputs[1] is undefined")) << undefined;
  EXPECT_TRUE(has(without, "inputs[2] does not require a gradient  (")) << without;
  EXPECT_TRUE(has(error({y}, {x, unused}), "the outputs do not depend on inputs[1]  ("));
  EXPECT_TRUE(has(error({y}, {plain}), "the input does not require a gradient  ("));
  EXPECT_TRUE(has(error({y, plain}, {x}), "outputs[1] depends on no tensor"));
  EXPECT_TRUE(has(error({y, y}, {x}, {y, zeros({3, 4}, {DType::float64, device()})}), "the shape of outputs[1]"));
  EXPECT_TRUE(has(error({plain}, {x}), "the output depends on no tensor"));
}

TEST_P(Engine, CreateGraphGivesSecondDerivatives) {
  Tensor x = leaf({2});
  const Tensor first = grad(pow(x, 3), x, {.create_graph = true});
  // Powers may be rounded otherwise on a GPU.
  EXPECT_NEAR(first.item(), 12, 1e-6);
  EXPECT_NEAR(grad(first, x).item(), 12, 1e-6);
  // In a leaf, the history of the sum of two gradients is that of both.
  pow(x, 3).backward({.create_graph = true});
  (x * x).backward({.create_graph = true});
  const Tensor both = x.grad();
  EXPECT_NEAR(both.item(), 16, 1e-6);
  EXPECT_NEAR(grad(both, x).item(), 14, 1e-6);
  x.set_grad({});  // breaks the cycle: a gradient with a history refers to the leaf
}

TEST_P(Engine, GradientsWithAHistoryShareNoMemory) {
  Tensor a = leaf({1, 2}), b = leaf({3, 4}), c = leaf({5, 6});
  sum((a + b) * c * c).backward({.create_graph = true});
  {
    const NoGradGuard no_grad;
    a.grad().detach().mul_(10);  // as clipping does
  }
  EXPECT_EQ(values(a.grad()), (Doubles{250, 360}));
  EXPECT_EQ(values(b.grad()), (Doubles{25, 36}));
  EXPECT_EQ(values(grad(sum(b.grad()), c)), (Doubles{10, 12}));
  for (Tensor* x : {&a, &b, &c}) x->set_grad({});
}

TEST_P(Engine, HooksSeeTheWholeGradientAndMayReplaceIt) {
  Tensor x = leaf({1, 2});
  int calls = 0;
  HookHandle hook = register_hook(x, [&](const Tensor& g) {
    ++calls;
    return g * 10;
  });
  sum(x * x + x).backward();
  EXPECT_EQ(calls, 1);
  EXPECT_EQ(values(x.grad()), (Doubles{30, 50}));
  hook.remove();
  sum(x).backward();
  EXPECT_EQ(calls, 1);
  const Tensor h = x * 2;
  const auto of_h = register_hook(h, [&](const Tensor&) { return ++calls, Tensor(); });
  h.retain_grad();
  sum(h).backward();
  EXPECT_EQ(calls, 2);
  EXPECT_EQ(values(h.grad()), (Doubles{1, 1}));
  const Tensor again = x * 2;
  again.retain_grad();
  sum(again).backward({.retain_graph = true});
  sum(again * 3).backward();
  EXPECT_EQ(values(again.grad()), (Doubles{4, 4}));
}

TEST_P(Engine, GradientOfAMovedLeafReachesTheLeaf) {
  Tensor x = tensor({1.0f, 2.0f}).requires_grad_();
  const Tensor moved = x.to(device(), DType::float64);
  EXPECT_FALSE(moved.is_leaf());
  sum(moved * 3).backward();
  EXPECT_TRUE(x.grad().device().is_cpu());
  EXPECT_EQ(x.grad().dtype(), DType::float32);
  EXPECT_EQ(values(x.grad()), (Doubles{3, 3}));
  EXPECT_FALSE(x.to(DType::int64).requires_grad());
}

TEST_P(Engine, RecordWithAUserFunction) {
  const auto cube = [](const In& x) {
    Tensor y;
    {
      const NoGradGuard no_grad;
      y = *x * *x * *x;
    }
    return record("cube", y, {x}, [x = Saved(*x)](const Tensor& g) { return g * 3 * x() * x(); });
  };
  EXPECT_TRUE(gradgradcheck([&](const std::vector<Tensor>& in) { return cube(in[0]); }, {leaf({0.5, 2})}));
}

TEST_P(Engine, GradcheckFindsAWrongGradient) {
  const auto wrong = [](const std::vector<Tensor>& in) {
    return record("wrong", in[0].detach() * 2, {in[0]}, [](const Tensor& g) { return g * 2.001; });
  };
  EXPECT_THROW(gradcheck(wrong, {leaf({0.5, 2})}), AutogradError);
  EXPECT_THROW(gradcheck(wrong, {tensor({1.0f}, {{}, device()}).requires_grad_()}), DTypeError);
  EXPECT_THROW(gradcheck(wrong, {tensor({1.0f}, {{}, device()})}), AutogradError);
}

TEST_P(Engine, AGradientFunctionWithTooManyResultsIsAnError) {
  Tensor x = leaf({1});
  const Tensor y = record("odd", x.detach() * 2, {x}, [](const Tensor& g) { return Gradients{g, g}; });
  EXPECT_THROW(y.backward(), AutogradError);
  Tensor two = leaf({1, 2});
  const Tensor z = record("odd", two.detach() * 2, {two}, [](const Tensor&) {
    return ones({5}, {DType::float64, device()});
  });
  EXPECT_THROW(sum(z).backward(), ShapeError);
}

TEST_P(Engine, BadCallsAreTypedErrors) {
  Tensor x = leaf({1, 2});
  EXPECT_THROW((x * 2).backward(), AutogradError);
  EXPECT_THROW((x * 2).backward(ones({3}, {DType::float64, device()})), ShapeError);
  EXPECT_THROW(ones({1}).backward(), AutogradError);
  EXPECT_THROW(grad(sum(x), ones({1})), AutogradError);
  EXPECT_THROW(ones({1}).retain_grad(), AutogradError);
  EXPECT_THROW(tensor({1, 2}).requires_grad_(), DTypeError);
  EXPECT_THROW((x * 2).requires_grad_(false), AutogradError);
  EXPECT_THROW(x.set_grad(ones({7}, {DType::float64, device()})), ShapeError);
  const Tensor whole = tensor({1, 2}, {{}, device()});
  EXPECT_THROW(mul_(whole, x), DTypeError);
  EXPECT_THROW(copy_(x * 2, ones({3}, {DType::float64, device()})), ShapeError);
}

TEST(EngineLifetime, GraphsAreFreed) {
  const std::int64_t nodes = autograd::live_nodes(), storages = live_storages();
  {
    Tensor x = ones({4}).requires_grad_();
    for (int i = 0; i < 10; ++i) sum(tanh(exp(x) * x)).backward();
    const Tensor never_run = sigmoid(x) * 2;
  }
  EXPECT_EQ(autograd::live_nodes(), nodes);
  EXPECT_EQ(live_storages(), storages);
}

TEST(EngineLifetime, ALongChainNeedsNoStack) {
  Tensor x = ones({1}).requires_grad_();
  Tensor y = x;
  for (int i = 0; i < 200000; ++i) y = y + 0.5;
  y.backward({.retain_graph = true});
  EXPECT_EQ(x.grad().item<float>(), 1);
}

TEST(EngineThreads, BackwardInSeveralThreadsIntoOneLeaf) {
  Tensor x = ones({64}, {DType::float64}).requires_grad_();
  std::vector<std::jthread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([x] {
      for (int i = 0; i < 50; ++i) sum(x * 2).backward();
    });
  threads.clear();
  for (const double g : x.grad().to_vector<double>()) ASSERT_EQ(g, 400);
}

TEST(EngineThreads, GradModeIsThreadLocal) {
  const NoGradGuard no_grad;
  bool enabled = false;
  std::jthread([&] { enabled = is_grad_enabled(); }).join();
  EXPECT_TRUE(enabled);
  EXPECT_FALSE(is_grad_enabled());
}

}  // namespace
}  // namespace minnow
