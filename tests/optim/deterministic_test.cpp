// Training gives the same bits for any number of threads: losses, parameters, buffers and the optimizer's state.

#include <minnow/tensor/runtime/deterministic.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <functional>
#include <gtest/gtest.h>
#include <memory>
#include <minnow/minnow.h>
#include <minnow/tensor/cpu/runtime/team.h>
#include "support/deterministic.h"

namespace minnow {
namespace {

using Tensors = std::vector<Tensor>;

/// A network, and the loss of a step.
struct Training {
  std::shared_ptr<nn::Module> net;
  std::function<Tensor(std::uint64_t step)> loss;
};

Tensor labels(std::int64_t n) { return randint(0, 10, {n}); }

Training mlp() {
  auto net = std::make_shared<nn::Sequential>(nn::Linear(784, 128), nn::ReLU(), nn::Linear(128, 10));
  return {net, [net](std::uint64_t) { return nn::cross_entropy((*net)(randn({64, 784})), labels(64)); }};
}

Training cnn() {
  auto net = std::make_shared<nn::Sequential>(
      nn::Conv2d(1, 32, 3), nn::BatchNorm2d(32), nn::ReLU(), nn::Conv2d(32, 64, 3), nn::ReLU(), nn::MaxPool2d(2),
      nn::Dropout(0.25), nn::Flatten(), nn::Linear(9216, 128), nn::ReLU(), nn::Dropout(0.5), nn::Linear(128, 10));
  return {net, [net](std::uint64_t) { return nn::cross_entropy((*net)(randn({16, 1, 28, 28})), labels(16)); }};
}

struct Recurrent : nn::Module {
  nn::Embedding words = child("words", nn::Embedding(50, 48));
  nn::LSTM lstm = child("lstm", nn::LSTM(48, 96, {.num_layers = 2, .dropout = 0.1}));
  nn::GRU gru = child("gru", nn::GRU(96, 64));
  nn::Linear out = child("out", nn::Linear(64, 10));
  Tensor forward(const Tensor& x) override { return out(std::get<0>(gru(std::get<0>(lstm(words(x)))))(-1)); }
};

Training recurrent() {
  auto net = std::make_shared<Recurrent>();
  return {net, [net](std::uint64_t) { return nn::cross_entropy((*net)(randint(0, 50, {20, 32})), labels(32)); }};
}

struct Gpt : nn::Module {
  nn::Embedding words = child("words", nn::Embedding(100, 64)), places = child("places", nn::Embedding(48, 64));
  nn::TransformerEncoderLayer block =
      child("block", nn::TransformerEncoderLayer(64, 4, {.dim_feedforward = 256, .is_causal = true}));
  nn::LayerNorm norm = child("norm", nn::LayerNorm(64));
  Tensor forward(const Tensor& x) override {
    const Tensor h = norm(block(words(x) + places(arange(48))));
    return linear(h, words.weight);  // tied: its gradient is a sum
  }
};

Training gpt() {
  auto net = std::make_shared<Gpt>();
  return {net, [net](std::uint64_t) {
            const Tensor text = randint(0, 100, {12, 48});
            return nn::cross_entropy((*net)(text).reshape({-1, 100}), text.reshape({-1}));
          }};
}

/// All numbers of a training of some steps.
Tensors train(Training (*make)(), int threads, std::uint64_t steps = 3) {
  set_num_threads(threads);
  manual_seed(5);
  const Training training = make();
  optim::AdamW adam(training.net->parameters(), {.lr = 1e-3});
  Tensors numbers;
  for (std::uint64_t step = 0; step < steps; ++step) {
    adam.zero_grad();
    const Tensor loss = training.loss(step);
    loss.backward();
    numbers.push_back(optim::clip_grad_norm_(training.net->parameters(), 1.0));
    adam.step();
    numbers.push_back(loss.detach());
  }
  for (const auto& [name, tensor] : training.net->state_dict()) numbers.push_back(tensor.detach().clone());
  for (const auto& [name, tensor] : adam.state_dict()) numbers.push_back(tensor.detach().clone());
  return numbers;
}

bool same_bits(const Tensor& a, const Tensor& b) {
  return a.shape() == b.shape() && std::memcmp(a.raw_data(), b.raw_data(), static_cast<std::size_t>(a.nbytes())) == 0;
}

using Case = std::pair<const char*, Training (*)()>;

class DeterministicTraining : public ::testing::TestWithParam<Case> {
 protected:
  ~DeterministicTraining() override { set_num_threads(before_); }

  const test::Deterministic scope_;
  int before_ = num_threads();
};
class DeterministicPrice : public DeterministicTraining {};  // measures time
const auto all_cases =
    ::testing::Values(Case("mlp", mlp), Case("cnn", cnn), Case("recurrent", recurrent), Case("gpt", gpt));
INSTANTIATE_TEST_SUITE_P(Networks, DeterministicTraining, all_cases, [](const auto& p) { return p.param.first; });
INSTANTIATE_TEST_SUITE_P(Networks, DeterministicPrice, all_cases, [](const auto& p) { return p.param.first; });

TEST_P(DeterministicTraining, HasTheSameBitsForAnyNumberOfThreads) {
  const auto make = GetParam().second;
  const Tensors one = train(make, 1);
  for (const int threads : {2, 3, 4, 8, 17}) {
    const Tensors many = train(make, threads);
    ASSERT_EQ(many.size(), one.size());
    for (std::size_t i = 0; i < one.size(); ++i)
      EXPECT_TRUE(same_bits(many[i], one[i])) << "tensor " << i << ", " << threads << " threads";
  }
  const cpu::ThreadLimit fewer(2);  // as if the system gave 2 of 17
  const Tensors limited = train(make, 17);
  for (std::size_t i = 0; i < one.size(); ++i) EXPECT_TRUE(same_bits(limited[i], one[i])) << "tensor " << i;
}

/// The time of a training with and without the mode, in turn; of the ratios the least, since machines are busy.
TEST_P(DeterministicPrice, OfTheMode) {
  const auto make = GetParam().second;
  const auto seconds = [&](bool on) {
    set_deterministic(on);
    const auto start = std::chrono::steady_clock::now();
    train(make, before_, 4);
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  };
  seconds(true);
  std::vector<double> ratios;
  for (int i = 0; i < 5 || (i < 20 && ratios.front() >= 1.1); ++i) {
    ratios.push_back(seconds(true) / seconds(false));
    std::sort(ratios.begin(), ratios.end());
  }
  std::printf("deterministic mode, %s: %.2f of the time without it (%.2f to %.2f)\n", GetParam().first,
              ratios[ratios.size() / 2], ratios.front(), ratios.back());
  EXPECT_LT(ratios.front(), 1.1);
}

TEST(Deterministic, IsTheOptionOfCuda) {
  const bool before = is_deterministic();
  cuda::MathOptions options = cuda::math_options();
  options.matmul_tf32 = true;
  cuda::set_math_options(options);
  for (const bool on : {true, false}) {
    set_deterministic(on);
    EXPECT_EQ(is_deterministic(), on);
    EXPECT_EQ(cuda::math_options().deterministic, on);
    EXPECT_TRUE(cuda::math_options().matmul_tf32);
  }
  options.matmul_tf32 = false;
  options.deterministic = before;
  cuda::set_math_options(options);
}

}  // namespace
}  // namespace minnow
