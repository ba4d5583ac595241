#include <minnow/nn/module/parametrizations.h>

#include <gtest/gtest.h>
#include <minnow/minnow.h>

#include "devices.h"
#include "errors.h"
#include "golden.h"
#include "thrown.h"

namespace minnow::test {
namespace {

class GoldenParametrizations : public DeviceTest {
 protected:
  template <class M> static void expect_as_in_pytorch(const std::string& name, M module) {
    const Book book("parametrizations", device());
    module.to(device());
    StateDict weights;
    for (const auto& [key, tensor] : module.state_dict()) weights.set(key, book[name + "/net." + key]);
    module.load_state_dict(weights);
    const Tensor x = book[name + "/in0"], first = module(x), second = module(x * 2);
    const Tolerance tolerance{1e-5, 1e-5};
    expect_close(first, book[name + "/out0"], name, tolerance);
    expect_close(second, book[name + "/out1"], name, tolerance);
    (sum(square(first)) + sum(square(second))).backward();
    for (const auto& [key, p] : module.named_parameters())
      expect_close(p.grad(), book[name + "/grad." + key], name + " " + key, {1e-4, 1e-4});
    for (const auto& [key, tensor] : module.state_dict())
      expect_close(tensor, book[name + "/after." + key], name + " " + key, tolerance);
    module.eval();
    expect_close(module(x), book[name + "/out2"], name, tolerance);
    const M copy = nn::clone(module);
    EXPECT_TRUE(copy(x).detach().equal(module(x).detach()));
    EXPECT_EQ(copy.parameters().size(), module.parameters().size());
    for (std::size_t i = 0; i < copy.parameters().size(); ++i)
      EXPECT_FALSE(copy.parameters()[i].is_same(module.parameters()[i]));
  }
  template <class M> static M weight_normed(M module, int dim = 0) {
    nn::weight_norm(module, "weight", dim);
    return module;
  }
  template <class M>
  static M spectral_normed(M module, const nn::SpectralNormOptions& options = {}, const char* name = "weight") {
    nn::spectral_norm(module, name, options);
    return module;
  }
};
INSTANTIATE_TEST_SUITE_P(Devices, GoldenParametrizations, all_devices(), device_test_name);

TEST_P(GoldenParametrizations, WeightNorm) {
  expect_as_in_pytorch("weight norm", weight_normed(nn::Linear(4, 3)));
  expect_as_in_pytorch("weight norm of columns", weight_normed(nn::Linear(4, 3), 1));
  expect_as_in_pytorch("weight norm of all", weight_normed(nn::Linear(4, 3), -1));
  expect_as_in_pytorch("weight norm of a convolution", weight_normed(nn::Conv2d(2, 3, 3)));
}

TEST_P(GoldenParametrizations, SpectralNorm) {
  expect_as_in_pytorch("spectral norm", spectral_normed(nn::Linear(4, 3)));
  expect_as_in_pytorch("spectral norm, 3 iterations",
                       spectral_normed(nn::Conv2d(2, 3, 3), {.n_power_iterations = 3, .dim = 1}));
  expect_as_in_pytorch("spectral norm of a bias", spectral_normed(nn::Linear(4, 3), {}, "bias"));
  expect_as_in_pytorch("spectral norm of columns of a kernel", spectral_normed(nn::Conv2d(2, 3, {2, 4}), {.dim = 3}));
}

TEST_P(GoldenParametrizations, TrainsAndIsRemoved) {
  struct NormedNet : nn::Module {
    nn::Linear fc = child("fc", nn::Linear(3, 2));
    nn::LSTM lstm = child("lstm", nn::LSTM(2, 2));
    NormedNet() {
      nn::weight_norm(fc);
      nn::weight_norm(lstm, "weight_hh_l0");
    }
    Tensor forward(const Tensor& x) override { return std::get<0>(lstm(fc(x))); }
  } net;
  net.to(device());
  const Tensor before = net.fc.weight.detach().clone(), x = randn({4, 2, 3}, {.device = device()});
  EXPECT_EQ(before.device(), device());
  EXPECT_EQ(net.named_parameters()[0].name, "fc.bias");
  EXPECT_TRUE(net.state_dict().contains("lstm.parametrizations.weight_hh_l0.original1"));
  optim::SGD sgd(net.parameters(), {.lr = 0.5});
  sum(square(net(x))).backward();
  sgd.step();
  const Tensor y = net(x).detach();
  EXPECT_FALSE(net.fc.weight.detach().allclose(before));
  const Tensor direction = net.fc.weight.detach();
  {
    const NoGradGuard guard;
    EXPECT_TRUE(net(x).equal(y));
    EXPECT_FALSE(net.fc.weight.requires_grad());
    net.state_dict().at("fc.parametrizations.weight.original0").mul_(2);
    EXPECT_FALSE(net(x).equal(y));  // what it was computed from has changed
    EXPECT_TRUE(net.fc.weight.allclose(direction * 2));
    net.state_dict().at("fc.parametrizations.weight.original0").mul_(0.5);
  }
  nn::remove_parametrizations(net.fc);
  nn::remove_parametrizations(net.lstm, "weight_hh_l0");
  EXPECT_TRUE(net(x).detach().allclose(y));
  EXPECT_EQ(net.state_dict().size(), 6U);
  EXPECT_TRUE(net.fc.weight.is_leaf() && net.fc.weight.requires_grad());
  net.zero_grad();
  sum(net(x)).backward();
  EXPECT_TRUE(net.fc.weight.grad().defined());
}

TEST_P(GoldenParametrizations, UnderCheckpointAndInHalves) {
  nn::Linear net(4, 4);
  nn::spectral_norm(net);
  net.to(device());
  const nn::Linear same = nn::clone(net);
  const Tensor x = randn({2, 4}, {.device = device()});
  sum(square(net(x))).backward();
  sum(square(checkpoint([&](const Tensor& t) { return same(t); }, x))).backward();
  for (std::size_t i = 0; i < net.parameters().size(); ++i)
    EXPECT_TRUE(net.parameters()[i].grad().allclose(same.parameters()[i].grad())) << i;
  for (const auto& [name, value] : net.state_dict()) EXPECT_TRUE(value.allclose(same.state_dict().at(name))) << name;
  net.to(float64);
  EXPECT_EQ(net(x.to(float64)).dtype(), float64);
}

TEST(Parametrizations, ReturnTheModule) {
  const nn::Linear given(4, 3);
  const auto& same = nn::weight_norm(given);
  EXPECT_EQ(&same, &given);
  const nn::Sequential net(nn::spectral_norm(nn::Linear(4, 4)), relu, nn::weight_norm(nn::Linear(4, 2), "bias"));
  const StateDict state = net.state_dict();
  EXPECT_TRUE(state.contains("0.parametrizations.weight.original"));
  EXPECT_TRUE(state.contains("2.parametrizations.bias.original0"));
  sum(net(ones({3, 4}))).backward();
  for (const Tensor& p : net.parameters()) EXPECT_TRUE(p.grad().defined());
}

TEST(ParametrizationErrors, BadInputs) {
  const nn::Linear fc(2, 3);
  const nn::Linear normed(2, 3);
  nn::weight_norm(normed);
  expect_errors({
      Misuse{"ValueError", "weight_norm", "there is no parameter 'w'", [=] { nn::weight_norm(fc, "w"); }},
      Misuse{"ValueError", "spectral_norm", "there is no parameter 'weight'", [=] { nn::spectral_norm(normed); }},
      Misuse{"IndexError", "weight_norm", "there is no dimension 2", [=] { nn::weight_norm(fc, "weight", 2); }},
      Misuse{"ValueError", "spectral_norm", "got 0",
             [=] { nn::spectral_norm(fc, "weight", {.n_power_iterations = 0}); }},
      Misuse{"ValueError", "remove_parametrizations", "'weight' is not computed",
             [=] { nn::remove_parametrizations(fc); }},
  });
}

}  // namespace
}  // namespace minnow::test
