#include <cmath>
#include <minnow/nn/layers/conv.h>
#include <minnow/nn/layers/linear.h>
#include <minnow/nn/module/init.h>
#include <minnow/ops/reductions/reduce.h>
#include <minnow/tensor/create.h>

#include "golden.h"

namespace minnow::test {
namespace {

/// Compares mean, std, minimum and maximum with PyTorch's, within statistical bounds.
void expect_alike(const Book& book, const std::string& name, const Tensor& drawn) {
  ASSERT_TRUE(book.contains(name)) << name;
  const std::vector<double> want = book[name].to_vector<double>();
  const Tensor x = drawn.detach().to(DType::float64);
  const auto n = static_cast<double>(x.numel());
  EXPECT_NEAR(mean(x).item(), want[0], 6 * want[1] / std::sqrt(n)) << name << ": mean";
  EXPECT_NEAR(stddev(x).item(), want[1], 0.025 * want[1]) << name << ": std";
  if (name.find("normal") != name.npos && !name.starts_with("trunc")) return;  // tails are not bounded
  EXPECT_NEAR(amin(x).item(), want[2], 0.01 * (want[3] - want[2])) << name << ": lowest";
  EXPECT_NEAR(amax(x).item(), want[3], 0.01 * (want[3] - want[2])) << name << ": highest";
}

TEST(GoldenInit, DistributionsAreThoseOfPyTorch) {
  using namespace nn::init;
  const Book book("init", Device());
  const std::map<std::string, std::function<void(const Tensor&)>> all{
      {"uniform", [](const Tensor& w) { uniform_(w, -2, 3); }},
      {"normal", [](const Tensor& w) { normal_(w, 1, 2); }},
      {"xavier_uniform", [](const Tensor& w) { xavier_uniform_(w); }},
      {"xavier_normal", [](const Tensor& w) { xavier_normal_(w, 2); }},
      {"kaiming_uniform", [](const Tensor& w) { kaiming_uniform_(w); }},
      {"kaiming_uniform/a", [](const Tensor& w) { kaiming_uniform_(w, {.a = std::sqrt(5.0)}); }},
      {"kaiming_normal", [](const Tensor& w) { kaiming_normal_(w); }},
      {"kaiming_normal/fan_out,relu",
       [](const Tensor& w) { kaiming_normal_(w, {.mode = FanMode::fan_out, .nonlinearity = "relu"}); }},
      {"trunc_normal", [](const Tensor& w) { trunc_normal_(w, {.mean = 0.5, .std = 1, .a = -1, .b = 1}); }}};
  for (const auto& [name, initialize] : all) {
    const Tensor matrix = empty({400, 300}), filters = empty({64, 32, 5, 3});
    initialize(matrix);
    initialize(filters);
    expect_alike(book, name + "/matrix", matrix);
    expect_alike(book, name + "/filters", filters);
  }
}

TEST(GoldenInit, LayersAreInitializedAsInPyTorch) {
  const Book book("init", Device());
  expect_alike(book, "Linear/weight", nn::Linear(300, 400).weight);
  expect_alike(book, "Linear/bias", nn::Linear(3, 40000).bias);
  expect_alike(book, "Conv2d/weight", nn::Conv2d(32, 64, {5, 3}).weight);
  expect_alike(book, "Conv2d/bias", nn::Conv2d(2, 40000, 3).bias);
  expect_alike(book, "Conv2d/groups", nn::Conv2d(64, 128, 5, {.groups = 2}).weight);
}

TEST(GoldenInit, GainsAreThoseOfPyTorch) {
  const Book book("init", Device());
  for (const char* name : {"linear", "conv2d", "sigmoid", "tanh", "relu", "selu", "leaky_relu"})
    EXPECT_NEAR(nn::init::calculate_gain(name), book[std::string("gain/") + name].item(), 1e-12) << name;
  EXPECT_NEAR(nn::init::calculate_gain("leaky_relu", 0.2), book["gain/leaky_relu,0.2"].item(), 1e-12);
}

}  // namespace
}  // namespace minnow::test
