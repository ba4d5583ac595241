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

class BatchNormOn : public test::DeviceTest {};
INSTANTIATE_TEST_SUITE_P(Devices, BatchNormOn, test::all_devices(), test::device_test_name);

TEST_P(BatchNormOn, TracksTheStatisticsOfBatches) {
  nn::BatchNorm1d norm(2);
  norm.to(device());
  const Tensor x = tensor({{1.0f, 10}, {3, 30}, {5, 20}}).to(device());
  const Tensor y = norm(x);
  EXPECT_LT(y.detach().mean(0).abs().max().item(), 1e-6);
  EXPECT_EQ(norm.running_mean.cpu().to_vector<float>(), (std::vector<float>{0.3f, 2}));
  EXPECT_EQ(norm.running_var.cpu().to_vector<float>(), (std::vector<float>{0.9f + 0.4f, 0.9f + 10}));
  EXPECT_EQ(norm.num_batches_tracked.item(), 1);
  norm.eval();
  const Tensor evaluated = norm(x).detach().cpu();
  EXPECT_NEAR(evaluated[0][0].item(), (1 - 0.3) / std::sqrt(1.3 + 1e-5), 1e-6);
  EXPECT_EQ(norm.num_batches_tracked.item(), 1);
}

TEST_P(BatchNormOn, WithoutMomentumItTakesTheMeanOfAllBatches) {
  nn::BatchNorm2d norm(1, {.momentum = std::nullopt});
  norm.to(device());
  for (const float value : {1.0f, 2.0f, 6.0f}) norm(full({2, 1, 2, 2}, value).to(device()));
  EXPECT_NEAR(norm.running_mean.cpu()[0].item(), 3, 1e-6);
  EXPECT_NEAR(norm.running_var.cpu()[0].item(), 0, 1e-6);
}

TEST_P(BatchNormOn, TrainsAResidualBlock) {
  manual_seed(1);
  struct Block : nn::Module {
    nn::Conv2d conv = child("conv", nn::Conv2d(3, 3, 3, {.padding = 1}));
    nn::BatchNorm2d norm = child("norm", nn::BatchNorm2d(3));
    Tensor forward(const Tensor& x) override { return relu(x + norm(conv(x))); }
  } block;
  block.to(device());
  optim::SGD sgd(block.parameters(), 0.1);
  const Tensor x = randn({8, 3, 5, 5}).to(device()), wanted = randn({8, 3, 5, 5}).to(device());
  double first = 0, last = 0;
  for (int step = 0; step < 30; ++step) {
    sgd.zero_grad();
    const Tensor loss = mean(square(block(x) - wanted));
    loss.backward();
    sgd.step();
    last = loss.item();
    if (step == 0) first = last;
  }
  EXPECT_LT(last, 0.95 * first);
}

TEST_P(BatchNormOn, KeepsChannelsLast) {
  for (const bool training : {true, false}) {
    const auto run = [&](MemoryFormat format, MemoryFormat format_of_grad) {
      RandomGenerator generator(1);
      const Tensor x = randn({3, 5, 4, 2}, {.generator = &generator}).contiguous(format).to(device()).requires_grad_();
      const Tensor g = randn({3, 5, 4, 2}, {.generator = &generator}).contiguous(format_of_grad).to(device());
      nn::BatchNorm2d norm(5);
      norm.to(device());
      norm.train(training);
      const Tensor y = norm(x);
      EXPECT_TRUE(y.is_contiguous(format));
      y.backward(g);
      EXPECT_TRUE(x.grad().is_contiguous(format));
      return std::vector<Tensor>{y.detach(), x.grad(), norm.weight.grad(), norm.bias.grad(), norm.running_var};
    };
    const auto last = MemoryFormat::channels_last, first = MemoryFormat::contiguous;
    const std::vector<Tensor> want = run(first, first);
    for (const MemoryFormat format_of_grad : {last, first}) {
      const std::vector<Tensor> got = run(last, format_of_grad);
      for (std::size_t i = 0; i < want.size(); ++i)
        EXPECT_TRUE(allclose(got[i], want[i], 1e-5, 1e-6)) << "result " << i << ", training " << training;
    }
  }
}

TEST(BatchNorm, HasPyTorchsParametersAndBuffers) {
  const nn::BatchNorm2d norm(4), plain(4, {.affine = false}), untracked(4, {.track_running_stats = false});
  EXPECT_EQ(state_names(norm),
            (std::vector<std::string>{"weight", "bias", "running_mean", "running_var", "num_batches_tracked"}));
  EXPECT_EQ(state_names(plain), (std::vector<std::string>{"running_mean", "running_var", "num_batches_tracked"}));
  EXPECT_EQ(state_names(untracked), (std::vector<std::string>{"weight", "bias"}));
  EXPECT_EQ(norm.describe(), "BatchNorm2d(4, eps 1e-05, momentum 0.1)");
  EXPECT_EQ(state_names(nn::GroupNorm(2, 4)), (std::vector<std::string>{"weight", "bias"}));
  EXPECT_EQ(state_names(nn::InstanceNorm(4)), std::vector<std::string>());
  const Tensor x = randn({2, 4, 3, 3});
  const nn::BatchNorm2d copy = nn::clone(untracked);
  EXPECT_TRUE(copy(x).detach().equal(untracked(x).detach()));
}

// More groups in all than the loops take together, and no multiple of it.
TEST_P(BatchNormOn, GroupsOfManySamplesAreThoseOfEachSample) {
  nn::GroupNorm norm(3, 6);
  norm.to(device());
  norm.weight.detach().copy_(tensor({1.0, 2, -1, 0.5, 3, -2}));
  norm.bias.detach().copy_(tensor({0.0, 1, 2, 3, 4, 5}));
  const Tensor x = randn({70, 6, 2, 3}, {.device = device()}).requires_grad_(), g = randn_like(x.detach());
  const Tensor y = norm(x);
  y.backward(g);
  const Tensor of_weight = norm.weight.grad().clone(), of_bias = norm.bias.grad().clone(), of_x = x.grad().clone();
  x.set_grad({});
  norm.weight.set_grad({});
  norm.bias.set_grad({});
  for (std::int64_t i = 0; i < x.size(0); ++i) {
    const Tensor sample = norm(x.narrow(0, i, 1));
    EXPECT_TRUE(allclose(sample.detach(), y.detach().narrow(0, i, 1), 1e-5, 1e-5)) << "sample " << i;
    sample.backward(g.narrow(0, i, 1));
  }
  EXPECT_TRUE(allclose(x.grad(), of_x, 1e-4, 1e-5));
  EXPECT_TRUE(allclose(norm.weight.grad(), of_weight, 1e-4, 1e-4));
  EXPECT_TRUE(allclose(norm.bias.grad(), of_bias, 1e-4, 1e-4));
}

TEST(BatchNorm, AStateDictGoesAround) {
  nn::BatchNorm1d first(3), second(3);
  first(randn({5, 3}));
  second.load_state_dict(first.state_dict());
  first.eval();
  second.eval();
  const Tensor x = randn({2, 3});
  EXPECT_TRUE(second(x).detach().equal(first(x).detach()));
  EXPECT_EQ(second.num_batches_tracked.item(), 1);
}

TEST(BatchNorm, RunningStatisticsOfFloat32ServeHalves) {
  nn::BatchNorm1d norm(2);
  const Tensor x = tensor({{1.0f, 10}, {3, 30}}).to(bfloat16);
  EXPECT_EQ(norm(x).dtype(), bfloat16);
  EXPECT_EQ(norm.running_mean.to_vector<float>(), (std::vector<float>{0.2f, 2}));
}

TEST(BatchNorm, RunningStatisticsMayRequireAGradientWhereNoneIsRecorded) {
  const Tensor mean = zeros({4}).requires_grad_(), variance = ones({4}).requires_grad_();
  const NoGradGuard no_grad;
  EXPECT_EQ(batch_norm(ones({2, 4}), mean, variance, {}, {}, {.training = false, .eps = 0}).min().item(), 1);
  static_cast<void>(batch_norm(ones({2, 4}), mean, variance, {}, {}, {.training = true, .momentum = 0.5}));
  EXPECT_EQ(mean.to_vector<float>(), std::vector<float>(4, 0.5f));
}

TEST(BatchNorm, RefusesWhatCannotWork) {
  nn::BatchNorm1d norm(3);
  nn::BatchNorm2d images(3);
  nn::BatchNorm1d untracked(3, {.track_running_stats = false});
  expect_errors({
      Misuse{"ValueError", "BatchNorm1d", "must be positive, got 0", [] { nn::BatchNorm1d(0); }},
      Misuse{"ValueError", "BatchNorm2d", "eps must not be negative, got -1", [] { nn::BatchNorm2d(3, {.eps = -1}); }},
      Misuse{"ValueError", "BatchNorm3d", "momentum must be in [0, 1], got 2",
             [] { nn::BatchNorm3d(3, {.momentum = 2}); }},
      Misuse{"ValueError", "GroupNorm", "4 channels are not divisible into 3 groups", [] { nn::GroupNorm(3, 4); }},
      Misuse{"ValueError", "InstanceNorm", "must be positive, got -1", [] { nn::InstanceNorm(-1); }},
      Misuse{"ShapeError", "BatchNorm2d", "must have 4 dimensions",
             [=]() mutable {
               images(ones({2, 3}));
             }},
      Misuse{"ShapeError", "GroupNorm", "must have 4 channels",
             [] {
               nn::GroupNorm groups(2, 4);
               groups(ones({2, 3, 2}));
             }},
      Misuse{"ShapeError", "batch_norm", "a number for each channel of x, [4]",
             [=]() mutable {
               norm(ones({2, 4}));
             }},
      Misuse{"ValueError", "batch_norm", "more than one element per channel",
             [=]() mutable {
               norm(ones({1, 3}));
             }},
      Misuse{"DTypeError", "batch_norm", "one floating-point dtype",
             [=]() mutable {
               norm(ones({2, 3}).to(float64));
             }},
      Misuse{"AutogradError", "batch_norm", "running statistics have no gradient",
             [] {
               const Tensor mean = zeros({4}).requires_grad_();
               static_cast<void>(batch_norm(ones({2, 4}), mean, ones({4}), {}, {}, {.training = false}));
             }},
      Misuse{"ValueError", "batch_norm", "needs running statistics",
             [] {
               static_cast<void>(batch_norm(ones({2, 3}), {}, {}));
             }},
      Misuse{"ValueError", "batch_norm", "belong together",
             [] {
               static_cast<void>(batch_norm(ones({2, 3}), ones({3}), {}));
             }},
      Misuse{"ValueError", "instance_norm", "more than one element per channel of a sample",
             [] {
               static_cast<void>(instance_norm(ones({2, 3})));
             }},
      Misuse{"ValueError", "group_norm", "3 channels are not divisible into 2 groups",
             [] {
               static_cast<void>(group_norm(ones({2, 3}), 2));
             }},
  });
  EXPECT_NO_THROW(static_cast<void>(untracked(ones({2, 3}))));
}

}  // namespace
}  // namespace minnow
