#include <gtest/gtest.h>
#include <minnow/nn/layers/pool.h>
#include <minnow/nn/layers/prelu.h>
#include <minnow/nn/layers/resample.h>
#include <minnow/ops/elementwise/arithmetic.h>
#include <minnow/tensor/create.h>
#include "errors.h"

namespace minnow {
namespace {

using test::expect_errors;
using test::Misuse;

TEST(Resample, LayersAreTheirFunctions) {
  const Tensor x = arange(0, 48, 1, DType::float32).reshape({1, 4, 3, 4});
  EXPECT_TRUE(equal(nn::PixelUnshuffle(2)(nn::PixelShuffle(2)(x)), x));
  EXPECT_EQ(nn::PixelShuffle(2)(x).shape(), (Shape{1, 1, 6, 8}));
  const Tensor images = arange(0, 360, 1, DType::float32).reshape({2, 12, 3, 5});
  const Tensor last = nn::PixelShuffle(2)(images.contiguous(MemoryFormat::channels_last));
  EXPECT_TRUE(equal(last, nn::PixelShuffle(2)(images)));
  EXPECT_TRUE(last.is_contiguous(MemoryFormat::channels_last));
  const Tensor wide = nn::Upsample(2)(x);
  EXPECT_EQ(wide.shape(), (Shape{1, 4, 6, 8}));
  EXPECT_TRUE(equal(nn::AdaptiveAvgPool2d({3, 4})(wide), x));
  EXPECT_EQ(nn::AdaptiveAvgPool2d(1)(x).shape(), (Shape{1, 4, 1, 1}));
  EXPECT_EQ(nn::AdaptiveAvgPool1d(2)(tensor({{{1., 3., 5., 7.}}})).to_vector<double>(), (std::vector<double>{2, 6}));
  EXPECT_EQ(nn::Upsample(2).describe(), "Upsample(2, nearest)");
  EXPECT_EQ(nn::PixelShuffle(2).describe(), "PixelShuffle(2)");
  EXPECT_EQ(nn::AdaptiveAvgPool2d({3, 4}).describe(), "AdaptiveAvgPool2d(3x4)");
}

TEST(PReLU, HasPyTorchsWeight) {
  nn::PReLU one, three(3, 0.5);
  EXPECT_EQ(one.state_dict().begin()->first, "weight");
  EXPECT_EQ(one.weight.shape(), (Shape{1}));
  EXPECT_EQ(three.describe(), "PReLU(3)");
  EXPECT_EQ(one(tensor({-4., 2.})).to_vector<double>(), (std::vector<double>{-1, 2}));
  EXPECT_EQ(three(tensor({{-4., 2., -1.}})).to_vector<double>(), (std::vector<double>{-2, 2, -0.5}));
}

TEST(Resample, RefusesBadShapesAndFactors) {
  const Tensor x = zeros({1, 3, 3, 4}), row = zeros({3}), ints = zeros({1, 3, 3, 4}, {DType::int64});
  expect_errors({
      Misuse{"ValueError", "PixelShuffle", "upscale_factor must be positive, got 0", [] { nn::PixelShuffle(0); }},
      Misuse{"ValueError", "Upsample", "scale_factor must be positive, got -1", [] { nn::Upsample(-1); }},
      Misuse{"ValueError", "AdaptiveAvgPool2d", "output_size must be positive, got 0",
             [] { nn::AdaptiveAvgPool2d(0); }},
      Misuse{"ValueError", "PReLU", "num_parameters must be positive, got 0", [] { nn::PReLU(0); }},
      Misuse{"ShapeError", "pixel_shuffle", "3 channels, upscale_factor 2", [=] { (void)pixel_shuffle(x, 2); }},
      Misuse{"ShapeError", "pixel_unshuffle", "3 by 4, downscale_factor 2", [=] { (void)pixel_unshuffle(x, 2); }},
      Misuse{"ValueError", "interpolate", "scale_factor 0.25 of a size of 3 gives no size",
             [=] { (void)interpolate(x, {.scale_factor = 0.25}); }},
      Misuse{"ShapeError", "interpolate", "float32[3] on cpu", [=] { (void)interpolate(row, {.scale_factor = 2}); }},
      Misuse{"ShapeError", "adaptive_avg_pool2d", "float32[3] on cpu", [=] { (void)adaptive_avg_pool2d(row, 1); }},
      Misuse{"DTypeError", "adaptive_avg_pool2d", "int64[1, 3, 3, 4]", [=] { (void)adaptive_avg_pool2d(ints, 1); }},
      Misuse{"ShapeError", "prelu", "parameter 'weight'", [=] { nn::PReLU(4)(x); }},
  });
}

}  // namespace
}  // namespace minnow
