#include <minnow/autograd/autocast.h>

#include <array>
#include <cmath>
#include <gtest/gtest.h>
#include <initializer_list>
#include <memory>
#include <thread>
#include <minnow/minnow.h>
#include "support/devices.h"
#include "support/thrown.h"

namespace minnow {
namespace {

using test::error_of;
using test::expect_contains;

constexpr AutocastOptions kForced{.force = true};

class AutocastGuard : public test::DeviceTest {
 protected:
  static Tensor numbers(const Shape& shape) { return randn(shape, {.device = device()}); }
};
INSTANTIATE_TEST_SUITE_P(Devices, AutocastGuard, test::all_devices(), test::device_test_name);

TEST_P(AutocastGuard, ComputesProductsInItsDtype) {
  for (const DType dtype : {bfloat16, float16}) {
    const Autocast guard(dtype, kForced);
    EXPECT_TRUE(is_autocast_enabled());
    EXPECT_EQ(get_autocast_dtype(), dtype);
    const Tensor a = numbers({3, 4}), b = numbers({4, 5});
    const Tensor y = matmul(a, b);
    EXPECT_EQ(y.dtype(), dtype);
    EXPECT_TRUE(y.equal(matmul(a.to(dtype), b.to(dtype))));
    EXPECT_EQ(matmul(a.to(float64), b.to(float64)).dtype(), float64);
    EXPECT_EQ((a + a.to(dtype)).dtype(), float32);
    EXPECT_EQ(relu(y).dtype(), dtype);
    EXPECT_EQ(nn::mse_loss(y, y * 2).dtype(), float32);
  }
  EXPECT_FALSE(is_autocast_enabled());
}

TEST_P(AutocastGuard, MayBeNestedAndSwitchedOff) {
  const Tensor a = numbers({3, 3});
  const Autocast outer(bfloat16, kForced);
  {
    const Autocast off(bfloat16, {.enabled = false});
    EXPECT_FALSE(is_autocast_enabled());
    EXPECT_EQ(matmul(a, a).dtype(), float32);
    const Autocast again(float16, kForced);
    EXPECT_EQ(matmul(a, a).dtype(), float16);
  }
  EXPECT_EQ(matmul(a, a).dtype(), bfloat16);
}

// On the heap, three of them in each order.
TEST_P(AutocastGuard, GuardsMayEndInAnyOrder) {
  const Tensor w = numbers({4, 4}).requires_grad_(), x = numbers({4, 4});
  for (const std::array<std::size_t, 3>& order : std::initializer_list<std::array<std::size_t, 3>>{
           {0, 1, 2}, {0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}}) {
    const DType dtypes[] = {bfloat16, float16, bfloat16};
    std::unique_ptr<Autocast> casts[3];
    std::unique_ptr<AutoGradMode> modes[3];
    bool lives[3] = {true, true, true};
    for (std::size_t i = 0; i < 3; ++i) {
      casts[i] = std::make_unique<Autocast>(dtypes[i], kForced);
      modes[i] = std::make_unique<AutoGradMode>(i == 1);
    }
    for (const std::size_t i : order) {
      casts[i].reset();
      modes[i].reset();
      lives[i] = false;
      const int newest = lives[2] ? 2 : lives[1] ? 1 : lives[0] ? 0 : -1;
      EXPECT_EQ(is_autocast_enabled(), newest >= 0);
      EXPECT_EQ(matmul(x, w).dtype(), newest < 0 ? float32 : dtypes[newest]);
      EXPECT_EQ(is_grad_enabled(), newest < 0 || newest == 1);
    }
  }
}

TEST_P(AutocastGuard, IsOfOneThread) {
  const Autocast guard(bfloat16, kForced);
  DType other = float64;
  std::thread([&] {
    const Tensor a = ones({2, 2}, {.device = device()});
    other = matmul(a, a).dtype();
  }).join();
  EXPECT_EQ(other, float32);
}

TEST_P(AutocastGuard, KeepsMasterWeights) {
  nn::Linear fc(4, 3);
  fc.to(device());
  optim::SGD sgd(fc.parameters(), {.lr = 0.1, .momentum = 0.9});
  const Tensor x = numbers({5, 4});
  Tensor loss;
  {
    const Autocast guard(bfloat16, kForced);
    const Tensor y = fc(x);
    EXPECT_EQ(y.dtype(), bfloat16);
    loss = mean(square(y.to(float32)));
  }
  loss.backward();  // outside of the guard
  EXPECT_EQ(fc.weight.dtype(), float32);
  EXPECT_EQ(fc.weight.grad().dtype(), float32);
  // The gradients are those of the converted weight, of which the host rounds none.
  Tensor w = fc.weight.detach().to(bfloat16).requires_grad_(), b = fc.bias.detach().to(bfloat16).requires_grad_();
  mean(square(linear(x.to(bfloat16), w, b).to(float32))).backward();
  EXPECT_TRUE(fc.weight.grad().to(bfloat16).equal(w.grad()));
  EXPECT_TRUE(fc.bias.grad().equal(b.grad().to(float32)));
  sgd.step();
  EXPECT_EQ(fc.weight.dtype(), float32);
}

TEST_P(AutocastGuard, CrossEntropyReadsHalvesAndGivesFloats) {
  constexpr std::int64_t kRows = 40, kClasses = 3000;
  const Tensor target = (arange(kRows, int64) * 71 % kClasses).to(device());
  target(3) = -100;
  for (const DType dtype : {bfloat16, float16})
    for (const nn::Reduction reduction : {nn::Reduction::none, nn::Reduction::sum, nn::Reduction::mean}) {
      const Tensor logits = (numbers({kRows, kClasses}) * 4).to(dtype).requires_grad_();
      const Tensor wide = logits.detach().to(float32).requires_grad_();
      const auto loss_of = [&](const Tensor& x) { return nn::cross_entropy(x, target, {.reduction = reduction}); };
      const Tensor want = loss_of(wide), scale = numbers(want.shape());
      sum(want * scale).backward();
      const std::int64_t before = memory_stats(device()).allocated;
      reset_peak_memory(device());
      Tensor got;
      {
        const Autocast guard(dtype, kForced);
        got = loss_of(logits);
      }
      sum(got * scale).backward();
      const std::int64_t peak = memory_stats(device()).peak - before;
      EXPECT_LT(peak, 2 * logits.nbytes());  // its gradient; a copy as float32 takes as much as two
      ASSERT_EQ(got.dtype(), float32);
      ASSERT_EQ(logits.grad().dtype(), dtype);
      const bool same_order = !device().is_cuda();  // of the additions
      EXPECT_TRUE(same_order ? got.equal(want) : allclose(got, want, 1e-6));
      const Tensor rounded = wide.grad().to(dtype);
      EXPECT_TRUE(same_order ? logits.grad().equal(rounded) : allclose(logits.grad(), rounded, 1e-2, 1e-6));
      EXPECT_EQ(loss_of(logits).dtype(), dtype);
    }
}

TEST_P(AutocastGuard, GradientsOfCastsAreNotRoundedOnTheHost) {
  if (device().is_cuda()) GTEST_SKIP() << "its library gives them in the dtype of the operands";
  const Tensor x = numbers({30, 40}).requires_grad_(), grad = numbers({30, 24}).to(bfloat16);
  const auto wide = [](const Tensor& t) { return t.detach().to(bfloat16).to(float64); };
  const auto expect_close = [](const Tensor& got, const Tensor& want) {
    EXPECT_EQ(got.dtype(), float32);
    EXPECT_LT(amax(abs(got.to(float64) - want)).item(), 1e-4);
  };
  for (const bool transposed : {false, true})
    for (const bool biased : {false, true}) {
      const Tensor w = numbers(transposed ? Shape{40, 24} : Shape{24, 40}).requires_grad_(),
                   b = biased ? numbers({24}).requires_grad_() : Tensor();
      x.set_grad({});
      {
        const Autocast guard(bfloat16, kForced);
        linear(x, transposed ? w.t() : w, b).backward(grad);
      }
      const Tensor want = matmul(wide(grad).t(), wide(x));
      expect_close(w.grad(), transposed ? want.t() : want);
      expect_close(x.grad(), matmul(wide(grad), transposed ? wide(w).t() : wide(w)));
    }
}

TEST_P(AutocastGuard, ConvertsAParameterOnceUntilItIsWritten) {
  nn::Linear fc(4, 4);
  fc.to(device());
  const Tensor x = numbers({2, 4});
  const std::int64_t before = live_storages();
  const Autocast guard(bfloat16, kForced);
  Tensor y = fc(x);
  const std::int64_t first = live_storages() - before;
  Tensor z = fc(x);  // the casts are there
  EXPECT_LT(live_storages() - before - first, first);
  {
    const NoGradGuard no_grad;
    fc.weight.mul_(2);
    fc.bias.zero_();
  }
  EXPECT_TRUE(fc(x).equal(linear(x.to(bfloat16), fc.weight.detach().to(bfloat16))));
  // Two losses of one cast, each with a backward of its own.
  sum(y).backward();
  sum(z).backward();
  EXPECT_TRUE(fc.weight.grad().defined());
}

TEST_P(AutocastGuard, KeptCastsAreNotWrittenThroughViews) {
  const Tensor w = ones({2, 2}, {.device = device()}).requires_grad_(), x = ones({2, 2}, {.device = device()});
  const Autocast guard(bfloat16, kForced);
  const NoGradGuard no_grad;
  Tensor turned = einsum("ij->ji", {w});  // a view of the converted parameter
  ASSERT_EQ(turned.dtype(), bfloat16);
  turned.mul_(10);
  EXPECT_EQ(matmul(w, x).to_vector<double>(), std::vector<double>(4, 2.0));
}

TEST_P(AutocastGuard, ReplaysThatWriteAParameterAreSeen) {
  const Tensor w = ones({2, 2}, {.device = device()}).requires_grad_(), x = ones({2, 1}, {.device = device()});
  CapturedStep step(
      [&] {
        const NoGradGuard no_grad;
        w.mul_(2);
      },
      {.device = device(), .warm_up = 0});
  const Autocast guard(bfloat16, kForced);
  for (const double want : {4.0, 8.0, 16.0}) {
    step();
    EXPECT_EQ(matmul(w, x).to_vector<double>(), std::vector<double>(2, want));
  }
}

TEST_P(AutocastGuard, CastsUnderNoGradAreNotThoseOfTraining) {
  nn::Linear fc(4, 4);
  fc.to(device());
  const Tensor x = numbers({2, 4});
  const Autocast guard(bfloat16, kForced);
  {
    const NoGradGuard no_grad;
    (void)fc(x);
  }
  sum(fc(x)).backward();
  EXPECT_TRUE(fc.weight.grad().defined());
  clear_autocast_cache();
  EXPECT_EQ(fc(x).dtype(), bfloat16);
}

TEST_P(AutocastGuard, WithoutCacheEachUseConverts) {
  nn::Linear fc(4, 4);
  fc.to(device());
  const Autocast guard(bfloat16, {.cache_enabled = false, .force = true});
  const Tensor x = numbers({2, 4});
  sum(fc(fc(x))).backward();
  EXPECT_EQ(fc.weight.grad().dtype(), float32);
}

nn::Sequential block() { return nn::Sequential(nn::Linear(4, 8), nn::GELU(), nn::Linear(8, 4), nn::Softmax(-1)); }

TEST_P(AutocastGuard, CheckpointRecomputesUnderTheSameGuard) {
  auto net = block();
  net.to(device());
  const Tensor x = numbers({3, 4}).requires_grad_();
  const auto gradients = [&](bool recompute) {
    net.zero_grad();
    x.set_grad({});
    Tensor y;
    {
      const Autocast guard(bfloat16, kForced);
      (void)net(x);  // the casts are kept before checkpoint() is called
      y = recompute ? checkpoint([&](const Tensor& t) { return net(t); }, x) : net(x);
    }
    sum(square(y.to(float32))).backward();
    std::vector<Tensor> all{x.grad()};
    for (const Tensor& p : net.parameters()) all.push_back(p.grad());
    return all;
  };
  const auto plain = gradients(false), again = gradients(true);
  for (std::size_t i = 0; i < plain.size(); ++i) {
    ASSERT_TRUE(again[i].defined()) << i;
    EXPECT_TRUE(again[i].equal(plain[i])) << i;
  }
}

TEST_P(AutocastGuard, BackwardInsideIsBackwardOutside) {
  auto net = block();
  net.to(device());
  const Tensor x = numbers({3, 4});
  const auto gradient = [&](bool inside) {
    net.zero_grad();
    Tensor loss;
    {
      const Autocast guard(bfloat16, kForced);
      loss = nn::mse_loss(net(x), x);
      if (inside) loss.backward();
    }
    if (!inside) loss.backward();
    return net.parameters()[0].grad();
  };
  EXPECT_TRUE(gradient(true).equal(gradient(false)));
}

TEST_P(AutocastGuard, GradientFunctionsOfUsersSeeNoGuard) {
  const auto product = [](const In& x, const In& w) {
    Tensor y;
    {
      const NoGradGuard no_grad;
      y = matmul(x->to(bfloat16), w->to(bfloat16));
    }
    return record("product", y, {x, w}, [x = Saved(*x), w = Saved(*w)](const Tensor& g) {
      EXPECT_EQ(matmul(x(), w()).dtype(), float32);
      return Gradients{matmul(g.to(float32), w().mT()), matmul(x().mT(), g.to(float32))};
    });
  };
  const Tensor x = numbers({3, 4}).requires_grad_(), w = numbers({4, 2}).requires_grad_();
  const Autocast guard(bfloat16, kForced);
  sum(product(x, w)).backward();
  EXPECT_EQ(x.grad().dtype(), float32);
}

/// A step of SGD, captured or not, under a guard inside or outside of it.
std::vector<double> losses(Device device, bool captured, bool outside) {
  manual_seed(3);
  auto net = block();
  net.to(device);
  optim::SGD sgd(net.parameters(), {.lr = 0.5});
  const Tensor x = randn({3, 4}, {.device = device});
  const auto direct = [&](const Tensor& t) {
    Tensor loss;
    {
      const Autocast guard(bfloat16, {.enabled = !outside || is_autocast_enabled(), .force = true});
      loss = nn::mse_loss(net(t), t);
    }
    sgd.zero_grad();
    loss.backward();
    sgd.step();
    return loss;
  };
  CapturedStep step(direct, {.device = device});
  std::vector<double> all;
  const auto run = [&] {
    for (int i = 0; i < 4; ++i) all.push_back((captured ? step(x) : direct(x)).item());
  };
  if (!outside) return run(), run(), all;
  {
    const Autocast guard(bfloat16, kForced);
    run();
    run();
  }
  run();  // without a guard: another capture
  run();
  return all;
}

TEST_P(AutocastGuard, CapturedStepsConvertInEachReplay) {
  EXPECT_EQ(losses(device(), true, false), losses(device(), false, false));
  EXPECT_EQ(losses(device(), true, true), losses(device(), false, true));
}

TEST(Autocast, RefusesOtherDtypes) {
  expect_contains(error_of<DTypeError>([] { const Autocast guard(float32); }), "Autocast: float32");
  expect_contains(error_of<DTypeError>([] { const Autocast guard(int64); }), "give bfloat16");
}

TEST(Autocast, SaysOnceThatTheProcessorHasNoInstructions) {
  std::vector<std::string> warnings;
  const auto before = set_warning_handler([&](const std::string& text) { warnings.push_back(text); });
  const Tensor a = ones({2, 2});
  {
    const Autocast guard(float16);  // bfloat16 may be there
    const DType dtype = matmul(a, a).dtype();
    (void)matmul(a, a);
    EXPECT_EQ(warnings.size(), dtype == float32 ? 1U : 0U);
  }
  set_warning_handler(before);
  if (!warnings.empty()) expect_contains(warnings[0], "Autocast: this processor has no instructions for float16");
}

TEST_P(AutocastGuard, RecurrentLayersAndAttention) {
  const Tensor x = numbers({5, 2, 4});
  nn::LSTM lstm(4, 3, {.num_layers = 2, .bidirectional = true});
  nn::GRU gru(4, 3);
  nn::MultiheadAttention attention(4, 2);
  nn::Bilinear bilinear(4, 4, 2);
  for (nn::Module* m : std::vector<nn::Module*>{&lstm, &gru, &attention, &bilinear}) m->to(device());
  const Autocast guard(bfloat16, kForced);
  auto [y, h, c] = lstm(x);
  EXPECT_EQ(y.dtype(), bfloat16);
  EXPECT_EQ(c.dtype(), bfloat16);
  sum(y).backward();
  EXPECT_EQ(lstm.parameters()[0].grad().dtype(), float32);
  EXPECT_EQ(std::get<0>(gru(x)).dtype(), bfloat16);
  EXPECT_EQ(scaled_dot_product_attention(x, x, x).dtype(), bfloat16);
  EXPECT_EQ(bilinear(x, x).dtype(), float32);
}

TEST_P(AutocastGuard, NormsTakeHalvesBesideFloat32Weights) {
  const Tensor x = numbers({4, 6, 3, 3}), half = x.to(bfloat16);
  nn::BatchNorm2d batch(6);
  nn::GroupNorm group(2, 6);
  nn::LayerNorm layer({3, 3});
  nn::RMSNorm rms({3, 3});
  const Autocast guard(bfloat16, kForced);
  const DType wide = device().is_cuda() ? float32 : bfloat16;
  for (nn::Module* m : std::vector<nn::Module*>{&batch, &group, &layer, &rms}) {
    m->to(device());
    m->eval();
    Tensor y;
    if (m == &batch) y = batch(half);
    if (m == &group) y = group(half);
    if (m == &layer) y = layer(half);
    if (m == &rms) y = rms(half);
    EXPECT_EQ(y.dtype(), m == &batch ? bfloat16 : wide) << m->describe();
    sum(y.to(float32)).backward();
  }
}

}  // namespace
}  // namespace minnow
