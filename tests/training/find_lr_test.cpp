#include <minnow/training/find_lr.h>

#include <cmath>
#include <gtest/gtest.h>
#include <stdexcept>
#include <utility>
#include <vector>
#include <minnow/data/loader.h>
#include <minnow/nn/layers/basic.h>
#include <minnow/nn/layers/batch_norm.h>
#include <minnow/nn/layers/linear.h>
#include <minnow/nn/losses/loss.h>
#include <minnow/ops/elementwise/arithmetic.h>
#include <minnow/ops/random/sample.h>
#include <minnow/optim/optimizers.h>
#include <minnow/tensor/create.h>
#include <minnow/tensor/error.h>
#include <minnow/tensor/random.h>

namespace minnow::test {
namespace {

using training::FindLROptions, training::LRCurve;

struct Points {
  std::int64_t size() const { return 40; }
  std::pair<Tensor, Tensor> get(std::int64_t i) const {
    const Tensor x = (arange(0, 3) * (i + 1)).remainder(7).to(DType::float32);
    return {x, x.sum(0, true) * 0.5};
  }
};

struct NormedNet : nn::Module {
  nn::Linear first = child("first", nn::Linear(3, 8));
  nn::BatchNorm1d norm = child("norm", nn::BatchNorm1d(8));
  nn::Dropout dropout = child("dropout", nn::Dropout(0.2));
  nn::Linear last = child("last", nn::Linear(8, 1));
  Tensor forward(const Tensor& x) override { return last(dropout(norm(first(x)))); }
};

struct Training {
  std::uint64_t seed = (manual_seed(4), 4);  // before the weights are drawn
  NormedNet net;
  optim::Adam adam{net.parameters(), {.lr = 0.003}};
  data::DataLoader<Points> loader{Points(), {.batch_size = 8, .shuffle = true, .seed = 2}};

  Tensor step(const Tensor& x, const Tensor& y) {
    const Tensor loss = nn::mse_loss(net(x), y);
    adam.zero_grad();
    loss.backward();
    return loss;
  }
  LRCurve find(const FindLROptions& options = {.steps = 40}) {
    return training::find_lr(
        net, adam, loader, [&](auto& batch) { return step(std::get<0>(batch), std::get<1>(batch)); }, options);
  }
  /// All that a step depends on.
  std::vector<double> bits(int steps) {
    std::vector<double> numbers;
    for (auto& [x, y] : loader) {
      if (steps-- == 0) break;
      numbers.push_back(step(x, y).item<double>());
      adam.step();
    }
    for (const auto& [name, value] : net.state_dict())
      for (const double v : value.to_vector<double>()) numbers.push_back(v);
    for (const auto& [name, value] : adam.state_dict())
      for (const double v : value.to_vector<double>()) numbers.push_back(v);
    numbers.push_back(rand({1}).item<double>());
    return numbers;
  }
};

/// A fresh training, and one whose search was after some steps.
TEST(FindLR, PutsEverythingBack) {
  for (const int before : {0, 5}) {  // an epoch
    Training with, without;
    manual_seed(9);
    if (before) (void)without.bits(before);
    const std::vector<double> want = without.bits(4);
    manual_seed(9);
    if (before) (void)with.bits(before);
    const Tensor gradient = with.net.last.weight.grad().defined() ? with.net.last.weight.grad().clone() : Tensor();
    EXPECT_FALSE(with.find().rates.empty());
    EXPECT_EQ(with.net.last.weight.grad().defined(), gradient.defined());
    EXPECT_TRUE(!gradient.defined() || equal(with.net.last.weight.grad(), gradient));
    EXPECT_EQ(with.adam.lr(), 0.003);
    EXPECT_EQ(with.bits(4), want) << before;
  }
}

TEST(FindLR, PutsEverythingBackAfterAnException) {
  Training with, without;
  manual_seed(9);
  const std::vector<double> want = without.bits(4);
  manual_seed(9);
  int steps = 0;
  const auto failing = [&](auto& batch) {
    if (++steps == 5) throw std::runtime_error("stop");
    return with.step(std::get<0>(batch), std::get<1>(batch));
  };
  EXPECT_THROW((void)training::find_lr(with.net, with.adam, with.loader, failing), std::runtime_error);
  EXPECT_EQ(with.bits(4), want);
}

TEST(FindLR, SuggestsARateThatLearns) {
  Training run;
  const LRCurve curve = run.find({.start = 1e-5, .end = 100, .steps = 60});
  ASSERT_EQ(curve.rates.size(), curve.losses.size());
  EXPECT_EQ(curve.rates.front(), 1e-5);
  for (std::size_t i = 1; i < curve.rates.size(); ++i) EXPECT_GT(curve.rates[i], curve.rates[i - 1]);
  EXPECT_GT(curve.suggestion, 1e-4);
  EXPECT_LT(curve.suggestion, 1);
}

TEST(FindLR, RefusesWhatCannotBe) {
  Training run;
  EXPECT_THROW((void)run.find({.start = 0}), ValueError);
  EXPECT_THROW((void)run.find({.start = 1, .end = 0.1}), ValueError);
  EXPECT_THROW((void)run.find({.steps = 9}), ValueError);
  EXPECT_THROW((void)run.find({.smoothing = 1}), ValueError);
  EXPECT_THROW((void)run.find({.diverges = 1}), ValueError);
  std::vector<std::pair<Tensor, Tensor>> none;
  const auto step = [&](auto& batch) { return run.step(batch.first, batch.second); };
  EXPECT_THROW((void)training::find_lr(run.net, run.adam, none, step), ValueError);
  std::vector<std::pair<Tensor, Tensor>> one{{randn({4, 3}), randn({4, 1})}};
  EXPECT_THROW((void)training::find_lr(run.net, run.adam, one, [](auto&) { return zeros({2}); }), ShapeError);
}

}  // namespace
}  // namespace minnow::test
