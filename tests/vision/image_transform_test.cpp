#include <cmath>
#include <map>
#include <minnow/data/loader.h>
#include <minnow/data/tensor_dataset.h>
#include <minnow/ops/elementwise/arithmetic.h>
#include <minnow/ops/reductions/reduce.h>
#include <minnow/tensor/create.h>
#include <minnow/tensor/error.h>
#include <minnow/vision/image_transform.h>
#include "support/golden.h"
#include "support/thrown.h"

namespace minnow {
namespace {

using data::Random;
using test::Book;
using test::error_of;
using test::has;

class Torchvision : public ::testing::Test {
 protected:
  void same(const Tensor& got, const std::string& name, double levels = 1) {
    const Tensor want = book_[name];
    EXPECT_EQ(got.dtype(), want.dtype()) << name;
    // Bytes of torchvision are computed with rounded weights: one level.
    if (want.dtype() == uint8) test::expect_close(got.to(float32), want.to(float32), name, {0, levels});
    else test::expect_close(got, want, name, {1e-5, 2e-5});
  }
  Book book_{"transforms", {}};
};

TEST_F(Torchvision, FixedTransformsAreEqual) {
  for (const std::string name : {"float", "bytes", "batch"}) {
    const Tensor x = book_[name + "/in"];
    for (const auto& [h, w] : {std::pair{4, 3}, {18, 14}, {5, 20}, {9, 7}, {1, 1}})
      for (const bool antialias : {true, false})
        same(vision::resize(x, h, w, antialias),
             name + "/resize " + std::to_string(h) + " " + std::to_string(w) + " " + std::to_string(antialias));
    for (const auto& [mode, text] :
         {std::pair{Interpolation::nearest, "nearest"}, {Interpolation::bilinear, "bilinear"}}) {
      for (const auto& [degrees, number] : {std::pair{31.0, "31"}, {-90.0, "-90"}, {180.0, "180"}, {12.5, "12.5"}})
        same(vision::rotate(x, degrees, mode), name + "/rotate " + number + " " + text);
      same(vision::affine(
               x, {.degrees = 17, .translate = {1.5, -1}, .scale = 1.25, .shear = {10, -5}, .interpolation = mode}),
           name + "/affine " + text);
    }
    for (const auto& [factor, number] : {std::pair{0.0, "0"}, {0.5, "0.5"}, {1.7, "1.7"}}) {
      same(vision::adjust_brightness(x, factor), name + "/brightness " + number, 0);
      same(vision::adjust_contrast(x, factor), name + "/contrast " + number);
      same(vision::adjust_saturation(x, factor), name + "/saturation " + number);
    }
    for (const auto& [factor, number] : {std::pair{-0.5, "-0.5"}, {-0.1, "-0.1"}, {0.3, "0.3"}})
      same(vision::adjust_hue(x, factor), name + "/hue " + number);
    same(vision::to_grayscale(x), name + "/grey");
    same(vision::CenterCrop{4, 5}(x), name + "/center 4 5", 0);
    Random random(1);
    same(vision::RandomVerticalFlip{1}(x, random), name + "/flip", 0);
  }
  const Tensor x = book_["float/in"];
  same(vision::NormalizeChannels{{0.4, 0.5, 0.6}, {0.2, 0.3, 0.4}}(x), "float/normalize");
  same(vision::ConvertImageDtype{uint8}(x), "float/to bytes", 0);
  same(vision::ConvertImageDtype{}(book_["bytes/in"]), "bytes/to float");
}

Tensor ramp(const Shape& shape, DType dtype) {
  return (arange(1, shape.numel() + 1).to(float32) / (dtype == uint8 ? 1.0 : 256.0)).reshape(shape).to(dtype);
}

TEST(ImageTransforms, AnyLayoutAndNoChangeInPlace) {
  const Tensor x = ramp({7, 5, 3}, float32).permute({2, 0, 1});
  const auto before = x.contiguous().to_vector<float>();
  Random random(2);
  const auto same = [&](const Tensor& a, const Tensor& b) { EXPECT_EQ(a.to_vector<float>(), b.to_vector<float>()); };
  same(vision::resize(x, 4, 9), vision::resize(x.contiguous(), 4, 9));
  same(vision::rotate(x, 33, Interpolation::bilinear, 0.5),
       vision::rotate(x.contiguous(), 33, Interpolation::bilinear, 0.5));
  same(vision::adjust_hue(x, 0.2), vision::adjust_hue(x.contiguous(), 0.2));
  vision::RandomErasing{.p = 1}(x, random);
  vision::ColorJitter{.5, .5, .5, .2}(x, random);
  EXPECT_EQ(x.contiguous().to_vector<float>(), before);
}

TEST(ImageTransforms, FillIsWhatIsOutside) {
  const Tensor x = ones({1, 6, 6});
  const Tensor moved = vision::affine(x, {.translate = {2, 1}, .fill = 5});
  EXPECT_EQ(moved(0, 0, 3).item(), 5);
  EXPECT_EQ(moved(0, 3, 1).item(), 5);
  EXPECT_EQ(moved(0, 3, 2).item(), 1);
  EXPECT_EQ(vision::rotate(x, 45, Interpolation::nearest, 7)(0, 0, 0).item(), 7);
  // Half a pixel is outside: 5 / 2 + 1 / 2.  torchvision mixes what it read beside zeros, 1 / 2, and has 2.75.
  const Tensor half = vision::affine(x, {.translate = {0.5, 0}, .interpolation = Interpolation::bilinear, .fill = 5});
  EXPECT_NEAR(half(0, 3, 0).item(), 3, 1e-6);
}

TEST(ImageTransforms, ErasingWritesOneRectangle) {
  const Tensor x = zeros({2, 20, 30});
  std::map<bool, int> erased;
  for (std::uint64_t k = 0; k < 400; ++k) {
    Random random(5, 0, k);
    const Tensor y = vision::RandomErasing{.p = 0.25, .value = 1}(x, random);
    const double sum = y.sum().item();
    ++erased[sum > 0];
    if (sum == 0) continue;
    EXPECT_GE(sum / 1200, 0.01);
    EXPECT_LE(sum / 1200, 0.36);
    EXPECT_EQ(y(0).to_vector<float>(), y(1).to_vector<float>());
  }
  EXPECT_NEAR(erased[true], 100, 35);
}

TEST(ImageTransforms, ResizedCropHasTheSizeAsked) {
  const Tensor x = ramp({3, 15, 15}, float32);
  double least = 1e9, most = 0;
  for (std::uint64_t k = 0; k < 50; ++k) {
    Random random(6, 0, k);
    const Tensor y = vision::RandomResizedCrop{.height = 8, .width = 6}(x, random);
    EXPECT_EQ(y.shape(), Shape({3, 8, 6}));
    least = std::min(least, y(0).mean().item()), most = std::max(most, y(0).mean().item());
  }
  EXPECT_LT(least + 0.1, most);
  Random random(1);  // no window fits: the middle
  EXPECT_EQ((vision::RandomResizedCrop{.height = 2, .width = 2, .scale = {1, 1}, .ratio = {5, 6}}(x, random)).shape(),
            Shape({3, 2, 2}));
}

TEST(ImageTransforms, RotationsAndAffinesVary) {
  const Tensor x = ramp({1, 9, 9}, float32);
  int same = 0;
  for (std::uint64_t k = 0; k < 20; ++k) {
    Random random(6, 0, k), again(6, 0, k);
    const Tensor y = vision::RandomRotation{.degrees = 90}(x, random);
    same += y.to_vector<float>() == x.to_vector<float>() ? 1 : 0;
    EXPECT_EQ(y.to_vector<float>(), vision::RandomRotation{.degrees = 90}(x, again).to_vector<float>());
    EXPECT_EQ(
        vision::RandomAffine({.degrees = 5, .translate = {0.2, 0.2}, .scale = {0.5, 2}, .shear = 9})(x, random).shape(),
        x.shape());
  }
  EXPECT_LT(same, 7);  // a rotation by a few degrees moves no pixel
  Random random(1);
  EXPECT_EQ(vision::RandomRotation{.degrees = 0}(x, random).to_vector<float>(), x.to_vector<float>());
}

TEST(ImageTransforms, WorkersChangeNothing) {
  const data::TensorDataset set(ramp({40, 3, 12, 10}, float32) / 57, arange(40));
  const auto transformed =
      data::transform(set, vision::Compose(
                               vision::RandomResizedCrop{.height = 8, .width = 8}, vision::RandomVerticalFlip{},
                               vision::RandomAffine{.degrees = 20, .interpolation = Interpolation::bilinear},
                               vision::ColorJitter{0.4, 0.4, 0.4, 0.1}, [](const Tensor& t) { return t * 0.5; },
                               vision::RandomErasing{}));
  std::vector<std::vector<float>> first;
  for (const int workers : {0, 1, 3}) {
    data::DataLoader loader(transformed, {.batch_size = 7, .shuffle = true, .num_workers = workers, .seed = 4});
    std::size_t k = 0;
    for (auto& [x, y] : loader) {
      if (workers == 0) first.push_back(x.to_vector<float>());
      else EXPECT_EQ(x.to_vector<float>(), first.at(k)) << workers;
      ++k;
    }
    EXPECT_EQ(k, 6U);
  }
  EXPECT_NE(first[0], first[1]);
}

TEST(ImageTransforms, ABatchMayShareItsNumbersOrNot) {
  const Tensor batch = ramp({1, 3, 8, 8}, float32).expand({4, 3, 8, 8});
  Random random(1);
  const Tensor together = vision::RandomRotation{.degrees = 90}(batch, random);
  EXPECT_EQ(together(0).to_vector<float>(), together(3).to_vector<float>());
  const Tensor apart = vision::PerImage(vision::RandomRotation{.degrees = 90})(batch, random);
  EXPECT_EQ(apart.shape(), batch.shape());
  EXPECT_NE(apart(0).to_vector<float>(), apart(3).to_vector<float>());
}

TEST(ImageTransforms, MixupAndCutmix) {
  const Tensor images = arange(4).to(float32).reshape({4, 1, 1, 1}).expand({4, 2, 10, 10}),
               labels = tensor({0, 1, 2, 2});
  double sum = 0, spread = 0;
  for (std::uint64_t k = 0; k < 300; ++k) {
    Random random(8, 0, k);
    const auto [x, y] = vision::mixup(images, labels, 3, random, 1);
    EXPECT_EQ(y.shape(), Shape({4, 3}));
    const double lambda = y(1, 1).item();
    EXPECT_NEAR(y(1, 0).item(), 1 - lambda, 1e-6);
    EXPECT_NEAR(y(0, 2).item(), 1 - lambda, 1e-6);  // the first with the last
    EXPECT_NEAR(y(3, 2).item(), 1, 1e-6);
    EXPECT_NEAR(x(1, 0, 3, 3).item(), lambda, 1e-6);
    EXPECT_NEAR(x(0, 1, 9, 9).item(), 3 * (1 - lambda), 1e-5);
    sum += lambda, spread += lambda * lambda;
  }
  EXPECT_NEAR(sum / 300, 0.5, 0.06);  // uniform for alpha = 1
  EXPECT_NEAR(spread / 300 - 0.25, 1.0 / 12, 0.03);
  for (std::uint64_t k = 0; k < 100; ++k) {
    Random random(9, 0, k);
    const auto [x, y] = vision::cutmix(images.to(uint8), labels, 3, random, 0.5);
    int other = 0;
    for (const auto byte : x(1, 0).to_vector<std::uint8_t>()) other += byte == 0 ? 1 : 0;
    EXPECT_NEAR(y(1, 0).item(), other / 100.0, 1e-6);
    EXPECT_NEAR(y(1, 1).item(), 1 - other / 100.0, 1e-6);
    EXPECT_EQ(x.dtype(), uint8);
  }
}

/// A copy of the generator gives a mask the numbers of its image.
TEST(ImageTransforms, ACopyOfTheGeneratorMovesAMaskAsItsImage) {
  const Tensor image = rand({3, 20, 30}), mask = image(0) > 0.5;
  const auto expect_together = [&](const auto& transform) {
    Random random(7), again = random;
    const Tensor moved = transform(image, random), moved_mask = transform(mask.to(uint8), again);
    EXPECT_TRUE((moved(0) > 0.5).to(uint8).equal(moved_mask));
    EXPECT_EQ(random.bits(), again.bits());
  };
  expect_together(vision::RandomAffine{.degrees = 30, .translate = {0.2, 0.2}, .scale = {0.8, 1.2}, .shear = 9});
  expect_together(vision::RandomRotation{.degrees = 40});
  expect_together(vision::RandomVerticalFlip{.p = 1});
  expect_together(data::RandomHorizontalFlip{.p = 1});
  expect_together(data::RandomCrop{.padding = 5});
}

TEST(ImageTransforms, RefuseWhatIsNoImage) {
  const Tensor x = zeros({3, 4, 4}), two = zeros({2, 4, 4}), labels = tensor({0, 1, 2});
  Random random(1);
  EXPECT_THROW(vision::resize(x, 0, 4), ValueError);
  EXPECT_THROW(vision::resize(x, 4, -1), ValueError);
  EXPECT_THROW(vision::resize(Tensor(), 4, 4), ValueError);
  EXPECT_THROW(vision::resize(zeros({4}), 4, 4), ShapeError);
  EXPECT_THROW(vision::resize(zeros({3, 0, 4}), 4, 4), ShapeError);
  EXPECT_THROW(vision::resize(x.to(float64), 4, 4), DTypeError);
  EXPECT_THROW(vision::resize(x.to("sim:0"), 4, 4), DeviceError);
  EXPECT_TRUE(has(error_of<ShapeError>([&] { (vision::CenterCrop{5, 4}(x)); }), "CenterCrop: the window of 5 x 4"));
  EXPECT_THROW(vision::adjust_hue(x, 0.6), ValueError);
  EXPECT_THROW(vision::adjust_hue(two, 0.1), ShapeError);
  EXPECT_THROW(vision::adjust_contrast(x, -1), ValueError);
  EXPECT_THROW(vision::to_grayscale(x, 2), ValueError);
  EXPECT_THROW(vision::affine(x, {.scale = 0}), ValueError);
  EXPECT_THROW(vision::affine(x, {.degrees = std::nan("")}), ValueError);
  EXPECT_THROW(vision::rotate(x.to(uint8), 3, Interpolation::nearest, 256), ValueError);
  EXPECT_THROW(vision::rotate(x, 3, Interpolation::bicubic), ValueError);
  static_assert(std::is_same_v<vision::Interpolation, minnow::Interpolation>, "interpolate() and affine() take one");
  EXPECT_THROW(vision::RandomVerticalFlip{1.5}(x, random), ValueError);
  EXPECT_THROW(vision::RandomErasing({.scale = {0.5, 0.2}})(x, random), ValueError);
  EXPECT_THROW(vision::RandomResizedCrop({.ratio = {0, 1}})(x, random), ValueError);
  EXPECT_THROW(vision::ColorJitter({.hue = 0.7})(x, random), ValueError);
  EXPECT_THROW((vision::NormalizeChannels{{0.5}, {0.5}}(x)), ValueError);
  for (const Tensor& y : {(x - 0.5) / 0.3, x + 255}) {  // normalized, or bytes as floats
    EXPECT_TRUE(has(error_of<ValueError>([&] { vision::ColorJitter{.brightness = 0.2}(y, random); }),
                    "ColorJitter: the values of a float32 image must be in [0, 1]"));
    EXPECT_THROW(vision::adjust_contrast(y, 0.5), ValueError);
    EXPECT_THROW(vision::adjust_saturation(y, 0.5), ValueError);
    EXPECT_THROW(vision::adjust_hue(y, 0.1), ValueError);
    EXPECT_THROW(vision::ConvertImageDtype{uint8}(y), ValueError);
  }
  EXPECT_THROW(vision::ConvertImageDtype{float64}(x), DTypeError);
  const Tensor batch = zeros({3, 1, 4, 4});
  EXPECT_THROW(vision::mixup(batch, labels, 2, random), IndexError);
  EXPECT_THROW(vision::mixup(batch, labels, 3, random, 0), ValueError);
  EXPECT_THROW(vision::mixup(batch, labels.to(float32), 3, random), DTypeError);
  EXPECT_THROW(vision::mixup(batch.to(uint8), labels, 3, random), DTypeError);
  EXPECT_THROW(vision::cutmix(batch, tensor({0, 1}), 3, random), ShapeError);
}

}  // namespace
}  // namespace minnow
