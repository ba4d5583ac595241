// The nth allocation fails, for every n, while a checkpoint is saved or resumed and while a file of torch.save() is
// read.

#include <algorithm>
#include <filesystem>
#include <gtest/gtest.h>
#include <minnow/minnow.h>
#include "faults/failing_heap.h"
#include "golden.h"
#include "training/memory_folder.h"

namespace minnow {
namespace {

using ::test::Shortage;
using ::test::throws;

constexpr std::size_t kMost = 5000;  // allocations of one call

/// A model in training, and what saves it.
struct Training {
  Training(const std::string& folder, int steps) : checkpoint(folder) {
    checkpoint.add("model", net).add("adam", adam);
    for (int i = 0; i < steps; ++i) step();
  }
  void step() {
    const Tensor loss = sum(square(net(ones({2, 3}))));
    adam.zero_grad();
    loss.backward();
    adam.step();
  }
  /// Parameters and moments, one after the other.
  std::vector<float> state() const {
    std::vector<float> all = net.weight.to_vector<float>();
    const std::vector<float> moments = adam.state_dict().at("state.0.exp_avg").to_vector<float>();
    all.insert(all.end(), moments.begin(), moments.end());
    return all;
  }

  nn::Linear net{3, 4};
  optim::Adam adam{net.parameters(), {.lr = 0.1}};
  Checkpoint checkpoint;
};

TEST(FailedCheckpoint, ASaveIsTheOldFileOrTheNewOne) {
  for (const Shortage shortage : {Shortage::once, Shortage::lasting}) {
    const test::TemporaryFolder folder;
    manual_seed(1);
    Training run(folder / "c", 1);
    run.checkpoint.save();
    bool failed = true;
    std::size_t n = 0;
    for (; failed && n < kMost; ++n) {
      const std::vector<float> before = run.state();
      run.step();
      const std::vector<float> now = run.state();
      const std::int64_t storages = live_storages();
      const bool threw = throws(n, shortage, failed, [&] { run.checkpoint.save(); });
      ASSERT_EQ(live_storages(), storages) << "allocation " << n;
      ASSERT_EQ(run.state(), now) << "allocation " << n;
      Training other(folder / "c", 2);
      ASSERT_TRUE(other.checkpoint.resume()) << "allocation " << n;
      ASSERT_TRUE(other.state() == now || (threw && other.state() == before)) << "allocation " << n;
      if (other.state() != now) run.checkpoint.save();
    }
    EXPECT_GT(n, 50U);
    EXPECT_LT(n, kMost);
  }
}

// The files before are counted and removed as if it had not been tried.
TEST(FailedCheckpoint, ASaveThatFailedIsForgotten) {
  for (const bool background : {false, true}) {
    const test::TemporaryFolder folder;
    double x = 1;
    Checkpoint checkpoint(folder / "c", {.keep = 1});
    checkpoint.add("x", x);
    const auto newest = [&] {
      std::string last;
      for (const auto& file : std::filesystem::directory_iterator(folder / "c"))
        last = std::max(last, file.path().filename().string());
      return last;
    };
    checkpoint.save({.metric = 1});
    checkpoint.save();
    std::string before = newest();
    bool failed = true;
    std::size_t n = 0;
    for (; failed && n < kMost; ++n) {
      throws(n, Shortage::once, failed, [&] { checkpoint.save({.background = background}); });
      try {
        checkpoint.wait();
      } catch (const std::bad_alloc&) {  // the thread's, which may have had the failure
      } catch (const OutOfMemoryError&) {}
      ASSERT_GE(newest(), before) << "allocation " << n;
      ASSERT_TRUE(std::filesystem::exists(checkpoint.best_path())) << "allocation " << n;
      before = newest();
    }
    EXPECT_GT(n, 20U);
    EXPECT_LT(n, kMost);
  }
}

TEST(FailedCheckpoint, AResumeChangesAllOrNothing) {
  const test::TemporaryFolder folder;
  manual_seed(1);
  Training saved(folder / "c", 3);
  saved.checkpoint.save();
  bool failed = true;
  std::size_t n = 0;
  for (; failed && n < kMost; ++n) {  // where nothing at all can be allocated, there is no way back
    Training run(folder / "c", 1);
    const std::vector<float> before = run.state();
    const std::int64_t storages = live_storages();
    const bool threw = throws(n, Shortage::once, failed, [&] { run.checkpoint.resume(); });
    ASSERT_EQ(live_storages(), storages) << "allocation " << n;
    ASSERT_EQ(run.state(), threw ? before : saved.state()) << "allocation " << n;
  }
  EXPECT_GT(n, 500U);
  EXPECT_LT(n, kMost);
}

TEST(FailedTorchFile, ALoadIsCompleteOrNothing) {
  const test::TemporaryFolder folder;
  const std::string path = folder / "x.pt";
  const auto bytes = test::Book("torch_files", Device())["good/checkpoint/file"].to_vector<std::uint8_t>();
  test::write_bytes(path, std::string(bytes.begin(), bytes.end()));
  const std::size_t size = load(path).size();
  ASSERT_GT(size, 0U);
  for (const Shortage shortage : {Shortage::once, Shortage::lasting}) {
    bool failed = true;
    std::size_t n = 0;
    for (; failed && n < kMost; ++n) {
      const std::int64_t storages = live_storages();
      StateDict loaded;
      const bool threw = throws(n, shortage, failed, [&] { loaded = load(path); });
      ASSERT_EQ(loaded.size(), threw ? 0 : size) << "allocation " << n;
      loaded = StateDict();
      ASSERT_EQ(live_storages(), storages) << "allocation " << n;
    }
    EXPECT_GT(n, 50U);
    EXPECT_LT(n, kMost);
  }
}

}  // namespace
}  // namespace minnow
