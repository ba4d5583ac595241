#include <minnow/autograd/checkpoint.h>

#include <gtest/gtest.h>
#include <minnow/minnow.h>
#include "support/devices.h"
#include "support/thrown.h"

namespace minnow {
namespace {

using test::error_of;
using test::expect_contains;

class Checkpoint : public test::DeviceTest {};
INSTANTIATE_TEST_SUITE_P(Devices, Checkpoint, test::all_devices(), test::device_test_name);

nn::Sequential block(std::int64_t width, double p = 0) {
  return nn::Sequential(nn::Linear(width, width), nn::GELU(), nn::Dropout(p), nn::Linear(width, width), nn::Tanh());
}

/// The gradients of the parameters, and of x.
std::vector<Tensor> gradients(nn::Module& net, Tensor& x, const std::function<Tensor(const Tensor&)>& f) {
  net.zero_grad();
  x.set_grad(Tensor());
  manual_seed(3);
  sum(square(f(x))).backward();
  std::vector<Tensor> all{x.grad()};
  for (const Tensor& p : net.parameters()) all.push_back(p.grad());
  return all;
}

TEST_P(Checkpoint, GivesTheSameGradientsAsWithout) {
  auto net = block(4, 0.5);
  net.to(device());
  Tensor x = randn({3, 4}, {.device = device()}).requires_grad_();
  const auto direct = gradients(net, x, [&](const Tensor& t) { return net(t) * t; });
  const auto again =
      gradients(net, x, [&](const Tensor& t) { return checkpoint([&](const Tensor& u) { return net(u); }, t) * t; });
  for (std::size_t i = 0; i < direct.size(); ++i) EXPECT_TRUE(again[i].equal(direct[i])) << i;
  const PhiloxState state = default_generator().state();
  (void)gradients(net, x, [&](const Tensor& t) { return net(t); });
  EXPECT_EQ(default_generator().state().offset, state.offset);  // as many numbers are drawn
}

TEST_P(Checkpoint, ParametersAloneMayRequireAGradient) {
  auto net = block(4);
  net.to(device());
  const Tensor x = randn({3, 4}, {.device = device()});
  const Tensor y = checkpoint([&] { return net(x); });
  sum(y).backward();
  EXPECT_TRUE(net.parameters()[0].grad().defined());
  const Tensor plain = checkpoint([](const Tensor& t) { return t * 2; }, x);
  EXPECT_FALSE(plain.requires_grad());
  const NoGradGuard guard;
  EXPECT_FALSE(checkpoint([&](const Tensor& t) { return net(t); }, x).requires_grad());
}

TEST_P(Checkpoint, NestedAndTwiceAndCaptured) {
  auto inner = block(4), outer = block(4);
  inner.to(device());
  outer.to(device());
  struct Both : nn::Module {
    nn::Sequential a, b;
    Both(const nn::Sequential& x, const nn::Sequential& y) : a(child("a", x)), b(child("b", y)) {}
  } both(inner, outer);
  Tensor x = randn({3, 4}, {.device = device()}).requires_grad_();
  const auto direct = gradients(both, x, [&](const Tensor& t) {
    const Tensor h = t * 2;
    return outer(inner(h) + h) + h;
  });
  const auto nested = gradients(both, x, [&](const Tensor& t) {
    const Tensor h = t * 2;  // captured: the graph goes on behind it
    return checkpoint(
        [&, h](const Tensor& u) { return outer(checkpoint([&](const Tensor& v) { return inner(v); }, u) + h) + u; }, h);
  });
  for (std::size_t i = 0; i < direct.size(); ++i) EXPECT_TRUE(nested[i].allclose(direct[i], 1e-5, 1e-5)) << i;

  both.zero_grad();
  x.set_grad(Tensor());
  const Tensor loss = sum(square(checkpoint([&](const Tensor& u) { return inner(u); }, x)));
  loss.backward({.retain_graph = true});
  const Tensor once = x.grad().clone();
  loss.backward();
  EXPECT_TRUE(x.grad().allclose(once * 2));
  EXPECT_THROW(loss.backward(), AutogradError);
}

TEST_P(Checkpoint, HigherDerivativesAndGrad) {
  Tensor w = tensor({0.5, -0.3}, float64).to(device()).requires_grad_();
  const std::vector<Tensor> inputs{tensor({0.4, 0.9}, float64).to(device()).requires_grad_(), w};
  const auto f = [](const std::vector<Tensor>& x) {
    return checkpoint([w = x[1]](const Tensor& t) { return tanh(t * w) * exp(t); }, x[0]);
  };
  gradcheck(f, inputs);
  gradgradcheck(f, inputs);
  const Tensor g = grad(sum(f(inputs)), w);
  EXPECT_EQ(g.shape(), (Shape{2}));
  EXPECT_FALSE(w.grad().defined());  // grad() adds nothing to leaves, in parts that run again neither
}

TEST_P(Checkpoint, SeveralResults) {
  Tensor x = tensor({1.0F, 2.0F}).to(device()).requires_grad_(), y = tensor({3.0F, 4.0F}).to(device()).requires_grad_();
  int calls = 0;
  const auto [a, b, c] = checkpoint(
      [&](const Tensor& t, const Tensor& u) {
        ++calls;
        return std::tuple(t * u, exp(t), ones_like(t));
      },
      x, y);
  EXPECT_FALSE(c.requires_grad());
  sum(a + b * 2).backward();
  EXPECT_EQ(calls, 2);  // once for both results
  EXPECT_TRUE(x.grad().allclose((y + exp(x) * 2).detach()));
  EXPECT_TRUE(y.grad().equal(x));
  const std::vector<Tensor> list = checkpoint([](const Tensor& t) { return std::vector<Tensor>{t, t * 3}; }, x);
  x.set_grad(Tensor());
  sum(list[0]).backward();  // one of the results alone
  EXPECT_EQ(x.grad().to_vector<float>(), (std::vector<float>{1, 1}));
}

TEST_P(Checkpoint, HooksRunOnce) {
  Tensor w = ones({2}, {.device = device()}).requires_grad_();
  const Tensor h = w * 2;
  int of_leaf = 0, of_result = 0;
  const auto a = register_hook(w, [&](const Tensor&) {
    ++of_leaf;
    return Tensor();
  });
  const auto b = register_hook(h, [&](const Tensor&) {
    ++of_result;
    return Tensor();
  });
  sum(checkpoint([&](const Tensor& t) { return t * w * h; }, h)).backward();
  EXPECT_EQ(of_leaf, 1);
  EXPECT_EQ(of_result, 1);
}

TEST_P(Checkpoint, MemoryFallsToTheResults) {
  constexpr std::int64_t kLayers = 8, kRows = 256, kWidth = 64;
  std::vector<nn::Sequential> layers;
  for (std::int64_t i = 0; i < kLayers; ++i) {
    layers.push_back(block(kWidth));
    layers.back().to(device());
  }
  const Tensor x = randn({kRows, kWidth}, {.device = device()});
  const auto used = [&](bool checkpointed) {
    const std::int64_t before = memory_stats(device()).allocated;
    Tensor y = x;
    for (auto& layer : layers)
      y = checkpointed ? checkpoint([layer](const Tensor& t) { return layer(t); }, y) : layer(y);
    return memory_stats(device()).allocated - before;
  };
  const std::int64_t kept = used(false), results = used(true), one = kRows * kWidth * 4;
  EXPECT_GE(kept, 3 * kLayers * one);
  EXPECT_LE(results, kLayers * one + one);
}

TEST_P(Checkpoint, BatchNormUpdatesItsStatisticsOnce) {
  nn::BatchNorm1d norm(3);
  norm.to(device());
  const Tensor x = randn({8, 3}, {.device = device()});
  sum(square(checkpoint([&](const Tensor& t) { return norm(t); }, x))).backward();
  EXPECT_EQ(norm.num_batches_tracked.item(), 1);
  EXPECT_TRUE(norm.running_mean.allclose(mean(x, 0) * 0.1));
}

TEST_P(Checkpoint, InACapturedStep) {
  auto net = block(4, 0.5), same = nn::clone(net);
  net.to(device());
  same.to(device());
  optim::SGD a(net.parameters(), {.lr = 0.1}), b(same.parameters(), {.lr = 0.1});
  const auto train = [&](nn::Sequential& m, optim::SGD& sgd, const Tensor& x) {
    Tensor loss = mean(square(checkpoint([m](const Tensor& t) { return m(t); }, x)));
    sgd.zero_grad();
    loss.backward();
    sgd.step();
    return loss;
  };
  CapturedStep step([&](const Tensor& x) { return train(net, a, x); }, {.device = device()});
  for (int i = 0; i < 5; ++i) {
    const Tensor x = full({3, 4}, i + 1.0, {.device = device()});
    manual_seed(static_cast<std::uint64_t>(i));
    const double captured = step(x).item();
    manual_seed(static_cast<std::uint64_t>(i));
    EXPECT_NEAR(captured, train(same, b, x).item(), 1e-6) << i;
  }
}

// A loop over layers, whose handles end before backward.
TEST_P(Checkpoint, TakesAModule) {
  auto net = block(4, 0.5);
  net.to(device());
  Tensor x = randn({3, 4}, {.device = device()}).requires_grad_();
  const auto direct = gradients(net, x, [&](const Tensor& t) { return net(net(t)); });
  const auto again = gradients(net, x, [&](const Tensor& t) {
    Tensor y = t;
    for (int i = 0; i < 2; ++i) {
      const nn::Sequential layer = net;
      y = checkpoint(layer, y);
    }
    return y;
  });
  for (std::size_t i = 0; i < direct.size(); ++i) EXPECT_TRUE(again[i].equal(direct[i])) << i;
}

TEST_P(Checkpoint, ACapturedTensorThatWasOverwrittenIsAnError) {
  const Tensor w = ones({2}, {.device = device()}).requires_grad_();
  Tensor x = ones({2}, {.device = device()}).requires_grad_(), c = full({2}, 3, {.device = device()});
  const auto f = [w, c](const Tensor& t) { return exp(t * w + c); };
  for (const bool nested : {false, true}) {
    const Tensor y = nested ? checkpoint([f](const Tensor& t) { return checkpoint(f, t * 2); }, x) : checkpoint(f, x);
    c.add_(1);
    expect_contains(error_of<AutogradError>([&] { sum(y).backward(); }), "that the function captured was overwritten");
  }
  // What the function itself writes, and its results, may change.
  const Tensor state = zeros({2}, {.device = device()});
  const auto counts = [w, state](const Tensor& t) {
    state.detach().add_(1);
    return tanh(t * w);
  };
  Tensor y = checkpoint(counts, x);
  const Tensor z = checkpoint(counts, x);
  y.mul_(2);
  sum(y + z).backward();
  EXPECT_TRUE(x.grad().allclose((3 * (1 - square(tanh(ones_like(x)))))));
}

TEST(CheckpointErrors, AMissingGradientIsAnError) {
  const Tensor x = ones({2}).requires_grad_(), w = ones({2}).requires_grad_();
  int calls = 0;
  const char* kMissing = "did not depend on all that they depended on before";
  const Tensor y = checkpoint([&](const Tensor& t) { return ++calls == 1 ? t * w : t.detach() * 2; }, x);
  expect_contains(error_of<AutogradError>([&] { sum(y).backward(); }), kMissing);
  calls = 0;
  const Tensor z = checkpoint([&](const Tensor& t) { return ++calls == 1 ? t * w : t * 2; }, x);
  expect_contains(error_of<AutogradError>([&] { sum(z).backward(); }), kMissing);
  Tensor h = x * 2;  // captured by reference, and replaced
  const Tensor v = checkpoint([&h](const Tensor& t) { return t * h; }, w);
  h = h * 2;
  expect_contains(error_of<AutogradError>([&] { sum(v).backward(); }), kMissing);
}

TEST(CheckpointErrors, WhatCannotBeDoneTwice) {
  Tensor w = ones({2}).requires_grad_();
  Tensor x = ones({2});
  expect_contains(error_of<AutogradError>([&] {
                    (void)checkpoint(
                        [&](const Tensor& t) {
                          t.add_(1);
                          return t * w;
                        },
                        x);
                  }),
                  "checkpoint: the function writes to its argument");
  expect_contains(error_of<AutogradError>([&] {
                    (void)checkpoint(
                        [&](const Tensor& t) {
                          sum(t * w).backward();
                          return t;
                        },
                        x);
                  }),
                  "called by the function of checkpoint()");
  expect_contains(error_of<AutogradError>(
                      [&] { (void)checkpoint([&](const Tensor& t) { return t * ones({2}).requires_grad_(); }, x); }),
                  "makes a leaf");
  const Tensor y = checkpoint([&](const Tensor& t) { return t * w; }, x);
  {
    const NoGradGuard guard;
    w.add_(1);
  }
  expect_contains(error_of<AutogradError>([&] { sum(y).backward(); }), "a leaf was overwritten");
  const Tensor z = checkpoint([&](const Tensor& t) { return t * w; }, x);
  x.add_(1);
  expect_contains(error_of<AutogradError>([&] { sum(z).backward(); }), "checkpoint_test.cpp");
  int calls = 0;
  const Tensor v = checkpoint([&](const Tensor& t) { return ++calls == 1 ? t * w : (t * w).unsqueeze(0); }, x);
  const std::string text = error_of<AutogradError>([&] { sum(v).backward(); });
  expect_contains(text, "gave another result");
  expect_contains(text, "float32[2] on cpu");
}

}  // namespace
}  // namespace minnow
