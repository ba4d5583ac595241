#include <unistd.h>
#include <minnow/data/loader.h>
#include <minnow/data/progress.h>
#include <minnow/data/subset.h>
#include <minnow/data/synthetic_digits.h>
#include <minnow/data/tensor_dataset.h>
#include <minnow/data/transform.h>
#include <minnow/tensor/create.h>
#include <minnow/tensor/internal.h>
#include <minnow/tensor/sim/options.h>

#include <limits>
#include <set>
#include <sstream>

#include "data/files.h"
#include "support/thrown.h"

namespace minnow {
namespace {

using test::has;

Tensor bytes(const Shape& shape) {
  Tensor t(std::make_shared<Storage>(cpu_allocator(), Device(), static_cast<std::size_t>(shape.numel())), DType::uint8,
           shape, contiguous_strides(shape));
  for (std::int64_t i = 0; i < t.numel(); ++i) t.data<std::uint8_t>()[i] = static_cast<std::uint8_t>(i);
  return t;
}

TEST(Datasets, SplitsCoverEverythingOnce) {
  const data::TensorDataset hundred(bytes({100}));
  const auto parts = data::random_split(hundred, {70, 30}, 1);
  std::set<int> seen;
  for (const auto& part : parts)
    for (auto& [x] : data::DataLoader(part, {.batch_size = 7}))
      for (const auto v : x.span<std::uint8_t>()) seen.insert(v);
  EXPECT_EQ(seen.size(), 100U);
  EXPECT_EQ(parts[0].indices(), data::random_split(hundred, {70, 30}, 1)[0].indices());
  EXPECT_NE(parts[0].indices(), data::random_split(hundred, {70, 30}, 2)[0].indices());
  EXPECT_THROW(data::random_split(hundred, {70, 31}), ValueError);
  EXPECT_THROW(data::random_split(hundred, {70, 29}), ValueError);
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
  EXPECT_THROW(data::random_split(hundred, {70, kMost}), ValueError);
  EXPECT_THROW(data::random_split(hundred, {70, kMost, kMost, 32}), ValueError);  // 100 modulo 2^64
  EXPECT_THROW(data::random_split(hundred, {101, -1}), ValueError);
  const data::Subset by_tensor(hundred, tensor({7, 3, 3}));
  EXPECT_EQ(by_tensor.indices(), (std::vector<std::int64_t>{7, 3, 3}));
  EXPECT_EQ(by_tensor.get(0)[0].item(), 7);
  EXPECT_THROW(data::Subset(hundred, tensor({100})), IndexError);
  EXPECT_THROW(data::Subset(hundred, tensor({1.0F})), DTypeError);
  EXPECT_THROW(data::Subset(hundred, Tensor()), DTypeError);
  EXPECT_THROW(data::Subset(hundred, tensor({{1}})), ShapeError);
  EXPECT_THROW(data::Subset(hundred, {100}), IndexError);
  EXPECT_THROW(parts[0].get(70), IndexError);
  const data::ConcatDataset two(hundred, hundred);
  EXPECT_EQ(two.get(99)[0].item<int>(), 99);
  EXPECT_EQ(two.get(100)[0].item<int>(), 0);
  EXPECT_EQ(two.get(103)[0].item<int>(), 3);
  EXPECT_THROW(two.get(200), IndexError);
}

TEST(Datasets, AcceptViewsAndTensorsThatAreBeingCopied) {
  const Tensor whole = bytes({6, 4, 5}), turned = whole.transpose(1, 2), part = whole(slice(2, 5));
  for (const Tensor& view : {turned, part, part.transpose(1, 2)}) {
    const data::TensorDataset set(view);
    const data::ImageDataset images(view, bytes({view.size(0)}), 10, {.mean = 0, .std = 1.0 / 255});
    for (auto& [x] : data::DataLoader(set, {.batch_size = 6}))
      EXPECT_EQ(x.to_vector<double>(), view.to_vector<double>());
    for (auto& [x, y] : data::DataLoader(images, {.batch_size = 6}))
      for (std::size_t i = 0; i < view.to_vector<double>().size(); ++i)
        EXPECT_NEAR(x.to_vector<double>()[i], view.to_vector<double>()[i], 1e-4) << y.numel();
    for (std::int64_t i = 0; i < view.size(0); ++i)
      EXPECT_EQ(set.get(i)[0].to_vector<double>(), view(i).to_vector<double>());
  }
  const sim::ScopedOptions options({.bandwidth = 10e6});
  const Tensor host = ones({100, 1000}).to("sim:0").to("cpu", {.non_blocking = true});
  const data::TensorDataset late(host);
  for (auto& [x] : data::DataLoader(late, {.batch_size = 100, .num_workers = 0}))
    for (const float v : x.span<float>()) ASSERT_EQ(v, 1);
}

TEST(Datasets, HeldBatchIsNotOverwritten) {
  data::BatchBuffer buffer(cpu_allocator(), false);
  const Tensor held = buffer.make(0, float32, {4});
  EXPECT_NE(buffer.make(0, float32, {4}).raw_data(), held.raw_data());
  const void* free = buffer.make(0, float32, {4}).raw_data();
  EXPECT_EQ(buffer.make(0, float32, {3}).raw_data(), free);
}

TEST(Datasets, RefuseBadInputs) {
  const data::TensorDataset five(bytes({2}), bytes({2, 3}), bytes({2}), bytes({2, 1}), bytes({4})(slice(0, 2)));
  static_assert(std::is_same_v<decltype(five.get(1)), std::array<Tensor, 5>>);
  EXPECT_EQ(five.get(1)[1].to_vector<int>(), (std::vector<int>{3, 4, 5}));
  EXPECT_TRUE(
      has(test::error_of<ShapeError>([] { data::TensorDataset(bytes({2}), bytes({2}), bytes({2}), bytes({3})); }),
          "dataset_test.cpp"));
  EXPECT_THROW(data::TensorDataset{Tensor()}, ValueError);
  EXPECT_THROW(data::TensorDataset(bytes({})), ShapeError);
  EXPECT_THROW(data::TensorDataset(bytes({2}), bytes({3})), ShapeError);
  EXPECT_THROW(data::ImageDataset(bytes({2, 3}), bytes({2}), 10), ShapeError);
  EXPECT_THROW(data::ImageDataset(bytes({3, 2, 2}), bytes({3}), 2), IndexError);
  EXPECT_THROW(data::ImageDataset(bytes({3, 2, 2}), bytes({2}), 10), ShapeError);
  EXPECT_THROW(data::SyntheticDigits(-1), ValueError);
  EXPECT_THROW(data::SyntheticDigits(1, {.first = -1}), ValueError);
  EXPECT_THROW(data::SyntheticDigits(1, {.std = 0}), ValueError);
  data::Random random(1);
  EXPECT_THROW(data::RandomShift{.pixels = -1}(bytes({2, 2}), random), ValueError);
  EXPECT_THROW((data::RandomShift{.pixels = 1, .fill = 300}(bytes({2, 2}), random)), ValueError);
  EXPECT_THROW(data::RandomHorizontalFlip{.p = 2}(bytes({2, 2}), random), ValueError);
  EXPECT_THROW(data::RandomCrop{}(bytes({2}), random), ShapeError);
  EXPECT_THROW(data::Normalize{}(bytes({2, 2})), DTypeError);
}

TEST(Samplers, DependOnSeedAndEpochAlone) {
  const data::RandomSampler sampler(50);
  EXPECT_EQ(sampler.indices(1, 2), sampler.indices(1, 2));
  EXPECT_NE(sampler.indices(1, 2), sampler.indices(1, 3));
  const auto order = sampler.indices(1, 2);
  EXPECT_EQ(std::set<std::int64_t>(order.begin(), order.end()).size(), 50U);
  const data::WeightedRandomSampler weighted({0, 1, 3, 0}, 40000);
  int threes = 0;
  for (const auto i : weighted.indices(1, 0)) {
    ASSERT_TRUE(i == 1 || i == 2);
    threes += i == 2 ? 1 : 0;
  }
  EXPECT_NEAR(threes, 30000, 500);
  const auto once = data::WeightedRandomSampler({1, 2, 0, 3}, 3, false).indices(7, 0);
  EXPECT_EQ(std::set<std::int64_t>(once.begin(), once.end()), (std::set<std::int64_t>{0, 1, 3}));
  EXPECT_THROW(data::RandomSampler(-1), ValueError);
  EXPECT_THROW(data::WeightedRandomSampler({1, -1}, 1), ValueError);
  EXPECT_THROW(data::WeightedRandomSampler({0, 0}, 1), ValueError);
  EXPECT_THROW(data::WeightedRandomSampler({1, 0}, 2, false), ValueError);
}

TEST(SyntheticDigits, DependOnSeedAndIndexAlone) {
  const data::SyntheticDigits all(600), tail(100, {.first = 500});
  const auto a = all.images().span<std::uint8_t>().subspan(500 * 784), b = tail.images().span<std::uint8_t>();
  EXPECT_TRUE(std::equal(a.begin(), a.end(), b.begin(), b.end()));
  const auto other = data::SyntheticDigits(100, {.seed = 1, .first = 500}).images().span<std::uint8_t>();
  EXPECT_FALSE(std::equal(b.begin(), b.end(), other.begin(), other.end()));
}

TEST(Progress, ShowsLinesAndValues) {
  std::ostringstream out;
  data::DataLoader loader(data::TensorDataset(bytes({10})), {.batch_size = 4});
  auto bar = data::progress(loader, {.label = "train", .out = &out, .terminal = false, .interval = 0});
  for (auto& [x] : bar) bar.show("loss", 0.25 * static_cast<double>(x.numel()));
  EXPECT_TRUE(has(out.str(), "train  1/3  loss 1.0000")) << out.str();
  EXPECT_TRUE(has(out.str(), "train  3/3  loss 0.5000")) << out.str();
  EXPECT_FALSE(has(out.str(), "\r"));
  EXPECT_THROW(bar.show("loss", Tensor()), ValueError);
  EXPECT_THROW(bar.show("loss", bytes({2})), ShapeError);
  EXPECT_THROW(data::progress(loader, {.interval = -1.0}), ValueError);
}

}  // namespace
}  // namespace minnow
