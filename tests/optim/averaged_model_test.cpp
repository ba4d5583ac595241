// Averages of weights, and groups of parameters by name.

#include <cmath>
#include <gtest/gtest.h>
#include <minnow/minnow.h>
#include "support/devices.h"
#include "support/thrown.h"

namespace minnow::optim {
namespace {

using test::error_of;
using test::expect_contains;

class AveragedModelOn : public test::DeviceTest {};
INSTANTIATE_TEST_SUITE_P(Devices, AveragedModelOn, test::all_devices(), test::device_test_name);

void fill(const nn::Module& net, double value) {
  for (const Tensor& p : net.parameters()) p.detach().fill_(value);
}
double weight_of(const nn::Module& net) {
  const std::vector<double> all = net.parameters()[0].to_vector<double>();
  for (const double w : all) EXPECT_EQ(w, all[0]);
  return all[0];
}

TEST_P(AveragedModelOn, KeepsAveragesAndCopiesThemBack) {
  nn::Linear net(3, 2);
  net.to(device());
  AveragedModel swa(net), ema(net, {.decay = 0.5});
  for (const double w : {1.0, 3.0, 8.0}) {
    fill(net, w);
    swa.update_parameters(net);
    ema.update_parameters(net);
  }
  EXPECT_EQ(weight_of(swa.module()), 4);
  EXPECT_EQ(weight_of(ema.module()), 5);
  EXPECT_EQ(weight_of(net), 8);
  EXPECT_EQ(ema(ones({1, 3}, {.device = device()})).to_vector<float>(), (std::vector<float>{20, 20}));
  EXPECT_FALSE(ema.module().weight.grad().defined());
  ema.copy_to(net);
  EXPECT_EQ(weight_of(net), 5);
  // Averages of half precision, and on another device than the module.
  nn::Linear half(2, 2);
  half.to(device(), DType::float16);
  AveragedModel average(half);
  average.module().to(Device());
  for (const double w : {1.0, 2.0}) {
    fill(half, w);
    average.update_parameters(half);
  }
  EXPECT_EQ(weight_of(average.module()), 1.5);
  EXPECT_EQ(average.module().weight.device(), Device());
}

TEST(AveragedModel, ResumesFromItsState) {
  nn::Linear net(3, 2);
  AveragedModel from(net), to(net);
  for (const double w : {1.0, 3.0}) {
    fill(net, w);
    from.update_parameters(net);
  }
  to.load_state_dict(from.state_dict());
  EXPECT_EQ(to.n_averaged(), 2);
  fill(net, 8);
  to.update_parameters(net);
  EXPECT_EQ(weight_of(to.module()), 4);

  StateDict other = from.state_dict();
  other.erase("module.bias");
  expect_contains(error_of<ValueError>([&] { to.load_state_dict(other); }), "bias");
  expect_contains(error_of<ValueError>([&] { to.load_state_dict(net.state_dict()); }), "'n_averaged' must be there");
  EXPECT_EQ(to.n_averaged(), 3);
}

TEST(AveragedModel, RefusesWhatDoesNotFit) {
  nn::Linear net(3, 2), other(2, 2), bare(3, 2, {.bias = false});
  AveragedModel ema(net, {.decay = 0.9});
  expect_contains(error_of<ValueError>([&] { AveragedModel(net, {.decay = 1}); }), "decay must be in [0, 1), got 1");
  expect_contains(error_of<ValueError>([&] { AveragedModel(net, {.decay = NAN}); }), "averaged_model_test.cpp");
  expect_contains(error_of<ValueError>([&] { AveragedModel{nn::ReLU()}; }), "list of parameters is empty");
  expect_contains(error_of<ValueError>([&] { ema.update_parameters(other); }), "float32[2, 2] on cpu");
  expect_contains(error_of<ValueError>([&] { ema.update_parameters(bare); }), "1 parameters, the average 2");
  EXPECT_EQ(ema.n_averaged(), 0);
  const auto once = [&](const Tensor& x) {
    const Tensor y = net(x);
    ema.update_parameters(net);
    return y;
  };
  CapturedStep step(once, {.device = "sim:0", .warm_up = 0});
  net.to("sim:0");
  const Tensor x = ones({1, 3}, {.device = "sim:0"});
  expect_contains(error_of<BackendError>([&] { step(x); }), "call it after the captured step");
  EXPECT_EQ(ema.n_averaged(), 0);
}

TEST(ParamGroups, ComeFromNamesAndParameters) {
  nn::Sequential net(nn::Linear(3, 4), nn::LayerNorm({4}), nn::Linear(4, 2));
  AdamW adamw(net.named_parameters(), [](const std::string&, const Tensor& p) {
    return AdamWOptions{.lr = 0.5, .weight_decay = p.dim() < 2 ? 0 : 0.1};
  });
  EXPECT_EQ(adamw.num_param_groups(), 2);
  EXPECT_EQ(adamw.options(0).weight_decay, 0.1);
  EXPECT_EQ(adamw.options(1).weight_decay, 0);
  EXPECT_EQ(adamw.parameters(0).size(), 2);
  EXPECT_EQ(adamw.parameters(1).size(), 4);
  EXPECT_EQ(adamw.parameters(1)[0].id(), net.named_parameters()[1].tensor.id());
  SGD sgd(net.named_parameters(),
          [](const std::string& name, const Tensor&) { return SGDOptions{.lr = name.starts_with("2.") ? 1.0 : 0.1}; });
  EXPECT_EQ(sgd.parameters(1).size(), 2);
  EXPECT_EQ(sgd.lr(1), 1);
  const auto any = [](const std::string&, const Tensor&) { return SGDOptions{.lr = -1}; };
  expect_contains(error_of<ValueError>([&] { SGD(nn::ReLU().named_parameters(), any); }), "is empty");
  expect_contains(error_of<ValueError>([&] { SGD(net.named_parameters(), any); }), "averaged_model_test.cpp");
}

}  // namespace
}  // namespace minnow::optim
