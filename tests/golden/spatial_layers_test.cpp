#include <gtest/gtest.h>
#include <minnow/nn/layers/basic.h>
#include <minnow/nn/layers/conv.h>
#include <minnow/nn/layers/embedding.h>
#include <minnow/nn/layers/padding.h>
#include <minnow/nn/layers/pool.h>
#include <minnow/nn/layers/resample.h>
#include <minnow/ops/elementwise/unary.h>
#include <minnow/ops/reductions/reduce.h>

#include "devices.h"
#include "golden.h"

namespace minnow::test {
namespace {

class GoldenSpatial : public DeviceTest {
 protected:
  /// The layer with PyTorch's state dict gives its result, and the gradients of the sum of its squares.
  template <class M> void expect_as_in_pytorch(const std::string& name, M layer) {
    const Book book("spatial_layers", device());
    layer.to(device());
    StateDict weights;
    for (const auto& [key, tensor] : layer.state_dict()) weights.set(key, book[name + "/net." + key]);
    layer.load_state_dict(weights);
    EXPECT_EQ(book.contains(name + "/net.bias"), layer.state_dict().contains("bias")) << name;
    Tensor x = book[name + "/in0"];
    const bool smooth = x.is_floating_point();
    if (smooth) x = x.clone().requires_grad_();
    const Tensor y = book.contains(name + "/in1") ? layer(x, book[name + "/in1"]) : layer(x);
    expect_close(y, book[name + "/out0"], name, {1e-5, 1e-5});
    sum(square(y)).backward();
    if (smooth) expect_close(x.grad(), book[name + "/grad0"], name, {1e-4, 1e-4});
    for (const auto& [key, p] : layer.named_parameters())
      expect_close(p.grad(), book[name + "/grad." + key], name + " " + key, {1e-4, 1e-4});
  }
};
INSTANTIATE_TEST_SUITE_P(Devices, GoldenSpatial, all_devices(), device_test_name);

TEST_P(GoldenSpatial, Convolutions) {
  expect_as_in_pytorch("Conv1d", nn::Conv1d(4, 6, 3, {.stride = 2, .padding = 1, .groups = 2}));
  expect_as_in_pytorch("Conv1d/circular", nn::Conv1d(4, 2, 3, {.padding = 2, .padding_mode = PadMode::circular}));
  expect_as_in_pytorch("Conv2d/same", nn::Conv2d(4, 2, {2, 3}, {.padding = Padding::same}));
  expect_as_in_pytorch("Conv2d/reflect", nn::Conv2d(4, 2, 3, {.padding = {1, 2}, .padding_mode = PadMode::reflect}));
  expect_as_in_pytorch(
      "Conv2d/replicate,same",
      nn::Conv2d(4, 2, 2, {.padding = Padding::same, .bias = false, .padding_mode = PadMode::replicate}));
  expect_as_in_pytorch("Conv3d", nn::Conv3d(4, 2, {3, 2, 2}, {.stride = {1, 2, 1}, .padding = {1, 0, 1}}));
  expect_as_in_pytorch("ConvTranspose1d", nn::ConvTranspose1d(4, 6, 3, 2, 1, 1, 2));
  expect_as_in_pytorch("ConvTranspose2d", nn::ConvTranspose2d(4, 3, 4, {.stride = 2, .padding = 1}));
  expect_as_in_pytorch("ConvTranspose2d/no bias", nn::ConvTranspose2d(4, 3, 2, {.bias = false, .dilation = 2}));
  expect_as_in_pytorch("ConvTranspose3d", nn::ConvTranspose3d(4, 2, 2, {.stride = 2, .padding = {1, 0, 0}}));
}

TEST_P(GoldenSpatial, Pools) {
  expect_as_in_pytorch("MaxPool1d", nn::MaxPool1d(3, {.stride = 2, .padding = 1, .ceil_mode = true}));
  expect_as_in_pytorch("MaxPool3d", nn::MaxPool3d(2, 1));
  expect_as_in_pytorch("AvgPool1d", nn::AvgPool1d(2));
  expect_as_in_pytorch("AvgPool3d", nn::AvgPool3d(2, {.padding = 1, .count_include_pad = false}));
  expect_as_in_pytorch("LPPool2d", nn::LPPool2d(2, 2));
  expect_as_in_pytorch("AdaptiveMaxPool1d", nn::AdaptiveMaxPool1d(3));
  expect_as_in_pytorch("AdaptiveMaxPool2d", nn::AdaptiveMaxPool2d({3, 2}));
  expect_as_in_pytorch("AdaptiveAvgPool3d", nn::AdaptiveAvgPool3d(2));
}

TEST_P(GoldenSpatial, Rearranged) {
  expect_as_in_pytorch("Upsample/bilinear",
                       nn::Upsample({.scale_factor = 2, .mode = Interpolation::bilinear, .align_corners = true}));
  expect_as_in_pytorch("Upsample/size", nn::Upsample({.size = {7, 3}, .mode = Interpolation::bicubic}));
  expect_as_in_pytorch("Unfold", nn::Unfold(2, {.padding = 1, .stride = 2}));
  expect_as_in_pytorch("Fold", nn::Fold({4, 5}, {2, 2}));
  expect_as_in_pytorch("ChannelShuffle", nn::ChannelShuffle(2));
  expect_as_in_pytorch("ZeroPad2d", nn::ZeroPad2d({1, 2, 0, -1}));
  expect_as_in_pytorch("ConstantPad1d", nn::ConstantPad1d(2, 3.5));
  expect_as_in_pytorch("ReflectionPad2d", nn::ReflectionPad2d({1, 2, 3, 0}));
  expect_as_in_pytorch("ReplicationPad3d", nn::ReplicationPad3d(1));
  expect_as_in_pytorch("CircularPad2d", nn::CircularPad2d(2));
  expect_as_in_pytorch("Unflatten", nn::Unflatten(1, {2, 2}));
  expect_as_in_pytorch("LocalResponseNorm", nn::LocalResponseNorm(2));
}

TEST_P(GoldenSpatial, EmbeddingBag) {
  expect_as_in_pytorch("EmbeddingBag", nn::EmbeddingBag(7, 3));
  expect_as_in_pytorch("EmbeddingBag/max", nn::EmbeddingBag(7, 3, {.mode = BagMode::max, .padding_idx = 2}));
  expect_as_in_pytorch("EmbeddingBag/sum", nn::EmbeddingBag(7, 3, {.mode = BagMode::sum, .include_last_offset = true}));
}

}  // namespace
}  // namespace minnow::test
