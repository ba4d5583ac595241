#include <numbers>
#include <minnow/minnow.h>
#include <minnow/vision/vision.h>
#include "data/files.h"
#include "support/thrown.h"

namespace minnow {
namespace {

using test::Bytes;
using test::error_of;
using test::has;

constexpr std::size_t kPixels = 3072;

class Cifar : public test::TempFolder {
 protected:
  /// Images whose bytes are 10 + i, 20 + i, 30 + i by channel, after their labels.
  static Bytes images(std::initializer_list<Bytes> labels) {
    Bytes out;
    int i = 0;
    for (const Bytes& label : labels) {
      out.insert(out.end(), label.begin(), label.end());
      for (int c = 1; c <= 3; ++c) out.insert(out.end(), kPixels / 3, static_cast<std::uint8_t>(10 * c + i));
      ++i;
    }
    return out;
  }
};

TEST_F(Cifar, ReadsAllBatches) {
  for (int k = 1; k <= 5; ++k)
    write("cifar-10-batches-bin/data_batch_" + std::to_string(k) + ".bin",
          images({{static_cast<std::uint8_t>(k)}, {9}}));
  write("cifar-10-batches-bin/test_batch.bin", images({{4}}));
  const auto train = vision::cifar10("train", {.root = folder_, .means = {0, 0.5, 0}, .stds = {1, 1, 0.5}});
  ASSERT_EQ(train.size(), 10);
  EXPECT_EQ(train.labels().to_vector<std::int64_t>(), (std::vector<std::int64_t>{1, 9, 2, 9, 3, 9, 4, 9, 5, 9}));
  const Tensor image = train.get(3).images;
  EXPECT_EQ(image.shape(), Shape({3, 32, 32}));
  EXPECT_NEAR(image(0, 0, 0).item(), 11 / 255.0, 1e-6);
  EXPECT_NEAR(image(1, 31, 31).item(), 21 / 255.0 - 0.5, 1e-6);
  EXPECT_NEAR(image(2, 5, 0).item(), 31 / 255.0 / 0.5, 1e-6);
  for (auto& [x, y] : data::DataLoader(train, {.batch_size = 10}))
    EXPECT_EQ(x(3).to_vector<float>(), image.to_vector<float>());
  const auto test = vision::cifar10("test", {.root = folder_ / "cifar-10-batches-bin"});
  EXPECT_EQ(test.size(), 1);
  EXPECT_NEAR(test.get(0).images(1, 0, 0).item(), (20 / 255.0 - 0.4822) / 0.2435, 1e-5);
}

TEST_F(Cifar, HundredHasTwoLabels) {
  write("cifar-100-binary/train.bin", images({{19, 99}, {3, 0}}));
  EXPECT_EQ(vision::cifar100("train", {.root = folder_}).labels().to_vector<std::int64_t>(),
            (std::vector<std::int64_t>{99, 0}));
  const auto coarse = vision::cifar100("train", {.root = folder_, .coarse = true});
  EXPECT_EQ(coarse.labels().to_vector<std::int64_t>(), (std::vector<std::int64_t>{19, 3}));
  EXPECT_EQ(coarse.classes(), 20);
}

TEST_F(Cifar, ErrorsNameTheFault) {
  const auto refused = [&](const Bytes& content) {
    write("test_batch.bin", content);
    const std::string text = error_of<FormatError>([&] { vision::cifar10("test", {.root = folder_}); });
    EXPECT_TRUE(has(text, "cifar10: ") && has(text, "test_batch.bin")) << text;
    return text;
  };
  const std::string missing = error_of<IoError>([&] { vision::cifar10("train", {.root = folder_}); });
  EXPECT_TRUE(has(missing, "data_batch_1.bin") && has(missing, "cs.toronto.edu") && has(missing, "cifar_test.cpp"))
      << missing;
  EXPECT_THROW(vision::cifar10("valid", {.root = folder_}), ValueError);
  EXPECT_THROW(vision::cifar10("test", {.coarse = true}), ValueError);
  Bytes good = images({{1}, {2}});
  EXPECT_TRUE(has(refused({}), "has 0 bytes"));
  EXPECT_TRUE(has(refused(Bytes(good.begin(), good.end() - 1)), "has 6145 bytes"));
  EXPECT_TRUE(has(refused(images({{1, 1}})), "has 3074 bytes"));  // CIFAR-100
  good.push_back(1);
  EXPECT_TRUE(has(refused(good), "has 6147 bytes"));
  EXPECT_TRUE(has(refused(Bytes{1}), "has 1 bytes"));
  const std::string page = "<!DOCTYPE html>";
  EXPECT_TRUE(has(refused(Bytes(page.begin(), page.end())), "has 15 bytes"));
  EXPECT_TRUE(has(refused(images({{1}, {10}})), "label 10 of image 1"));
  EXPECT_TRUE(has(refused(images({{255}})), "label 255 of image 0"));
  write("cifar100/test.bin", images({{20, 5}}));
  EXPECT_TRUE(
      has(error_of<FormatError>([&] { vision::cifar100("test", {.root = folder_, .coarse = true}); }), "label 20"));
  write("cifar100/test.bin", images({{0, 100}}));
  EXPECT_TRUE(has(error_of<FormatError>([&] { vision::cifar100("test", {.root = folder_}); }), "label 100"));
  write("test_batch.bin", images({{1}}));
  EXPECT_THROW(vision::cifar10("test", {.root = folder_, .means = {1}}), ValueError);
  EXPECT_THROW(vision::cifar10("test", {.root = folder_, .stds = {1, 1, 0}}), ValueError);
}

TEST(SyntheticShapes, DependOnTheirNumberAlone) {
  const vision::SyntheticShapes all(60), part(20, {.first = 40});
  EXPECT_EQ(all.get(45).images.to_vector<float>(), part.get(5).images.to_vector<float>());
  EXPECT_EQ(all.get(45).labels.item<std::int64_t>(), part.get(5).labels.item<std::int64_t>());
  EXPECT_EQ(all.images().shape(), Shape({60, 3, 32, 32}));
  EXPECT_NE(all.get(0).images.to_vector<float>(),
            vision::SyntheticShapes(1, {.seed = 1}).get(0).images.to_vector<float>());
  EXPECT_THROW(vision::SyntheticShapes(-1), ValueError);
}

/// The share of its bounding box that a shape fills.
TEST(SyntheticShapes, FillTheirBoxes) {
  const vision::SyntheticShapes set(400);
  double filled[10] = {}, count[10] = {};
  for (std::int64_t i = 0; i < set.size(); ++i) {
    const Tensor image = set.images()[i].to(float32);
    const Tensor differs = amax(abs(image - image(slice(), slice(0, 1), slice(0, 1))), 0) > 50;  // than a corner does
    const Tensor rows = any(differs, 1), columns = any(differs, 0);
    const double box = static_cast<double>(rows.sum().item<std::int64_t>() * columns.sum().item<std::int64_t>());
    const std::int64_t label = set.get(i).labels.item<std::int64_t>();
    filled[label] += static_cast<double>(differs.sum().item<std::int64_t>()) / box;
    ++count[label];
  }
  for (int label = 0; label < 10; ++label) EXPECT_GT(count[label], 20) << label;
  const auto share = [&](int label) { return filled[label] / count[label]; };
  EXPECT_NEAR(share(0), std::numbers::pi / 4, 0.06);  // a disc
  EXPECT_NEAR(share(2), 1.0, 0.03);                   // a square
  EXPECT_NEAR(share(4), 0.5, 0.06);                   // a triangle
  EXPECT_LT(share(1), share(0));                      // a ring
  EXPECT_LT(share(3), share(2));                      // a frame
}

}  // namespace
}  // namespace minnow
