#include <gtest/gtest.h>
#include <support/devices.h>
#include <minnow/minnow.h>
#include "errors.h"
#include "nn/state_names.h"

namespace minnow {
namespace {

using test::expect_errors;
using test::Misuse;
using test::state_names;

class LayerNormOn : public test::DeviceTest {};
INSTANTIATE_TEST_SUITE_P(Devices, LayerNormOn, test::all_devices(), test::device_test_name);

TEST_P(LayerNormOn, TrainsItsWeightAndBias) {
  nn::LayerNorm norm({2, 3});
  norm.to(device());
  const Tensor x = tensor({{{1.0f, 2, 3}, {4, 5, 6}}, {{0, 0, 0}, {0, 0, 6}}}).to(device());
  const Tensor y = norm(x);
  EXPECT_LT(y.detach().mean({1, 2}).abs().max().item(), 1e-6);
  y.sum().backward();
  EXPECT_EQ(norm.bias.grad().cpu().flatten().to_vector<float>(), std::vector<float>(6, 2));
  EXPECT_EQ(norm.weight.grad().shape(), (Shape{2, 3}));
  optim::SGD sgd(norm.parameters(), 0.5);
  sgd.step();
  EXPECT_EQ(norm.bias.detach().cpu().flatten().to_vector<float>(), std::vector<float>(6, -1));
}

TEST(LayerNorm, HasPyTorchsParameters) {
  const nn::LayerNorm norm(4), plain(4, {.elementwise_affine = false}), unbiased({2, 4}, {.eps = 0.1, .bias = false});
  EXPECT_EQ(state_names(norm), (std::vector<std::string>{"weight", "bias"}));
  EXPECT_EQ(norm.weight.to_vector<float>(), std::vector<float>(4, 1));
  EXPECT_EQ(norm.bias.to_vector<float>(), std::vector<float>(4, 0));
  EXPECT_EQ(state_names(plain), std::vector<std::string>());
  EXPECT_EQ(state_names(unbiased), std::vector<std::string>{"weight"});
  EXPECT_EQ(norm.describe(), "LayerNorm([4], eps 1e-05)");
  EXPECT_EQ(plain.describe(), "LayerNorm([4], eps 1e-05, no weight)");
  EXPECT_EQ(unbiased.describe(), "LayerNorm([2, 4], eps 0.1, no bias)");
  const Tensor x = rand({3, 2, 4});
  EXPECT_TRUE(unbiased(x).detach().equal(layer_norm(x, {2, 4}, {}, {}, 0.1)));
}

TEST(LayerNorm, AStateDictGoesAround) {
  nn::LayerNorm first(5), second(5);
  nn::init::uniform_(first.weight, 1, 2);
  nn::init::uniform_(first.bias);
  second.load_state_dict(first.state_dict());
  const Tensor x = rand({2, 5});
  EXPECT_TRUE(second(x).detach().equal(first(x).detach()));
  const nn::LayerNorm copy = nn::clone(first);
  EXPECT_TRUE(copy(x).detach().equal(first(x).detach()));
}

TEST(RMSNorm, HasAWeight) {
  const nn::RMSNorm norm(4), plain({2, 4}, {.eps = 0.1, .elementwise_affine = false});
  EXPECT_EQ(state_names(norm), std::vector<std::string>{"weight"});
  EXPECT_EQ(state_names(plain), std::vector<std::string>());
  EXPECT_EQ(norm.describe(), "RMSNorm([4])");
  EXPECT_EQ(plain.describe(), "RMSNorm([2, 4], eps 0.1, no weight)");
  const Tensor x = rand({3, 2, 4});
  EXPECT_TRUE(norm(x).detach().equal(rms_norm(x, 4)));
  EXPECT_TRUE(plain(x).equal(rms_norm(x, {2, 4}, {}, 0.1)));
}

TEST(LayerNorm, RefusesSizesThatAreNone) {
  nn::LayerNorm norm(3);
  expect_errors({
      Misuse{"ValueError", "LayerNorm", "normalized_shape  [0]", [] { nn::LayerNorm(0); }},
      Misuse{"ValueError", "RMSNorm", "normalized_shape  [0]", [] { nn::RMSNorm(0); }},
      Misuse{"ValueError", "RMSNorm", "eps must not be negative, got -1", [] { nn::RMSNorm(3, {.eps = -1}); }},
      Misuse{"ShapeError", "rms_norm", "float32[2, 4] on cpu",
             [] {
               static_cast<void>(rms_norm(ones({2, 4}), 3));
             }},
      Misuse{"ValueError", "LayerNorm", "normalized_shape  []",
             [] { nn::LayerNorm(Shape{}, {.elementwise_affine = false}); }},
      Misuse{"ValueError", "LayerNorm", "eps must not be negative, got -1", [] { nn::LayerNorm(3, {.eps = -1}); }},
      Misuse{"ShapeError", "layer_norm", "float32[2, 4] on cpu",
             [=]() mutable {
               norm(ones({2, 4}));
             }},
      Misuse{"DTypeError", "layer_norm", "parameter 'weight'",
             [=]() mutable {
               norm(ones({2, 3}).to(float64));
             }},
  });
}

}  // namespace
}  // namespace minnow
