#include <gtest/gtest.h>
#include <support/devices.h>
#include <minnow/minnow.h>

/// Layers and options of layers that PyTorch has beside the usual ones.
namespace minnow {
namespace {

class TorchLayers : public test::DeviceTest {};
INSTANTIATE_TEST_SUITE_P(Devices, TorchLayers, test::all_devices(), test::device_test_name);

TEST_P(TorchLayers, InstanceNormTracksTheMeansOfItsSamples) {
  nn::InstanceNorm norm(3, {.momentum = 0.2, .affine = true, .track_running_stats = true});
  EXPECT_EQ(norm.state_dict().size(), 5U);
  EXPECT_EQ(norm.describe(), "InstanceNorm(3, eps 1e-05, tracking)");
  norm.to(device());
  const Tensor x = randn({4, 3, 5, 6}, {float32, device()});
  const Tensor y = norm(x), want = instance_norm(x, norm.weight, norm.bias);
  EXPECT_TRUE(allclose(y, want, 1e-5, 1e-5));
  nn::InstanceNorm other = nn::clone(norm);
  const auto gradients = [&](auto&& f) {
    const Tensor in = x.clone().requires_grad_();
    return grad({sum(f(in) * x * x)}, {in, other.weight, other.bias});
  };
  const auto got = gradients([&](const Tensor& in) { return other(in); });
  const auto expected = gradients([&](const Tensor& in) { return instance_norm(in, other.weight, other.bias); });
  for (std::size_t i = 0; i < got.size(); ++i) EXPECT_TRUE(allclose(got[i], expected[i], 1e-4, 1e-4)) << i;
  const Tensor mean_of_all = mean(mean(x, {2, 3}), 0), var_of_all = mean(var(x, {2, 3}), 0);
  EXPECT_TRUE(allclose(norm.running_mean, mul(mean_of_all, 0.2), 1e-5, 1e-5));
  EXPECT_TRUE(allclose(norm.running_var, add(mul(var_of_all, 0.2), 0.8), 1e-5, 1e-5));
  norm.eval();
  const auto wide = [](const Tensor& t) { return t.reshape({1, 3, 1, 1}); };
  const Tensor still = div(sub(x, wide(norm.running_mean)), sqrt(add(wide(norm.running_var), 1e-5)));
  EXPECT_TRUE(allclose(norm(x), still, 1e-4, 1e-5));
  EXPECT_THROW(nn::InstanceNorm(3, {.momentum = 2}), ValueError);
  EXPECT_THROW(nn::InstanceNorm(0, {.track_running_stats = true}), ValueError);
}

TEST_P(TorchLayers, InstanceNormTracksOneChannel) {
  nn::InstanceNorm norm(1, {.affine = true, .track_running_stats = true});
  norm.to(device());
  const Tensor x = randn({2, 1, 7}, {float32, device()});
  EXPECT_TRUE(allclose(norm(x), instance_norm(x), 1e-5, 1e-5));
  EXPECT_TRUE(allclose(norm.running_mean, mul(mean(x), 0.1).reshape({1}), 1e-5, 1e-6));
}

/// Whatever its padding, a convolution of one sample is that of a batch of one.
TEST_P(TorchLayers, ConvolutionsPadOneSampleAsABatch) {
  const auto check = [&](auto net, const Tensor& sample) {
    net.to(device());
    const Tensor one = sample.to(device()).requires_grad_();
    const Tensor y = net(one), of_batch = net(one.unsqueeze(0)).squeeze(0);
    EXPECT_TRUE(allclose(y, of_batch, 1e-5, 1e-6)) << net.describe();
    EXPECT_TRUE(allclose(grad(sum(y * y), one), grad(sum(of_batch * of_batch), one), 1e-5, 1e-5)) << net.describe();
  };
  for (const PadMode mode : {PadMode::reflect, PadMode::replicate, PadMode::circular}) {
    check(nn::Conv1d(2, 3, 3, {.padding = 2, .padding_mode = mode}), randn({2, 5}));
    check(nn::Conv2d(2, 3, {3, 2}, {.padding = Padding::same, .padding_mode = mode}), randn({2, 5, 4}));
    check(nn::Conv3d(1, 2, 3, {.padding = {1, 0, 1}, .padding_mode = mode}), randn({1, 3, 4, 5}));
  }
}

TEST_P(TorchLayers, NormsWithoutABias) {
  const Tensor x = randn({4, 6, 5, 5}, {float32, device()});
  const auto check = [&](auto norm, const Tensor& want) {
    norm.to(device());
    EXPECT_TRUE(norm.weight.defined() && !norm.bias.defined());
    EXPECT_EQ(norm.parameters().size(), 1U);
    EXPECT_NE(norm.describe().find("no bias"), std::string::npos) << norm.describe();
    EXPECT_TRUE(allclose(norm(x), want, 1e-5, 1e-5));
  };
  check(nn::BatchNorm2d(6, {.bias = false}), batch_norm(x, {}, {}, {}, {}, {.training = true}));
  check(nn::GroupNorm(2, 6, {.bias = false}), group_norm(x, 2));
  check(nn::InstanceNorm(6, {.affine = true, .bias = false}), instance_norm(x));
  check(nn::LayerNorm(5, {.bias = false}), layer_norm(x, {5}));
}

TEST_P(TorchLayers, LinearCrossEntropy) {
  nn::LinearCrossEntropyLoss loss(6, 3, {.out_features = {2}, .bias = true, .loss = {.weight = tensor({1., 2., 3.})}});
  EXPECT_EQ(loss.state_dict().size(), 3U);
  loss.to(device());
  const Tensor x = randn({4, 6}, {float32, device()}), target = randint(0, 3, {4, 2}).to(device());
  const Tensor logits = loss.linear(x).reshape({4, 3, 2});
  const Tensor want = nn::cross_entropy(logits, target, {.weight = tensor({1., 2., 3.}).to(device())});
  EXPECT_NEAR(loss(x, target).item(), want.item(), 1e-5);
  EXPECT_THROW((void)nn::linear_cross_entropy(zeros({2, 3, 6}), zeros({3, 6}), zeros({2}, int64)), ShapeError);
  EXPECT_THROW((void)nn::linear_cross_entropy(zeros({2, 6}), zeros({3, 6}), zeros({2}, int64), zeros({2})), ShapeError);
}

TEST_P(TorchLayers, FractionalMaxPools) {
  const nn::FractionalMaxPool2d pool(2, {.output_ratio = {0.5}});
  EXPECT_EQ(pool(randn({2, 3, 8, 10}, device())).shape(), (Shape{2, 3, 4, 5}));
  EXPECT_EQ(pool.describe(), "FractionalMaxPool2d(2)");
  const nn::FractionalMaxPool3d volumes({1, 2, 2}, {.output_size = {2, 3, 4}});
  EXPECT_EQ(volumes(randn({3, 5, 8, 10}, device())).shape(), (Shape{3, 2, 3, 4}));
}

TEST_P(TorchLayers, TransformerBeginsAsPyTorchs) {
  manual_seed(1);
  const nn::Transformer net(64, 4, {.num_encoder_layers = 1, .num_decoder_layers = 2, .dim_feedforward = 128});
  EXPECT_EQ(net.describe(), "Transformer(1 encoder layers, 2 decoder layers)");
  EXPECT_TRUE(net.state_dict().contains("decoder.layers.1.multihead_attn.in_proj_weight"));
  EXPECT_TRUE(net.state_dict().contains("encoder.norm.weight"));
  for (const auto& [name, p] : net.named_parameters()) {
    if (p.dim() < 2) continue;
    const double bound = std::sqrt(6.0 / static_cast<double>(p.size(0) + p.size(1)));
    EXPECT_NEAR(amax(abs(p)).item(), bound, 0.02 * bound) << name;
  }
  EXPECT_THROW((void)net(randn({2, 3, 64}), randn({3, 3, 64})), ShapeError);
  EXPECT_THROW(nn::Transformer(10, 3), ValueError);
}

TEST_P(TorchLayers, CtcLossTakesInt32) {
  const Tensor x = log_softmax(randn({6, 2, 4}, {float32, device()}), -1);
  const Tensor targets = tensor({{1, 2}, {3, 1}}, device()), steps = tensor({6, 5}, device()),
               sizes = tensor({2, 1}, device());
  const Tensor want = nn::ctc_loss(x, targets, steps, sizes);
  EXPECT_EQ(nn::ctc_loss(x, targets.to(int32), steps.to(int32), sizes.to(int32)).item(), want.item());
  EXPECT_THROW((void)nn::ctc_loss(x, targets.to(float32), steps, sizes), DTypeError);
}

}  // namespace
}  // namespace minnow
