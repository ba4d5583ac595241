#include <gtest/gtest.h>
#include <minnow/nn/layers/basic.h>
#include <minnow/nn/layers/conv.h>
#include <minnow/nn/layers/dropout.h>
#include <minnow/nn/layers/embedding.h>
#include <minnow/nn/layers/padding.h>
#include <minnow/nn/layers/pool.h>
#include <minnow/nn/layers/resample.h>
#include <minnow/ops/convolution/unfold.h>
#include <minnow/ops/elementwise/arithmetic.h>
#include <minnow/ops/elementwise/unary.h>
#include <minnow/ops/indexing/embedding_bag.h>
#include <minnow/ops/reductions/reduce.h>
#include <minnow/ops/shape/rearrange.h>
#include <minnow/tensor/create.h>
#include <minnow/tensor/random.h>

#include "errors.h"

namespace minnow {
namespace {

using test::expect_errors;
using test::Misuse;

TEST(Spatial, LayersDescribeThemselves) {
  EXPECT_EQ(nn::Conv1d(2, 6, 3, 2, 1).describe(), "Conv1d(2, 6, kernel 3, stride 2, padding 1)");
  EXPECT_EQ(nn::Conv2d(2, 6, {3, 1}, {.padding = Padding::same, .padding_mode = PadMode::reflect}).describe(),
            "Conv2d(2, 6, kernel 3x1, padding same, reflect)");
  EXPECT_EQ(nn::Conv3d(2, 6, {1, 2, 3}, {.groups = 2, .bias = false}).describe(),
            "Conv3d(2, 6, kernel 1x2x3, groups 2, no bias)");
  EXPECT_EQ(nn::ConvTranspose2d(6, 2, 4, {.stride = 2, .padding = 1, .output_padding = 1}).describe(),
            "ConvTranspose2d(6, 2, kernel 4, stride 2, padding 1, output_padding 1)");
  EXPECT_EQ(nn::MaxPool3d({1, 2, 2}, {.dilation = 2, .ceil_mode = true}).describe(),
            "MaxPool3d(1x2x2, dilation 2, ceil_mode)");
  EXPECT_EQ(nn::AdaptiveMaxPool1d(3).describe(), "AdaptiveMaxPool1d(3)");
  EXPECT_EQ(nn::LPPool1d(1.5, 2).describe(), "LPPool1d(2, norm_type 1.5)");
  EXPECT_EQ(nn::MaxUnpool2d(2, {.stride = 1}).describe(), "MaxUnpool2d(2, stride 1)");
  EXPECT_EQ(nn::Upsample({.size = {4, 5}, .mode = Interpolation::bilinear}).describe(), "Upsample(size 4x5, bilinear)");
  EXPECT_EQ(nn::Unfold({2, 3}, {.padding = 1}).describe(), "Unfold(2x3, padding 1)");
  EXPECT_EQ(nn::Fold(5, 2).describe(), "Fold(5, kernel 2)");
  EXPECT_EQ(nn::ZeroPad2d({1, 2, 0, 1}).describe(), "ZeroPad2d({1, 2, 0, 1})");
  EXPECT_EQ(nn::ConstantPad1d(2, 3.5).describe(), "ConstantPad1d(2, value 3.5)");
  EXPECT_EQ(nn::Unflatten(1, {2, -1}).describe(), "Unflatten(1, [2, -1])");
  EXPECT_EQ(nn::Dropout2d(0.25).describe(), "Dropout2d(0.25)");
  EXPECT_EQ(nn::EmbeddingBag(4, 2, {.mode = BagMode::sum, .padding_idx = -1}).describe(),
            "EmbeddingBag(4, 2, sum, padding_idx -1)");
}

TEST(Spatial, UnpoolIsTheInverseOfThePool) {
  const Tensor x = arange(0, 24, 1, float32).reshape({1, 1, 4, 6});
  const MinMax pooled = max_pool2d_with_indices(x, 2);
  const Tensor back = nn::MaxUnpool2d(2)(pooled.values, pooled.indices);
  EXPECT_EQ(back.shape(), x.shape());
  EXPECT_TRUE(equal(max_pool2d(back, 2), pooled.values));
  EXPECT_EQ(sum(back).item(), sum(pooled.values).item());
}

/// As contiguous ones: values, positions (of the first of equal elements) and gradients.
TEST(Spatial, PoolsOfChannelsLastVolumes) {
  for (const std::int64_t batch : {0, 2}) {
    const Tensor x = randint(0, 9, {batch, 4, 5, 6, 3}).to(float32).permute({0, 4, 1, 2, 3}).requires_grad_();
    const Tensor same = x.detach().contiguous().requires_grad_();
    const auto check = [&](const Tensor& y, const Tensor& expected) {
      EXPECT_TRUE(equal(y, expected));
      const Tensor weight = arange(0, y.numel(), 1, float32).reshape(y.shape());
      sum(mul(y, weight)).backward();
      sum(mul(expected, weight)).backward();
      EXPECT_TRUE(equal(x.grad(), same.grad()));
    };
    const MaxPool3dOptions options{.stride = 2, .padding = 1};
    const MinMax most = max_pool3d_with_indices(x, 3, options), expected = max_pool3d_with_indices(same, 3, options);
    EXPECT_TRUE(equal(most.indices, expected.indices));
    check(most.values, expected.values);
    check(adaptive_max_pool3d(x, {2, 3, 4}), adaptive_max_pool3d(same, {2, 3, 4}));
    check(avg_pool3d(x, {1, 2, 2}), avg_pool3d(same, {1, 2, 2}));
  }
}

TEST(Spatial, WindowsAreViews) {
  const Tensor x = arange(0, 6, 1, float32);
  const Tensor windows = x.unfold(0, 3, 2);
  EXPECT_EQ(windows.shape(), (Shape{2, 3}));
  EXPECT_EQ(windows.raw_data(), x.raw_data());
  EXPECT_EQ(x.unfold(0, 0, 1).shape(), (Shape{7, 0}));
  EXPECT_EQ(tensor(2.0).unfold(0, 1, 1).shape(), (Shape{1}));
}

TEST(Spatial, DropoutOfChannels) {
  manual_seed(3);
  const Tensor x = ones({40, 50, 2, 3}), y = nn::Dropout2d(0.25)(x);
  const Tensor each = y(all, all, 0, 0);
  EXPECT_TRUE(equal(y, each.reshape({40, 50, 1, 1}).expand({40, 50, 2, 3}).contiguous()));
  EXPECT_TRUE(equal(each > 0, each > 1.3));
  EXPECT_NEAR(mean(y).item(), 1, 0.05);
  nn::Dropout3d still(0.5);
  still.eval();
  const Tensor volume = ones({2, 3, 1, 1, 1});
  EXPECT_TRUE(still(volume).is_same(volume));
}

TEST(Spatial, AlphaDropoutKeepsMeanAndVariance) {
  manual_seed(3);
  const Tensor x = randn({200, 200}), y = nn::AlphaDropout(0.3)(x);
  EXPECT_NEAR(mean(y).item(), 0, 0.03);
  EXPECT_NEAR(var(y).item(), 1, 0.05);
  EXPECT_EQ(sum(abs(alpha_dropout(x, {.p = 1}))).item(), 0);
}

TEST(Spatial, RefusesBadConvolutions) {
  const Tensor line = zeros({1, 4, 5}), image = zeros({1, 4, 5, 5}), volume = zeros({1, 4, 3, 3, 3});
  expect_errors({
      Misuse{"ValueError", "Conv1d", "padding \"same\" needs a stride of 1",
             [] { nn::Conv1d(2, 2, 3, {.stride = 2, .padding = Padding::same}); }},
      Misuse{"ValueError", "ConvTranspose2d", "less than stride or dilation",
             [] { nn::ConvTranspose2d(2, 2, 3, {.stride = 2, .output_padding = 2}); }},
      Misuse{"ValueError", "ConvTranspose1d", "groups must divide",
             [] { nn::ConvTranspose1d(4, 3, 3, {.groups = 2}); }},
      Misuse{"ShapeError", "conv1d", "three dimensions",
             [=] {
               (void)conv1d(image, zeros({2, 4, 3}));
             }},
      Misuse{"ShapeError", "conv1d", "takes x: [N, 3, L]; for this x weight must be [O, 4, K]",
             [=] {
               (void)conv1d(line, zeros({2, 3, 3}));
             }},
      Misuse{"ShapeError", "conv1d", "does not fit into the padded sequence",
             [=] {
               (void)conv1d(line, zeros({2, 4, 6}));
             }},
      Misuse{"ShapeError", "conv3d", "does not fit into the padded volume",
             [=] {
               (void)conv3d(volume, zeros({2, 4, 4, 1, 1}));
             }},
      Misuse{"ValueError", "conv3d", "stride {1, 0, 1}",
             [=] {
               (void)conv3d(volume, zeros({2, 4, 1, 1, 1}), {}, {.stride = {1, 0, 1}});
             }},
      Misuse{"ShapeError", "conv_transpose2d", "weight must be [4, O / 1, KH, KW]",
             [=] {
               (void)conv_transpose2d(image, zeros({2, 4, 3, 3}));
             }},
      Misuse{"ShapeError", "conv_transpose2d", "parameter 'bias'",
             [=] {
               nn::ConvTranspose2d layer(3, 2, 3);
               layer(image);
             }},
      Misuse{"ValueError", "conv_transpose2d", "output_padding {1, 1} were given",
             [=] {
               (void)conv_transpose2d(image, zeros({4, 2, 3, 3}), {}, {.output_padding = 1});
             }},
      Misuse{"ShapeError", "conv_transpose2d", "empty along spatial dimension 0",
             [=] {
               (void)conv_transpose2d(zeros({1, 4, 1, 1}), zeros({4, 2, 1, 1}), {}, {.padding = 1});
             }},
      Misuse{"ShapeError", "conv_transpose1d", "empty along spatial dimension 0",
             [=] {
               (void)conv_transpose1d(zeros({1, 4, 0}), zeros({4, 2, 3}));
             }},
      Misuse{"DTypeError", "conv_transpose1d", "one floating-point dtype",
             [=] {
               (void)conv_transpose1d(line, zeros({4, 2, 3}, float64));
             }},
  });
}

TEST(Spatial, AKernelInBracesIsOneSize) {
  const Tensor volume = ones({1, 1, 2, 4, 6});
  EXPECT_EQ(nn::MaxPool3d({1, 2, 2})(volume).shape(), (Shape{1, 1, 2, 2, 3}));
  EXPECT_EQ(nn::AvgPool3d({2, 2, 3}, {.stride = 1})(volume).shape(), (Shape{1, 1, 1, 3, 4}));
  EXPECT_EQ(nn::MaxPool2d({1, 2})(volume.squeeze(0)).shape(), (Shape{1, 2, 4, 3}));
  EXPECT_EQ(nn::MaxPool2d(2, 1)(volume.squeeze(0)).shape(), (Shape{1, 2, 3, 5}));
}

TEST(Spatial, RefusesBadPools) {
  const Tensor line = zeros({1, 2, 5}), image = zeros({1, 2, 4, 4});
  const Tensor at = zeros({1, 2, 2, 2}, int64);
  expect_errors({
      Misuse{"ValueError", "MaxPool1d", "padding must be between 0 and half of kernel_size, got 2",
             [] { nn::MaxPool1d(3, {.padding = 2}); }},
      Misuse{"ValueError", "AvgPool3d", "divisor_override must be positive",
             [] { nn::AvgPool3d(3, {.divisor_override = -1}); }},
      Misuse{"ValueError", "AdaptiveMaxPool2d", "output_size must be positive, got 0x3",
             [] {
               nn::AdaptiveMaxPool2d({0, 3});
             }},
      Misuse{"ValueError", "LPPool2d", "norm_type must be positive", [] { nn::LPPool2d(0, 2); }},
      Misuse{"ShapeError", "max_pool1d", "x: [N, C, L]", [=] { (void)max_pool1d(image, 2); }},
      Misuse{"ShapeError", "avg_pool1d", "kernel 6", [=] { (void)avg_pool1d(line, 6); }},
      Misuse{"ShapeError", "max_pool3d", "five dimensions", [=] { (void)max_pool3d(line, 2); }},
      Misuse{"ShapeError", "max_unpool2d", "x and indices have different shapes",
             [=] { (void)max_unpool2d(image, at, 2); }},
      Misuse{"DTypeError", "max_unpool2d", "must be int64", [=] { (void)max_unpool2d(image, image, 2); }},
      Misuse{"IndexError", "max_unpool2d", "16",
             [=] {
               (void)max_unpool2d(zeros({1, 2, 2, 2}), at + 16, 2);
             }},
      Misuse{"IndexError", "max_unpool2d", "-1",
             [=] {
               (void)max_unpool2d(zeros({1, 2, 2, 2}), at - 1, 2);
             }},
      Misuse{"ShapeError", "adaptive_max_pool1d", "no pixels",
             [] {
               (void)adaptive_max_pool1d(zeros({1, 2, 0}), 1);
             }},
  });
}

TEST(Spatial, RefusesBadSizes) {
  const Tensor image = zeros({1, 2, 4, 4}), line = zeros({1, 2, 4}), grid = zeros({1, 3, 3, 2});
  const auto bilinear = Interpolation::bilinear;
  expect_errors({
      Misuse{"ValueError", "interpolate", "either size or scale_factor", [=] { (void)interpolate(image, {}); }},
      Misuse{"ValueError", "interpolate", "either size or scale_factor",
             [=] { (void)interpolate(image, {.size = 2, .scale_factor = 2}); }},
      Misuse{"ValueError", "interpolate", "3 numbers for 2 spatial dimensions",
             [=] {
               (void)interpolate(image, {.size = {2, 2, 2}});
             }},
      Misuse{"ShapeError", "interpolate", "bilinear is for 2 spatial dimensions",
             [=] { (void)interpolate(line, {.size = 2, .mode = bilinear}); }},
      Misuse{"ValueError", "interpolate", "nearest has no align_corners",
             [=] { (void)interpolate(image, {.size = 2, .align_corners = true}); }},
      Misuse{"DTypeError", "interpolate", "nearest takes any",
             [=] { (void)interpolate(image.to(int64), {.size = 2, .mode = bilinear}); }},
      Misuse{"ValueError", "Upsample", "either size or scale_factor", [] { nn::Upsample(InterpolateOptions{}); }},
      Misuse{"ShapeError", "grid_sample", "grid: [N, OH, OW, 2]", [=] { (void)grid_sample(image, image); }},
      Misuse{"DTypeError", "grid_sample", "float64", [=] { (void)grid_sample(image, grid.to(float64)); }},
      Misuse{"ValueError", "grid_sample", "the mode must be",
             [=] { (void)grid_sample(image, grid, {.mode = Interpolation::area}); }},
      Misuse{"ShapeError", "affine_grid", "does not match the size [1, 1, 2, 2]",
             [=] {
               (void)affine_grid(grid, {1, 1, 2, 2});
             }},
      Misuse{"ShapeError", "unfold", "does not fit", [=] { (void)unfold(image, 5); }},
      Misuse{"ShapeError", "unfold", "windows of 5 elements", [=] { (void)image.unfold(2, 5, 1); }},
      Misuse{"ValueError", "unfold", "step 1 or more", [=] { (void)image.unfold(2, 2, 0); }},
      Misuse{"ShapeError", "fold", "images of 4 by 4 have 9 blocks",
             [] {
               (void)fold(zeros({1, 4, 8}), 4, 2);
             }},
      Misuse{"ShapeError", "unflatten", "size 4 cannot be divided into [3, -1]",
             [=] {
               (void)line.unflatten(2, {3, -1});
             }},
      Misuse{"ShapeError", "channel_shuffle", "2 channels, groups 3", [=] { (void)channel_shuffle(image, 3); }},
      Misuse{"ValueError", "ZeroPad2d", "padding needs 1 or 4 numbers, got 2",
             [] {
               nn::ZeroPad2d({1, 2});
             }},
      Misuse{"ShapeError", "ReflectionPad2d", "x needs 4 dimensions, or 3",
             [=] { nn::ReflectionPad2d(1)(zeros({3})); }},
      Misuse{"ValueError", "Dropout2d", "p must be in [0, 1]", [] { nn::Dropout2d(1.5); }},
      Misuse{"ShapeError", "dropout2d", "x needs 4 dimensions", [=] { nn::Dropout2d(0.5)(line); }},
  });
}

TEST(Spatial, RefusesBadBags) {
  const Tensor weight = zeros({5, 2}), index = zeros({6}, int64);
  const auto offsets = [](std::int64_t a, std::int64_t b) { return tensor({a, b}); };
  expect_errors({
      Misuse{"ShapeError", "embedding_bag", "bags are the rows", [=] { (void)embedding_bag(index, weight); }},
      Misuse{"ValueError", "embedding_bag", "they go from 1 to 3",
             [=] { (void)embedding_bag(index, weight, offsets(1, 3)); }},
      Misuse{"ValueError", "embedding_bag", "from 0 to at most 6",
             [=] { (void)embedding_bag(index, weight, offsets(0, 7)); }},
      Misuse{"ValueError", "embedding_bag", "BagMode::sum",
             [=] { (void)embedding_bag(index, weight, offsets(0, 3), {.per_sample_weights = zeros({6})}); }},
      Misuse{"IndexError", "embedding_bag", "5", [=] { (void)embedding_bag(index + 5, weight, offsets(0, 3)); }},
      Misuse{"ValueError", "EmbeddingBag", "must be positive", [] { nn::EmbeddingBag(0, 2); }},
  });
}

}  // namespace
}  // namespace minnow
