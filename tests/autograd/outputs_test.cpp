#include <gtest/gtest.h>
#include <thread>
#include <minnow/minnow.h>

#include "devices.h"
#include "thrown.h"

/// Operations with several outputs.
namespace minnow {
namespace {

using test::error_of;
using test::has;

/// How often the gradient function of sincos ran, and with which gradients.
struct Calls {
  int count = 0;
  bool of_sin = false, of_cos = false;
};

/// sin x, cos x, and an output without a gradient, as one operation.
std::array<Tensor, 3> sincos(const In& x, Calls* calls = nullptr) {
  Tensor s, c, positive;
  {
    const NoGradGuard no_grad;
    s = sin(x), c = cos(x), positive = *x > 0;
  }
  return record("sincos", {s, c, positive}, {x},
                [calls, s = Saved::output(s), c = Saved::output(c)](std::span<const Tensor> grads) {
                  if (calls) *calls = {calls->count + 1, grads[0].defined(), grads[1].defined()};
                  Tensor g;
                  if (grads[0].defined()) g = grads[0] * c();
                  if (grads[1].defined()) g = g.defined() ? g - grads[1] * s() : -grads[1] * s();
                  return g;
                });
}

class Outputs : public test::DeviceTest {
 protected:
  static Tensor leaf(double value = 0.5) {
    return full({3}, value, {.dtype = float64, .device = device()}).requires_grad_();
  }
};
INSTANTIATE_TEST_SUITE_P(Devices, Outputs, test::all_devices(), test::device_test_name);

TEST_P(Outputs, OneCallReceivesTheGradientsOfAll) {
  const Tensor x = leaf();
  Calls calls;
  const auto results = sincos(x, &calls);
  const Tensor s = results[0], c = results[1];
  EXPECT_EQ(results[2].dtype(), bool_);
  EXPECT_FALSE(results[2].requires_grad());
  (sum(s * s) + sum(s * 2) + sum(c * 3)).backward();
  EXPECT_EQ(calls.count, 1);
  EXPECT_TRUE(calls.of_sin && calls.of_cos);
  EXPECT_NEAR(x.grad()[0].item(), 2 * std::sin(0.5) * std::cos(0.5) + 2 * std::cos(0.5) - 3 * std::sin(0.5), 1e-12);
}

TEST_P(Outputs, AnUnusedOneIsUndefined) {
  for (const bool first : {true, false}) {
    const Tensor x = leaf();
    Calls calls;
    const auto out = sincos(x, &calls);
    sum(first ? out[0] : out[1]).backward();
    EXPECT_EQ(calls.of_sin, first);
    EXPECT_EQ(calls.of_cos, !first);
    EXPECT_NEAR(x.grad()[0].item(), first ? std::cos(0.5) : -std::sin(0.5), 1e-12);
  }
}

TEST_P(Outputs, NothingIsRecordedWithoutNeed) {
  const std::int64_t nodes = autograd::live_nodes();
  const auto plain = sincos(leaf().detach());
  {
    const NoGradGuard no_grad;
    EXPECT_FALSE(sincos(leaf())[0].requires_grad());
  }
  EXPECT_FALSE(plain[0].requires_grad());
  EXPECT_EQ(autograd::live_nodes(), nodes);
  {
    const auto recorded = sincos(leaf());
    EXPECT_EQ(autograd::live_nodes(), nodes + 1);
  }
  EXPECT_EQ(autograd::live_nodes(), nodes);
}

TEST_P(Outputs, DerivativesOfAnyOrder) {
  const auto f = [](const std::vector<Tensor>& in) {
    const auto results = sincos(in[0]);
    const Tensor s = results[0], c = results[1];
    return s * s * c + exp(c);
  };
  gradcheck(f, {leaf()});
  gradgradcheck(f, {leaf()});
  gradgradcheck([](const std::vector<Tensor>& in) { return sincos(in[0])[1]; }, {leaf()});
  const Tensor x = leaf();
  Tensor d = sincos(x)[0];
  for (int order = 0; order < 5; ++order) d = grad(sum(d), x, {.create_graph = true});
  EXPECT_NEAR(d[0].item(), std::cos(0.5), 1e-12) << "the fifth derivative of sin";
}

TEST_P(Outputs, GradOfOneOfThem) {
  const Tensor x = leaf();
  Calls calls;
  const auto results = sincos(x, &calls);
  const Tensor s = results[0], c = results[1];
  const Tensor loss = sum(s * c);
  const auto of_outputs = grad({loss}, {s, c}, {.retain_graph = true});
  EXPECT_EQ(calls.count, 0) << "nothing behind them is needed";
  EXPECT_NEAR(of_outputs[0][0].item(), std::cos(0.5), 1e-12);
  EXPECT_NEAR(of_outputs[1][0].item(), std::sin(0.5), 1e-12);
  const auto all_of_them = grad({loss}, {c, x, s}, {.retain_graph = true});
  EXPECT_NEAR(all_of_them[0][0].item(), std::sin(0.5), 1e-12);
  EXPECT_NEAR(all_of_them[1][0].item(), std::cos(1.0), 1e-12);
  EXPECT_TRUE(has(error_of<AutogradError>([&] { grad(sum(s), c); }), "do not depend on the input"));
  EXPECT_FALSE(grad({sum(sincos(x)[0])}, {c}, {.allow_unused = true})[0].defined());
}

TEST_P(Outputs, EachHasItsHooksAndItsRetainedGradient) {
  const Tensor x = leaf();
  const auto results = sincos(x);
  const Tensor s = results[0], c = results[1];
  int calls = 0;
  const auto hook = register_hook(c, [&](const Tensor& g) {
    ++calls;
    return g * 10;
  });
  s.retain_grad();
  c.retain_grad();
  sum(s).backward({.retain_graph = true});
  EXPECT_EQ(calls, 0) << "no gradient arrived there";
  EXPECT_FALSE(c.grad().defined());
  sum(s * 2 + c).backward();
  EXPECT_EQ(calls, 1);
  EXPECT_EQ(s.grad()[0].item(), 3);
  EXPECT_EQ(c.grad()[0].item(), 10) << "as a hook has changed it";
  EXPECT_NEAR(x.grad()[0].item(), 3 * std::cos(0.5) - 10 * std::sin(0.5), 1e-12);
}

// The gradients that have arrived belong to one backward, not to the graph.
TEST_P(Outputs, ABackwardThatFailsLeavesNoGradientBehind) {
  const Tensor x = leaf();
  const auto results = sincos(x);
  const Tensor s = results[0], c = results[1];
  const Tensor through = exp(s);
  {
    const auto hook = register_hook(s, [](const Tensor&) -> Tensor { throw std::runtime_error("stop"); });
    EXPECT_THROW(sum(through + c).backward({.retain_graph = true}), std::runtime_error);
  }
  const Tensor d = grad(sum(through), x);
  EXPECT_NEAR(d[0].item(), std::exp(std::sin(0.5)) * std::cos(0.5), 1e-12);
}

TEST_P(Outputs, OneGraphInSeveralThreads) {
  const Tensor x = leaf();
  const auto results = sincos(x);
  const Tensor s = results[0], c = results[1];
  const Tensor of_sin = sum(s), of_cos = sum(c);
  std::vector<std::thread> threads;
  std::array<int, 4> wrong{};
  for (std::size_t t = 0; t < wrong.size(); ++t)
    threads.emplace_back([&, t] {
      for (int i = 0; i < 50; ++i) {
        const Tensor d = grad(t % 2 ? of_sin : of_cos, x, {.retain_graph = true});
        if (std::abs(d[0].item() - (t % 2 ? std::cos(0.5) : -std::sin(0.5))) > 1e-12) ++wrong[t];
      }
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, (std::array<int, 4>{}));
}

TEST_P(Outputs, VersionsAreCheckedOneByOne) {
  const Tensor x = leaf();
  {
    const auto results = sincos(x);
    const Tensor s = results[0], c = results[1];
    {
      const NoGradGuard no_grad;
      add_(s.detach(), 1);
    }
    const std::string text = error_of<AutogradError>([&] { sum(c).backward(); });  // needs the sine
    EXPECT_TRUE(has(text, "sincos: a value that its gradient needs was overwritten")) << text;
  }
  const auto results = sincos(x);
  const Tensor c = results[1], loss = sum(c);
  {
    const NoGradGuard no_grad;
    add_(c.detach(), 1);
  }
  EXPECT_NO_THROW(loss.backward()) << "a gradient that needs the sine alone";
}

TEST_P(Outputs, WritingToOneKeepsTheOthers) {
  const Tensor x = leaf();
  const auto results = sincos(x * 1);
  const Tensor s = results[0], c = results[1];
  mul_(c, 2);
  (sum(s) + sum(c)).backward();
  EXPECT_NEAR(x.grad()[0].item(), std::cos(0.5) - 2 * std::sin(0.5), 1e-12);
}

TEST_P(Outputs, ASavedOutputMustBeOne) {
  const Tensor x = leaf();
  Tensor a, b;
  {
    const NoGradGuard no_grad;
    a = exp(x), b = x * 2;
  }
  const auto out =
      record("pair", {a, b}, {x}, [a = Saved::output(a.view({3}))](std::span<const Tensor> g) { return g[0] * a(); });
  EXPECT_NO_THROW(grad(sum(out[0]), x, {.retain_graph = true}));
  const std::string text = error_of<AutogradError>([&] { grad(sum(out[0]), x, {.create_graph = true}); });
  EXPECT_TRUE(has(text, "pair: a saved value is none of the outputs that were recorded")) << text;
}

TEST_P(Outputs, AnInputThatIsReturnedAndUndefinedOnes) {
  const Tensor x = leaf();
  const auto out = record("same", {*In(x), Tensor(), x}, {x}, [](std::span<const Tensor> g) {
    EXPECT_FALSE(g[1].defined());
    return g[0] * 2 + g[2] * 3;
  });
  EXPECT_FALSE(out[1].defined());
  EXPECT_TRUE(x.is_leaf()) << "its history stays";
  (sum(out[0]) + sum(out[2])).backward();
  EXPECT_EQ(x.grad()[0].item(), 5);
}

TEST_P(Outputs, AWrongNumberOfGradientsAndAFreedGraph) {
  const Tensor x = leaf();
  const auto wrong = record("pair", {x.detach() * 1, x.detach() * 2}, {x}, [](std::span<const Tensor> g) {
    return Gradients{g[0], g[0]};
  });
  EXPECT_TRUE(has(error_of<AutogradError>([&] { sum(wrong[0]).backward(); }), "returned 2 gradients for 1 input"));
  const auto out = sincos(x);
  sum(out[0]).backward();
  const std::string text = error_of<AutogradError>([&] { sum(out[1]).backward(); });
  EXPECT_TRUE(has(text, "sincos: the graph was freed by an earlier backward")) << text;
}

TEST_P(Outputs, SumsDoNotGrowWithTheUses) {
  constexpr std::int64_t kCount = 1 << 14;
  const Tensor x = ones({kCount}, {.device = device()}).requires_grad_();
  const auto results = sincos(x);
  const Tensor s = results[0], c = results[1];
  Tensor loss = zeros({}, {.device = device()});
  for (int i = 0; i < 128; ++i) loss = loss + sum(s * i) + sum(c * i);
  const std::int64_t before = memory_stats(device()).allocated;
  reset_peak_memory(device());
  loss.backward();
  EXPECT_LT(static_cast<double>(memory_stats(device()).peak - before), 5.5 * 4 * kCount);
}

TEST_P(Outputs, ALongChainNeedsNoStack) {
  const Tensor x = leaf(1);
  Tensor a = x, b = x * 2;
  for (int i = 0; i < 20000; ++i) {
    const auto next = record("swap", {b.detach(), a.detach()}, {a, b}, [](std::span<const Tensor> g) {
      return Gradients{g[1], g[0]};
    });
    a = next[0], b = next[1];
  }
  sum(b).backward({.retain_graph = true});
  EXPECT_EQ(x.grad()[0].item(), 2);
}

TEST_P(Outputs, InACheckpointAndInACapturedStep) {
  const Tensor x = leaf();
  const auto results = sincos(x);
  const Tensor s = results[0], c = results[1];
  const Tensor y = checkpoint([&](const Tensor& t) { return sin(t) * c + s; }, s);
  const Tensor plain = sin(s) * c + s;
  const Tensor expected = grad(sum(plain), x, {.retain_graph = true});
  EXPECT_NEAR(grad(sum(y), x)[0].item(), expected[0].item(), 1e-12) << "a graph that ends at both outputs";

  const Tensor w = ones({3}, {.device = device()}).requires_grad_();
  optim::SGD sgd({w}, {.lr = 0.1});
  const auto train = [&](const Tensor& in) {
    const auto out = sincos(w * in);
    const Tensor loss = sum(out[0] * out[1]);
    sgd.zero_grad();
    loss.backward();
    sgd.step();
    return loss;
  };
  const Tensor in = full({3}, 0.3);
  CapturedStep step(train, {.device = device(), .warm_up = 1});
  for (int i = 0; i < 4; ++i) step(in);
  EXPECT_EQ(step.captures(), device().is_cuda() ? 1 : 0);
  const double captured = w[0].item();
  {
    const NoGradGuard no_grad;
    fill_(w, 1);
  }
  for (int i = 0; i < 4; ++i) train(in.to(device()));
  EXPECT_NEAR(w[0].item(), captured, 1e-7);
}

}  // namespace
}  // namespace minnow
