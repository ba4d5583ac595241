#include <cmath>
#include <gtest/gtest.h>
#include <map>
#include <minnow/data/loader.h>
#include <minnow/data/tensor_dataset.h>
#include <minnow/data/transform.h>
#include <minnow/ops/elementwise/arithmetic.h>
#include <minnow/tensor/create.h>
#include <minnow/tensor/error.h>
#include "support/thrown.h"

namespace minnow {
namespace {

using data::Random;
using Values = std::vector<double>;

/// 1, 2, 3, ...: no two pixels are equal, none is 0.
Tensor image(const Shape& shape, DType dtype = float32) {
  return arange(1, shape.numel() + 1).reshape(shape).to(dtype);
}

/// Element [y + dy][x + dx] of each plane, `fill` outside.
Values shifted(const Tensor& t, std::int64_t dy, std::int64_t dx, double fill) {
  const Values in = t.to_vector<double>();
  const std::int64_t height = t.size(-2), width = t.size(-1);
  Values out;
  for (std::int64_t i = 0; i < t.numel(); ++i) {
    const std::int64_t y = i / width % height + dy, x = i % width + dx;
    const bool inside = y >= 0 && y < height && x >= 0 && x < width;
    out.push_back(inside ? in[static_cast<std::size_t>(i + dy * width + dx)] : fill);
  }
  return out;
}

/// How often each shift by up to `most` occurred in `draws` calls; checks that it is the same for every channel.
template <class F>
std::map<std::pair<std::int64_t, std::int64_t>, int> moves(const Tensor& x, const F& f, std::int64_t most, double fill,
                                                           int draws) {
  std::map<std::pair<std::int64_t, std::int64_t>, int> seen;
  for (int k = 0; k < draws; ++k) {
    Random random(1, 0, static_cast<std::uint64_t>(k));
    const Tensor y = f(x, random);
    EXPECT_EQ(y.shape(), x.shape());
    EXPECT_EQ(y.dtype(), x.dtype());
    const Values got = y.to_vector<double>();
    int found = 0;
    for (std::int64_t dy = -most; dy <= most; ++dy)
      for (std::int64_t dx = -most; dx <= most; ++dx)
        if (got == shifted(x, dy, dx, fill)) ++found, ++seen[{dy, dx}];
    EXPECT_EQ(found, 1) << "draw " << k << " is no such move";
  }
  return seen;
}

TEST(Transforms, ShiftsAreUniformAndFilled) {
  for (const DType dtype : {uint8, float32})
    for (const Shape& shape : {Shape{5, 6}, Shape{2, 5, 6}}) {
      const Tensor x = image(shape, dtype);
      const Values before = x.to_vector<double>();
      const auto seen = moves(x, data::RandomShift{.pixels = 2, .fill = 200}, 2, 200, 500);
      ASSERT_EQ(seen.size(), 25U);
      for (const auto& [move, count] : seen) EXPECT_NEAR(count, 20, 18) << move.first << " " << move.second;
      EXPECT_EQ(x.to_vector<double>(), before);
    }
  EXPECT_EQ(moves(image({4, 4}), data::RandomShift{.pixels = 0}, 0, 0, 5).size(), 1U);
  // Further than the image is wide.
  EXPECT_EQ(moves(image({1, 1}), data::RandomShift{.pixels = 1, .fill = -3}, 0, -3, 0).size(), 0U);
  int gone = 0;
  for (std::uint64_t k = 0; k < 90; ++k) {
    Random random(k);
    gone += data::RandomShift{.pixels = 1, .fill = -3}(image({1, 1}), random).item() == -3 ? 1 : 0;
  }
  EXPECT_NEAR(gone, 80, 9);
}

TEST(Transforms, CropIsAWindowOfThePaddedImage) {
  const auto seen = moves(image({3, 4, 5}), data::RandomCrop{.padding = 3}, 3, 0, 700);
  EXPECT_EQ(seen.size(), 49U);
  Random random(1);
  EXPECT_EQ(data::RandomCrop{.padding = 0}(image({4, 4}), random).to_vector<double>(),
            image({4, 4}).to_vector<double>());
}

TEST(Transforms, FlipHasItsProbability) {
  for (const DType dtype : {uint8, float32}) {
    const Tensor x = image({2, 3, 5}, dtype);
    const Values plain = x.to_vector<double>();
    Values mirrored;
    for (std::int64_t i = 0; i < 30; ++i) mirrored.push_back(plain[static_cast<std::size_t>(i / 5 * 5 + 4 - i % 5)]);
    for (const double probability : {0.0, 0.3, 1.0}) {
      int flips = 0;
      for (std::uint64_t k = 0; k < 1000; ++k) {
        Random random(7, 0, k);
        const Values got = data::RandomHorizontalFlip{probability}(x, random).to_vector<double>();
        ASSERT_TRUE(got == plain || got == mirrored);
        flips += got == mirrored ? 1 : 0;
      }
      EXPECT_NEAR(flips, 1000 * probability, probability == 0.3 ? 60 : 0);
    }
    EXPECT_EQ(x.to_vector<double>(), plain);
  }
}

TEST(Transforms, ToFloatAndNormalize) {
  const Tensor bytes = tensor({{0, 51}, {102, 255}}).to(uint8), reals = data::ToFloat{}(bytes);
  EXPECT_EQ(reals.dtype(), float32);
  EXPECT_EQ(reals.shape(), (Shape{2, 2}));
  EXPECT_EQ(reals.to_vector<float>(), (std::vector<float>{0, 0.2F, 0.4F, 1}));
  EXPECT_TRUE(data::ToFloat{}(reals).is_same(reals));
  const Tensor cubic = tensor({{-0.2, 0.5}, {0.5, 1.2}});  // what interpolation leaves
  EXPECT_TRUE(data::ToFloat{}(cubic).is_same(cubic));
  const std::string text = test::error_of<ValueError>([&] { data::ToFloat{}((reals - 0.1307) / 0.3081); });
  EXPECT_TRUE(test::has(text, "ToFloat: the values of a float32 image must be in [0, 1], but are in [-0.424, 2.82]"))
      << text;
  EXPECT_THROW(data::ToFloat{}(full({2, 2}, std::nan(""))), ValueError);
  const Tensor normal = data::Normalize{.mean = 0.5, .std = 0.25}(tensor({0.0, 0.5, 1.0}));
  EXPECT_EQ(normal.to_vector<float>(), (std::vector<float>{-2, 0, 2}));
  for (const double std : {0.0, -1.0, std::nan("")}) EXPECT_THROW((data::Normalize{0, std}(reals)), ValueError) << std;
}

TEST(Transforms, TakeViewsInAnyOrderOfDimensions) {
  const Tensor x = image({6, 5}).t();  // [5, 6], columns dense
  EXPECT_EQ(moves(x, data::RandomShift{.pixels = 1}, 1, 0, 100).size(), 9U);
  Random random(1);
  EXPECT_EQ(data::RandomHorizontalFlip{1}(x, random).to_vector<double>(),
            data::RandomHorizontalFlip{1}(x.contiguous(), random).to_vector<double>());
  EXPECT_EQ(data::Normalize{.mean = 1}(x).to_vector<double>(), (x - 1).to_vector<double>());
  EXPECT_EQ(data::ToFloat{}(image({4, 5}, uint8).t()).to_vector<float>(),
            (image({4, 5}, uint8).t().to(float32) / 255).to_vector<float>());
}

TEST(Transforms, AreAppliedInOrderByALoader) {
  const data::TensorDataset set(image({8, 3, 4}, uint8), arange(8));
  int number = 0;
  const auto changed = data::transform(
      set, data::ToFloat{}, data::Normalize{0.1, 0.5}, [](const Tensor& t) { return t * 10; },
      [](std::array<Tensor, 2> sample) {
        return std::array{sample[0], sample[1] + 100};
      });
  for (auto& [images, labels] : data::DataLoader(changed, {.batch_size = 3})) {
    for (std::int64_t i = 0; i < images.size(0); ++i, ++number) {
      EXPECT_EQ(labels(i).item<int>(), 100 + number);
      EXPECT_NEAR(images(i, 2, 3).item(), ((number * 12 + 12) / 255.0 - 0.1) / 0.5 * 10, 1e-5);
    }
  }
  EXPECT_EQ(number, 8);
}

}  // namespace
}  // namespace minnow
