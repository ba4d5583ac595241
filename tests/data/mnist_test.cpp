#include <unistd.h>
#include <minnow/data/mnist.h>
#include <minnow/tensor/error.h>

#include <cstdlib>
#include <optional>

#include "data/files.h"
#include "support/thrown.h"

namespace minnow {
namespace {

using test::Bytes;
using test::error_of;
using test::gzip;
using test::has;
using test::idx;

class Mnist : public test::TempFolder {
 protected:
  std::string refused() {
    return error_of<FormatError>([&] { data::mnist("train", {.root = folder_}); });
  }
};

TEST_F(Mnist, FindsBothSpellingsPackedOrNot) {
  const Bytes images = idx(8, {2, 1, 2}, {0, 255, 51, 0}), labels = idx(8, {2}, {3, 9});
  for (const std::string dot : {"-", "."})
    for (const bool packed : {false, true}) {
      const std::string end = std::string("-ubyte") + (packed ? ".gz" : ""), at = "raw" + dot + end + "/";
      write(at + "train-images" + dot + "idx3" + end, packed ? gzip(images) : images);
      write(at + "train-labels" + dot + "idx1" + end, packed ? gzip(labels) : labels);
      const auto set = data::mnist("train", {.root = folder_ / at, .mean = 0.5, .std = 0.5});
      ASSERT_EQ(set.size(), 2);
      EXPECT_EQ(set.get(1).labels.item<std::int64_t>(), 9);
      EXPECT_EQ(set.get(0).images.shape(), Shape({1, 1, 2}));
      EXPECT_FLOAT_EQ(set.get(0).images.span<float>()[0], -1);
      EXPECT_FLOAT_EQ(set.get(0).images.span<float>()[1], 1);
      EXPECT_NEAR(set.get(1).images.span<float>()[0], -0.6, 1e-6);
    }
}

TEST_F(Mnist, ErrorsNameTheFault) {
  const std::string missing = error_of<IoError>([&] { data::mnist("test", {.root = folder_}); });
  EXPECT_TRUE(has(missing, "t10k-images-idx3-ubyte.gz") && has(missing, "t10k-images.idx3-ubyte")) << missing;
  EXPECT_TRUE(has(missing, "./run mnist") && has(missing, "mnist_test.cpp")) << missing;
  EXPECT_TRUE(has(error_of<ValueError>([&] { data::mnist("valid", {.root = folder_}); }), "\"test\""));
  const Bytes images = idx(8, {2, 1, 2}, {0, 255, 51, 0}), labels = idx(8, {2}, {3, 9});
  write("train-images-idx3-ubyte", images);
  EXPECT_TRUE(has(error_of<IoError>([&] { data::mnist("train", {.root = folder_}); }), "labels of the train"));
  write("train-labels-idx1-ubyte", images);
  EXPECT_TRUE(has(refused(), "does not hold labels"));
  write("train-labels-idx1-ubyte", idx(8, {3}, {1, 2, 3}));
  EXPECT_TRUE(has(refused(), "different numbers"));
  write("train-labels-idx1-ubyte", idx(8, {2}, {1, 10}));
  EXPECT_TRUE(has(refused(), "label 10 of sample 1"));
  write("train-labels-idx1-ubyte", labels);
  write("train-images-idx3-ubyte", labels);
  EXPECT_TRUE(has(refused(), "does not hold images"));
  write("train-images-idx3-ubyte", images);
  EXPECT_THROW(data::mnist("train", {.root = folder_, .mean = 0, .std = 0}), ValueError);
  const data::MnistOptions digits{.mean = 0};  // compiles without a warning about missing initializers
  const data::FashionMnistOptions clothes{.mean = 0};
  EXPECT_TRUE(digits.root.empty() && clothes.root.empty());
  EXPECT_EQ(data::mnist("train", {.root = folder_}).size(), 2);
}

TEST_F(Mnist, RefusesEmptyImages) {
  for (const std::vector<std::uint32_t>& sizes : {std::vector<std::uint32_t>{0, 28, 28}, {2, 0, 5}, {2, 5, 0}}) {
    write("train-images-idx3-ubyte", idx(8, sizes, {}));
    write("train-labels-idx1-ubyte", idx(8, {sizes[0]}, test::Bytes(sizes[0], 1)));
    const std::string what = refused();
    EXPECT_TRUE(has(what, "no images, or they have no pixels") && has(what, "train-images-idx3-ubyte")) << what;
  }
}

TEST_F(Mnist, UnreadablePathsAreListedWithTheirReason) {
  const auto refused_at = [](const std::filesystem::path& root) {
    return error_of<IoError>([&] { data::mnist("train", {.root = root}); });
  };
  EXPECT_TRUE(has(refused_at(folder_), "were not found")) << refused_at(folder_);
  std::filesystem::create_symlink("circle", folder_ / "circle");
  const std::string circle = refused_at(folder_ / "circle");
  EXPECT_TRUE(has(circle, "cannot be read") && has(circle, "-ubyte: Too many levels of symbolic links")) << circle;
  EXPECT_FALSE(has(circle, "not found")) << circle;

  std::filesystem::create_symlink("nothing", folder_ / "train-images.idx3-ubyte");
  const std::string dangling = refused_at(folder_);
  EXPECT_TRUE(has(dangling, "train-images.idx3-ubyte: a link to a file that is not there")) << dangling;

  std::filesystem::permissions(folder_, std::filesystem::perms::none);
  const bool was_root = geteuid() == 0;  // root can read everything: becomes another user for a while
  ASSERT_TRUE(!was_root || seteuid(65534) == 0);
  const std::string closed = refused_at(folder_);
  ASSERT_TRUE(!was_root || seteuid(0) == 0);
  std::filesystem::permissions(folder_, std::filesystem::perms::owner_all);
  EXPECT_TRUE(has(closed, "cannot be read") && has(closed, "train-images-idx3-ubyte: Permission denied")) << closed;
}

TEST_F(Mnist, TheDefaultFolderIsThatOfTheUser) {
  const char* const names[] = {"MINNOW_DATA", "XDG_CACHE_HOME", "HOME"};
  std::vector<std::pair<const char*, std::optional<std::string>>> kept;
  for (const char* name : names) {
    const char* value = std::getenv(name);
    kept.emplace_back(name, value ? std::optional<std::string>(value) : std::nullopt);
    ::unsetenv(name);
  }
  using Folders = std::vector<std::string>;
  EXPECT_EQ(data::mnist_folders(), Folders());
  const std::string homeless = error_of<IoError>([] { data::mnist("train"); });
  EXPECT_TRUE(has(homeless, "neither HOME nor XDG_CACHE_HOME")) << homeless;
  ::setenv("XDG_CACHE_HOME", "relative", 1);
  EXPECT_EQ(data::mnist_folders(), Folders());
  ::setenv("HOME", "/home/me", 1);
  EXPECT_EQ(data::mnist_folders(), Folders{"/home/me/.cache/minnow/mnist"});
  ::setenv("XDG_CACHE_HOME", "/cache", 1);
  EXPECT_EQ(data::mnist_folders(), Folders{"/cache/minnow/mnist"});
  for (const auto& [name, value] : kept)
    if (value) ::setenv(name, value->c_str(), 1);
    else ::unsetenv(name);
}

TEST_F(Mnist, CollectionsDoNotShareAFolder) {
  write("train-images-idx3-ubyte", idx(8, {1, 1, 1}, {0}));
  write("train-labels-idx1-ubyte", idx(8, {1}, {0}));
  const char* before = std::getenv("MINNOW_DATA");
  const std::string kept = before ? before : "";
  ::setenv("MINNOW_DATA", std::string(folder_).c_str(), 1);
  EXPECT_EQ(data::mnist("train").size(), 1);
  EXPECT_THROW(data::fashion_mnist("train"), IoError);
  write("fashion-mnist/train-images-idx3-ubyte", idx(8, {2, 1, 1}, {0, 1}));
  write("fashion-mnist/train-labels-idx1-ubyte", idx(8, {2}, {0, 1}));
  EXPECT_EQ(data::fashion_mnist("train").size(), 2);
  if (before) ::setenv("MINNOW_DATA", kept.c_str(), 1);
  else ::unsetenv("MINNOW_DATA");
}

TEST(RealMnist, HasItsKnownContent) {
  if (!std::getenv("MINNOW_DATA")) GTEST_SKIP() << "MINNOW_DATA does not name a folder with MNIST";
  const auto train = data::mnist("train"), test = data::mnist("test");
  EXPECT_EQ(train.size(), 60000);
  EXPECT_EQ(test.size(), 10000);
  EXPECT_EQ(train.images().shape(), Shape({60000, 1, 28, 28}));
  std::int64_t sum = 0;
  for (const auto byte : train.images().span<std::uint8_t>()) sum += byte;
  EXPECT_NEAR(static_cast<double>(sum) / 255 / 60000 / 784, 0.1307, 5e-5);
  const auto labels = train.labels().span<std::int64_t>();
  EXPECT_EQ(labels[0], 5);
  EXPECT_EQ(labels[1], 0);
  EXPECT_EQ(test.labels().span<std::int64_t>()[0], 7);
}

}  // namespace
}  // namespace minnow
