#include <minnow/data/loader.h>
#include <minnow/data/subset.h>
#include <minnow/data/synthetic_digits.h>
#include <minnow/data/tensor_dataset.h>
#include <minnow/data/transform.h>
#include <minnow/ops/elementwise/arithmetic.h>
#include <minnow/ops/reductions/reduce.h>
#include <minnow/tensor/create.h>
#include <minnow/tensor/internal.h>
#include <minnow/tensor/profile/transfer_report.h>
#include <minnow/tensor/random.h>

#include <cstring>
#include <limits>
#include <set>
#include <unistd.h>

#include "data/files.h"
#include "support/devices.h"
#include "support/thrown.h"

namespace minnow {
namespace {

using data::DataLoader;
using data::DataLoaderOptions;
using test::error_of;
using test::has;

Tensor counting(std::int64_t n, std::int64_t width = 1) {
  const Shape shape{n, width};
  Tensor t(std::make_shared<Storage>(cpu_allocator(), Device(), static_cast<std::size_t>(n * width * 8)), DType::int64,
           shape, contiguous_strides(shape));
  for (std::int64_t i = 0; i < n * width; ++i) t.data<std::int64_t>()[i] = i / width;
  return t;
}

/// A dataset that is read sample by sample; a sample is a number and a tensor, and one sample may fail.
struct Slow {
  struct Sample {
    Tensor x;
    std::int64_t i;
  };
  std::int64_t n = 10, bad = -1;
  std::int64_t size() const { return n; }
  Sample get(std::int64_t i) const {
    if (i == bad) throw ShapeError("no such thing");
    return {counting(1, 3), i};
  }
};

/// The bytes of all batches of some epochs.
template <class D> std::vector<std::string> bytes_of(const D& dataset, DataLoaderOptions options, int epochs = 2) {
  DataLoader<D> loader(dataset, options);
  std::vector<std::string> all;
  for (int e = 0; e < epochs; ++e)
    for (auto& [images, labels] : loader)
      for (const Tensor& t : {images.cpu(), labels.cpu()}) {
        t.storage()->wait_ready();
        all.emplace_back(static_cast<const char*>(t.raw_data()), static_cast<std::size_t>(t.nbytes()));
      }
  return all;
}

TEST(Loader, TakesABatchSizeInsteadOfOptions) {
  const data::TensorDataset rows(counting(10, 3));
  data::DataLoader loader(rows, 4), same(rows, std::size_t{4});
  EXPECT_EQ(loader.size(), 3);
  EXPECT_EQ(same.options().batch_size, 4);
  EXPECT_THROW(data::DataLoader(rows, 0), ValueError);
}

class LoaderOnDevice : public test::DeviceTest {};
INSTANTIATE_TEST_SUITE_P(Devices, LoaderOnDevice, test::all_devices(), test::device_test_name);

TEST_P(LoaderOnDevice, EqualBatchesForAnyNumberOfWorkers) {
  const data::SyntheticDigits digits(500);
  const auto augmented = data::transform(digits, data::RandomShift{.pixels = 3}, data::RandomHorizontalFlip{});
  const auto plain = bytes_of(digits, {.batch_size = 32, .shuffle = true, .num_workers = 0, .seed = 3});
  const auto shifted = bytes_of(augmented, {.batch_size = 32, .shuffle = true, .num_workers = 0, .seed = 3});
  ASSERT_EQ(plain.size(), 64U);
  EXPECT_NE(plain, shifted);
  EXPECT_NE(plain[0], plain[32]);  // another order in the second epoch
  EXPECT_NE(plain, bytes_of(digits, {.batch_size = 32, .shuffle = true, .num_workers = 0, .seed = 4}));
  const auto in_order = bytes_of(augmented, {.batch_size = 32, .num_workers = 0, .seed = 3});
  EXPECT_NE(in_order[0], in_order[32]);  // another augmentation in the second epoch
  EXPECT_NE(in_order, bytes_of(augmented, {.batch_size = 32, .num_workers = 0, .seed = 4}));
  for (const int workers : {0, 1, 2, 4})
    for (const int prefetch : {data::kAuto, 0, 1, 3}) {
      const DataLoaderOptions options{.batch_size = 32,
                                      .shuffle = true,
                                      .num_workers = workers,
                                      .prefetch = prefetch,
                                      .device = device(),
                                      .seed = 3};
      EXPECT_EQ(plain, bytes_of(digits, options)) << workers;
      EXPECT_EQ(shifted, bytes_of(augmented, options)) << workers;
    }
}

/// A dataset without its get_batch(): it is read sample by sample.
template <class D> struct OneByOne {
  D dataset;
  std::int64_t size() const { return dataset.size(); }
  auto get(std::int64_t i) const { return dataset.get(i); }
};

TEST(Loader, GetBatchAndGetGiveEqualBatches) {
  const data::SyntheticDigits digits(150);
  const auto subset = data::random_split(digits, {100, 50}, 1)[0];
  const data::TensorDataset rows(counting(100, 3), counting(100));
  const data::ImageDataset large((arange(5 * 40 * 31) % 251).reshape({5, 40, 31}).to(uint8), arange(5), 5);
  static_assert(data::BatchDataset<decltype(digits)> && data::BatchDataset<decltype(subset)>);
  static_assert(!data::BatchDataset<OneByOne<data::SyntheticDigits>>);
  for (const int workers : {0, 1, 3}) {
    const DataLoaderOptions options{.batch_size = 16, .shuffle = true, .num_workers = workers, .seed = 3};
    EXPECT_EQ(bytes_of(digits, options), bytes_of(OneByOne<data::SyntheticDigits>{digits}, options));
    EXPECT_EQ(bytes_of(subset, options), bytes_of(OneByOne<data::Subset<data::SyntheticDigits>>{subset}, options));
    EXPECT_EQ(bytes_of(rows, options), bytes_of(OneByOne<data::TensorDataset<2>>{rows}, options));
    EXPECT_EQ(bytes_of(large, options), bytes_of(OneByOne<data::ImageDataset>{large}, options));
  }
}

TEST(Loader, BatchesOfEveryKindOfSample) {
  int rows = 0;
  for (auto& [x, i] : DataLoader(Slow{}, {.batch_size = 4})) {
    EXPECT_EQ(x.dim(), 3);
    EXPECT_EQ(i.dtype(), DType::int64);
    EXPECT_EQ(i.span<std::int64_t>()[0], rows);
    rows += static_cast<int>(x.shape()[0]);
  }
  EXPECT_EQ(rows, 10);
  DataLoader one(data::TensorDataset(counting(5, 2)), {.batch_size = 8});
  EXPECT_EQ(one.size(), 1);
  for (auto& [x] : one) EXPECT_EQ(x.shape(), Shape({5, 2}));
}

TEST(Loader, SizesAndDropLast) {
  for (const int workers : {0, 2}) {
    const data::TensorDataset ten(counting(10));
    const auto batches = [&](std::int64_t size, bool drop) {
      DataLoader loader(ten, {.batch_size = size, .num_workers = workers, .drop_last = drop});
      int n = 0;
      for (auto& [x] : loader) n += x.defined() ? 1 : 0;
      EXPECT_EQ(n, loader.size());
      return n;
    };
    EXPECT_EQ(batches(4, false), 3);
    EXPECT_EQ(batches(4, true), 2);
    EXPECT_EQ(batches(20, false), 1);
    EXPECT_EQ(batches(20, true), 0);
    for (auto& [x] : DataLoader(data::TensorDataset(counting(0)), {.num_workers = workers})) FAIL() << x.numel();
  }
}

TEST(Loader, TheLargestBatchSizeIsTheWholeDataset) {
  for (const int workers : {0, 1}) {
    DataLoader loader(data::TensorDataset(ones({5, 2})),
                      {.batch_size = std::numeric_limits<std::int64_t>::max(), .num_workers = workers});
    EXPECT_EQ(loader.size(), 1);
    int batches = 0;
    for (auto& batch : loader) {
      EXPECT_EQ(batch[0].size(0), 5);
      ++batches;
    }
    EXPECT_EQ(batches, 1);
  }
}

TEST_P(LoaderOnDevice, KeptBatchesAreNotOverwritten) {
  for (const int workers : {0, 2}) {
    DataLoader loader(data::TensorDataset(counting(200)),
                      {.batch_size = 2, .num_workers = workers, .device = device()});
    std::vector<Tensor> kept;
    for (int e = 0; e < 2; ++e)
      for (auto& [x] : loader) kept.push_back(x);
    for (std::size_t i = 0; i < kept.size(); ++i)
      ASSERT_EQ(kept[i].cpu().span<std::int64_t>()[1], static_cast<std::int64_t>(2 * (i % 100) + 1));
  }
}

TEST_P(LoaderOnDevice, WorkOnABatchIsDoneBeforeItsMemoryIsUsedAgain) {
  for (const int workers : {0, 2}) {
    DataLoader loader(data::TensorDataset(counting(400, 50)),
                      {.batch_size = 4, .num_workers = workers, .device = device()});
    std::vector<Tensor> sums;
    for (auto& [x] : loader) sums.push_back(sum(x));  // without synchronization
    ASSERT_EQ(sums.size(), 100U);
    for (std::size_t i = 0; i < sums.size(); ++i)
      ASSERT_EQ(sums[i].item(), static_cast<double>(50 * (16 * i + 6))) << "batch " << i;
  }
}

TEST_P(LoaderOnDevice, BatchesAreReadyOnTheStreamOfTheLoop) {
  const Stream side(device());
  DataLoader loader(data::TensorDataset(counting(40, 50)), {.batch_size = 4, .num_workers = 1, .device = device()});
  std::vector<Tensor> sums;
  {
    const StreamGuard guard(side);
    for (auto& [x] : loader) sums.push_back(sum(x));
    for (std::size_t i = 0; i < sums.size(); ++i)
      ASSERT_EQ(sums[i].item(), static_cast<double>(50 * (16 * i + 6))) << "batch " << i;
  }
}

TEST(Loader, MemoryIsReused) {
  DataLoader loader(data::TensorDataset(counting(2000)), {.batch_size = 2, .num_workers = 0});
  const std::int64_t before = live_storages();
  for (int e = 0; e < 3; ++e)
    for (auto& [x] : loader) ASSERT_EQ(x.numel(), 2);
  EXPECT_LE(live_storages(), before + 2);
  EXPECT_LE(loader.stats().buffers, 2);
  EXPECT_EQ(loader.stats().batches, 3000);
  EXPECT_EQ(loader.stats().samples, 6000);
}

TEST_P(LoaderOnDevice, LeavingEarlyAndNestingEndCleanly) {
  const std::int64_t before = live_storages();
  for (const int workers : {0, 1, 3}) {
    DataLoader outer(Slow{.n = 100}, {.batch_size = 2, .num_workers = workers, .device = device()});
    DataLoader inner(Slow{.n = 7}, {.batch_size = 2, .num_workers = workers, .device = device()});
    int n = 0;
    for (auto& [x, i] : outer) {
      for (auto& [y, j] : inner) n += y.defined() && j.defined() && x.defined() && i.defined() ? 1 : 0;
      if (n >= 20) break;
    }
    EXPECT_EQ(n, 20);
    EXPECT_EQ(outer.epoch(), 0);
    for (auto& [x, i] : outer) EXPECT_EQ((x.shape()[0] + i.numel()), 4);
    EXPECT_EQ(outer.epoch(), 1);
    synchronize(device());
  }
  EXPECT_EQ(live_storages(), before);
}

TEST_P(LoaderOnDevice, FailingSampleIsNamedAndTheLoaderStaysUsable) {
  for (const int workers : {0, 1, 2}) {
    DataLoader loader(Slow{.n = 20, .bad = 13}, {.batch_size = 4, .num_workers = workers, .device = device()});
    for (int e = 0; e < 2; ++e) {
      int seen = 0;
      try {
        for (auto& [x, i] : loader) seen += static_cast<int>(x.shape()[0] * i.numel());
        FAIL() << "no error";
      } catch (const data::SampleError& error) {
        EXPECT_EQ(error.sample(), 13);
        EXPECT_TRUE(has(error.what(), "no such thing") && has(error.what(), "loader_test.cpp")) << error.what();
        EXPECT_THROW(std::rethrow_if_nested(error), ShapeError);
      }
      EXPECT_EQ(seen, 48);  // three batches before it
    }
  }
}

TEST(Loader, ContinuesFromAPosition) {
  const data::SyntheticDigits digits(100);
  const DataLoaderOptions options{.batch_size = 10, .shuffle = true, .num_workers = 2, .seed = 5};
  const auto all = bytes_of(digits, options, 2);
  DataLoader first(digits, options);
  int n = 0;
  for (auto& [x, y] : first)
    if (x.defined() && y.defined() && ++n == 4) break;
  EXPECT_EQ(first.position(), (data::LoaderPosition{0, 4}));
  DataLoader second(digits, options);
  second.set_position(first.position());
  EXPECT_EQ(second.position(), first.position());
  std::size_t at = 8;
  for (int e = 0; e < 2; ++e)
    for (auto& [x, y] : second) {
      ASSERT_EQ(0, std::memcmp(all[at].data(), x.raw_data(), all[at].size()));
      at += static_cast<std::size_t>(2 * y.dim());
    }
  EXPECT_EQ(at, all.size());
  EXPECT_EQ(second.position(), (data::LoaderPosition{2, 0}));
  second.set_epoch(1);
  for (auto& [x, y] : second) {
    EXPECT_EQ(0, std::memcmp(all[20].data(), x.raw_data(), all[20].size()));
    EXPECT_EQ(y.dim(), 1);
    break;
  }
}

/// A dataset that counts which samples were read.
struct Counted {
  std::shared_ptr<std::vector<std::atomic<int>>> reads = std::make_shared<std::vector<std::atomic<int>>>(23);
  std::int64_t size() const { return 23; }
  Tensor get(std::int64_t i, data::Random& random) const {
    ++(*reads)[static_cast<std::size_t>(i)];
    return tensor({static_cast<double>(i), random.uniform()});
  }
};

std::vector<std::vector<double>> batches_of_rest(data::DataLoader<Counted>& loader) {
  std::vector<std::vector<double>> list;
  for (auto& x : loader) list.push_back(x.reshape({-1}).to_vector<double>());
  return list;
}

// Another seed and worker count than those of the loader that was saved, at each position.
TEST(Loader, AStateContinuesWithTheBatchesThatWereLeft) {
  constexpr std::uint64_t kSeed = 0xfedcba9876543210;  // more bits than a double has
  const DataLoaderOptions options{.batch_size = 4, .shuffle = true, .num_workers = 0, .seed = kSeed};
  for (std::int64_t cut = 1; cut <= 6; ++cut) {
    DataLoader first(Counted(), options);
    first.set_epoch(3);
    std::int64_t n = 0;
    StateDict state;
    std::vector<std::vector<double>> left;
    for (auto& x : first) {
      if (n++ >= cut) left.push_back(x.reshape({-1}).to_vector<double>());
      if (n == cut) state = first.state_dict();
    }
    for (const int workers : {0, 1, 3}) {
      const Counted set;
      DataLoader second(set, {.batch_size = 4, .shuffle = true, .num_workers = workers, .seed = 1});
      second.load_state_dict(state);
      EXPECT_EQ(second.position(), (data::LoaderPosition{3, cut}));
      EXPECT_EQ(batches_of_rest(second), left) << cut << ", workers " << workers;
      int reads = 0;
      for (const auto& count : *set.reads) reads += count;
      EXPECT_EQ(reads, 23 - std::min<std::int64_t>(4 * cut, 23)) << cut << ", workers " << workers;
      EXPECT_EQ(second.position(), (data::LoaderPosition{4, 0}));
      EXPECT_EQ(second.state_dict().at("seed").item<std::int64_t>(), static_cast<std::int64_t>(kSeed));
    }
  }
}

TEST(Loader, TheLastBatchOfAnEpochIsNotTheStartOfTheNext) {
  DataLoader loader(data::TensorDataset(counting(8)), {.batch_size = 4});
  int n = 0;
  for (auto& [x] : loader)
    if (x.defined() && ++n == 2) break;
  EXPECT_EQ(loader.position(), (data::LoaderPosition{0, 2}));
  loader.set_position(loader.position());
  for (auto& [x] : loader) FAIL() << x;  // what follows the loop is done once more, then
  EXPECT_EQ(loader.position(), (data::LoaderPosition{1, 0}));
}

TEST(Loader, AStateOfOtherBatchesIsRefused) {
  const data::TensorDataset set(counting(8));
  DataLoader loader(set, {.batch_size = 4, .seed = 1});
  const StateDict good = loader.state_dict();
  const auto refused = [&](const StateDict& state, DataLoaderOptions options, const char* text) {
    DataLoader other(set, options);
    other.set_position({5, 1});
    const std::string what = test::error_of<ValueError>([&] { other.load_state_dict(state); });
    EXPECT_TRUE(has(what, text) && has(what, "loader_test.cpp")) << what;
    EXPECT_EQ(other.position(), (data::LoaderPosition{5, 1}));
  };
  refused(good, {.batch_size = 2}, "\n  batch_size  saved 4, this loader 2\n");
  refused(good, {.batch_size = 4, .shuffle = true}, "\n  shuffle  saved 0, this loader 1\n");
  StateDict bad = good;
  bad.erase("epoch");
  bad.set("seed", zeros({}));
  bad.set("more", zeros({}));
  refused(bad, {.batch_size = 4}, "'seed' is not one int64 number\n  'epoch' is missing\n  'more' is not one of");
  bad = good;
  bad.set("epoch", full({}, -1, int64));
  refused(bad, {.batch_size = 4}, "there is no epoch -1");
}

TEST(Loader, DefaultSeedIsThatOfManualSeed) {
  const data::TensorDataset set(counting(100), counting(100));
  const auto seeded = [&](std::uint64_t seed) {
    manual_seed(seed);
    return bytes_of(set, {.batch_size = 50, .shuffle = true, .num_workers = 0});
  };
  EXPECT_EQ(seeded(8), bytes_of(set, {.batch_size = 50, .shuffle = true, .num_workers = 0, .seed = 8}));
  EXPECT_NE(seeded(8), seeded(9));
}

// Odd sizes, and datasets that hand the buffer on.
TEST_P(LoaderOnDevice, BytesAreNormalizedOnTheDevice) {
  const Tensor images = (arange(50 * 7 * 9) % 251).reshape({50, 7, 9}).to(uint8), labels = arange(50) % 3;
  const auto set = [&](bool later) {
    return data::ImageDataset(images, labels, 3, {.mean = 0.3, .std = 0.7, .on_device = later});
  };
  const auto parts = [&](bool later) { return data::random_split(set(later), {30, 20}, 1)[0]; };
  const data::SyntheticDigits digits(100), later_digits(100, {.normalize_on_device = true});
  for (const int workers : {0, 2}) {
    DataLoaderOptions options{.batch_size = 16, .shuffle = true, .num_workers = workers, .seed = 3};
    const auto want = bytes_of(set(false), options), part = bytes_of(parts(false), options),
               drawn = bytes_of(digits, options);
    options.device = device();
    EXPECT_EQ(want, bytes_of(set(true), options));
    EXPECT_EQ(part, bytes_of(parts(true), options));
    EXPECT_EQ(drawn, bytes_of(later_digits, options));
  }
}

TEST_P(LoaderOnDevice, BytesAreAQuarterOfTheCopy) {
  if (device().is_cpu()) GTEST_SKIP() << "there are no copies";
  DataLoader loader(data::SyntheticDigits(320, {.normalize_on_device = true}), {.device = device()});
  std::vector<Tensor> kept;
  reset_transfer_report();
  for (auto& [x, y] : loader) {
    EXPECT_EQ(x.dtype(), float32);
    EXPECT_EQ(x.device(), device());
    kept.push_back(x);
  }
  EXPECT_EQ(transfer_report()[TransferDirection::to_device].bytes, 320 * (784 + 8));
  const data::SyntheticDigits digits(320);
  for (std::size_t i = 0; i < kept.size(); ++i) {
    const Tensor first = digits.get(static_cast<std::int64_t>(64 * i)).images;
    EXPECT_EQ(kept[i].cpu()(0).to_vector<float>(), first.to_vector<float>()) << i;
  }
}

TEST_P(LoaderOnDevice, CopiesAreReported) {
  if (device().is_cpu()) GTEST_SKIP() << "there are none";
  DataLoader loader(data::SyntheticDigits(640), {.device = device()});
  for (auto& [x, y] : loader) {
    EXPECT_EQ(x.device(), device());
    EXPECT_EQ(y.device(), device());
  }
  const auto stats = loader.stats();
  EXPECT_GT(stats.copy_seconds, 0);
  EXPECT_GE(stats.hidden_share(), 0);
  EXPECT_LE(stats.hidden_share(), 1);
}

TEST(Loader, RefusesBadOptions) {
  const data::TensorDataset ten(counting(10));
  EXPECT_THROW(DataLoader(ten, {.batch_size = 0}), ValueError);
  EXPECT_THROW(DataLoader(ten, {.num_workers = -2}), ValueError);
  EXPECT_THROW(DataLoader(ten, {.prefetch = -2}), ValueError);
  EXPECT_THROW(DataLoader(ten, {.device = Device("sim:63")}), DeviceError);
  EXPECT_THROW(DataLoader(ten, data::RandomSampler(10), {.shuffle = true}), ValueError);
  DataLoader beyond(ten, data::SequentialSampler(11));
  EXPECT_TRUE(has(error_of<IndexError>([&] { beyond.begin(); }), "loader_test.cpp"));
  DataLoader fine(ten);
  EXPECT_THROW(fine.set_epoch(-1), ValueError);
  EXPECT_THROW(fine.set_position({0, -1}), ValueError);
}

}  // namespace
}  // namespace minnow
