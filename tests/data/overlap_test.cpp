// The loader's statistics about copies that overlap with a step, with a slow simulated copy engine.

#include <cmath>
#include <gtest/gtest.h>
#include <thread>
#include <minnow/data/loader.h>
#include <minnow/data/tensor_dataset.h>
#include <minnow/ops/reductions/reduce.h>
#include <minnow/tensor/create.h>
#include <minnow/tensor/runtime/memory.h>
#include <minnow/tensor/sim/options.h>

#include "sanitizer.h"
#include "support/devices.h"

namespace minnow {
namespace {

using namespace std::chrono_literals;
using data::DataLoader;
using data::LoaderStats;

constexpr std::int64_t kBatches = 6;
constexpr double kBytes = 64 * 1000 * 4, kCopySeconds = 0.03;

/// One epoch over batches that take at least kCopySeconds to copy.
template <class Step> LoaderStats epoch(int workers, Step step) {
  const sim::ScopedOptions options({.bandwidth = kBytes / kCopySeconds});
  DataLoader loader(data::TensorDataset(ones({64 * kBatches, 1000})),
                    {.batch_size = 64, .num_workers = workers, .device = "sim:0"});
  for (auto& [x] : loader) step(x);
  const LoaderStats stats = loader.stats();
  EXPECT_EQ(stats.batches, kBatches);
  EXPECT_GE(stats.copy_seconds, kBatches * kCopySeconds * 0.99);
  EXPECT_LE(stats.exposed_seconds, stats.copy_seconds);
  return stats;
}

/// hidden_share() of several epochs, the one nearest to `expected`: on a busy machine a thread may sleep for longer
/// than a copy takes.
template <class Step> double hidden_share(int workers, double expected, Step step) {
  double best = epoch(workers, step).hidden_share();
  for (int tries = 1; tries < 5 && std::abs(best - expected) > 0.1; ++tries) {
    const double share = epoch(workers, step).hidden_share();
    if (std::abs(share - expected) < std::abs(best - expected)) best = share;
  }
  return best;
}

TEST(LoaderOverlap, AStepLongerThanTheCopyHidesIt) {
  for (const int workers : {0, 2}) {
    // The first copy overlaps with nothing.
    const double share = hidden_share(workers, 1 - 1.0 / kBatches, [](const Tensor& x) {
      EXPECT_TRUE(sum(x(0)).defined());  // a kernel, which waits for the copy
      std::this_thread::sleep_for(60ms);
    });
    EXPECT_GT(share, 0) << workers << " workers";
    if (!test::kSpeedCounts) continue;
    EXPECT_GT(share, 0.7) << workers << " workers";
    EXPECT_LT(share, 0.95) << workers << " workers";
  }
}

TEST(LoaderOverlap, WithoutAStepNothingIsHidden) {
  if (!test::kSpeedCounts) GTEST_SKIP() << "here making a batch takes as long as copying one, and hides it";
  for (const int workers : {0, 2}) {
    EXPECT_LT(hidden_share(workers, 0, [](const Tensor& x) { EXPECT_TRUE(x.defined()); }), 0.3) << workers;
    EXPECT_LT(hidden_share(workers, 0, [](const Tensor& x) { EXPECT_TRUE(sum(x(0)).defined()); }), 0.3) << workers;
  }
}

TEST(LoaderOverlap, WithoutADeviceThereAreNoCopies) {
  DataLoader loader(data::TensorDataset(ones({100, 10})), {.batch_size = 10});
  for (auto& [x] : loader) EXPECT_TRUE(x.device().is_cpu());
  EXPECT_EQ(loader.stats().copy_seconds, 0);
  EXPECT_EQ(loader.stats().hidden_share(), 1);
}

class LoaderPinningOnDevice : public test::DeviceTest {};
INSTANTIATE_TEST_SUITE_P(Devices, LoaderPinningOnDevice, test::all_devices(), test::device_test_name);

TEST_P(LoaderPinningOnDevice, PinsBatchesForTheUsersOwnCopies) {
  for (const int workers : {0, 2}) {
    const Tensor source = arange(1000).reshape({100, 10});
    DataLoader loader(data::TensorDataset{source}, {.batch_size = 10, .num_workers = workers, .pin_memory = true});
    std::vector<Tensor> there;
    for (auto& [x] : loader) {
      EXPECT_TRUE(x.is_pinned());
      EXPECT_TRUE(x.device().is_cpu());
      there.push_back(x.to(device(), {.non_blocking = true}));
    }
    for (std::size_t k = 0; k < there.size(); ++k)  // no batch was overwritten before its copy was done
      EXPECT_EQ(there[k].to_vector<std::int64_t>(),
                source(slice(static_cast<std::int64_t>(10 * k), static_cast<std::int64_t>(10 * k + 10)))
                    .to_vector<std::int64_t>());
  }
  DataLoader pageable(data::TensorDataset(ones({4})), {.batch_size = 2});
  for (auto& [x] : pageable) EXPECT_FALSE(x.is_pinned());
}

TEST(LoaderPinning, MemoryIsNotReusedBeforeTheUsersCopiesEnd) {
  const sim::ScopedOptions options({.bandwidth = 1e6});
  const Tensor source = arange(400, {DType::float32});
  DataLoader loader(data::TensorDataset{source}, {.batch_size = 40, .num_workers = 0, .pin_memory = true});
  std::vector<Tensor> there;
  for (auto& [x] : loader) there.push_back(x.to("sim:0", {.non_blocking = true}));
  for (std::size_t k = 0; k < there.size(); ++k)
    EXPECT_EQ(there[k](0).item(), static_cast<double>(40 * k)) << "batch " << k;
}

}  // namespace
}  // namespace minnow
