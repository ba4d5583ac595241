// Limits of memory, and the lines that hold it.

#include <atomic>
#include <cstdlib>
#include <gtest/gtest.h>
#include <thread>
#include <vector>
#include <minnow/minnow.h>
#include "support/devices.h"
#include "support/thrown.h"

namespace minnow {
namespace {

using test::expect_contains;
using test::has;

constexpr std::int64_t kMiB = std::int64_t{1} << 20;

class MemoryOf : public test::DeviceTest {
 protected:
  void SetUp() override {
    synchronize(device());
    empty_cache(device());
  }
  void TearDown() override {
    set_memory_limit(device(), 0);
    record_memory(false);
  }
  /// In debug mode blocks of a GPU have margins, which count too.
  static bool has_margins() {
    const char* debug = std::getenv("MINNOW_CUDA_DEBUG");
    return device().is_cuda() && debug && *debug == '1';
  }
  static MemoryStats stats() { return memory_stats(device()); }
  static Tensor block(std::int64_t bytes) { return empty({bytes}, {DType::uint8, device()}); }
};
INSTANTIATE_TEST_SUITE_P(Devices, MemoryOf, test::all_devices(), test::device_test_name);

TEST_P(MemoryOf, ALimitIsReachedExactly) {
  if (has_margins()) GTEST_SKIP() << "the sizes are not exact";
  const std::int64_t before = stats().reserved;
  set_memory_limit(device(), before + 8 * kMiB);
  EXPECT_EQ(stats().limit, before + 8 * kMiB);
  Tensor a = block(4 * kMiB), b = block(4 * kMiB);
  EXPECT_EQ(stats().reserved, before + 8 * kMiB);
  const std::string text = test::error_of<OutOfMemoryError>([&] { block(4 * kMiB); });
  for (const std::string& part :
       {"empty: out of memory on " + device().str(), std::string("memory_test.cpp"),
        "requested " + std::to_string(4 * kMiB), std::string("uint8[4194304]"),
        "in tensors " + std::to_string(stats().allocated), "set_memory_limit " + std::to_string(before + 8 * kMiB),
        std::string("raise the limit")})
    expect_contains(text, part);
  b = Tensor();
  b = block(4 * kMiB);
  set_memory_limit(device(), before + 12 * kMiB - 1);
  EXPECT_THROW(block(4 * kMiB), OutOfMemoryError);
  set_memory_limit(device(), before + 12 * kMiB);
  const Tensor c = block(4 * kMiB);
  set_memory_limit(device(), 0);
  EXPECT_EQ(stats().limit, 0);
  const Tensor d = block(4 * kMiB);
}

TEST_P(MemoryOf, CachedBlocksAreReturnedBeforeALimitIsReached) {
  if (has_margins()) GTEST_SKIP() << "the sizes are not exact";
  const std::int64_t before = stats().reserved;
  set_memory_limit(device(), before + 8 * kMiB);
  for (int round = 0; round < 3; ++round) {
    { const Tensor a = block(8 * kMiB); }
    { const Tensor a = block(5 * kMiB); }
    EXPECT_LE(stats().reserved, before + 8 * kMiB);
  }
}

TEST_P(MemoryOf, ALimitBelowWhatIsInUseHoldsForWhatComesAfter) {
  if (has_margins()) GTEST_SKIP() << "the sizes are not exact";
  const std::int64_t before = stats().reserved;
  Tensor a = block(4 * kMiB), b = block(4 * kMiB);
  { const Tensor cached = block(6 * kMiB); }
  set_memory_limit(device(), before + 4 * kMiB);
  EXPECT_EQ(stats().reserved, before + 8 * kMiB) << "the cache is returned";
  EXPECT_THROW(block(1), OutOfMemoryError);
  a.fill_(2);
  synchronize(device());  // or its memory is not free yet
  a = Tensor();
  EXPECT_THROW(block(4 * kMiB), OutOfMemoryError);
  b = Tensor();
  b = block(4 * kMiB);
  EXPECT_EQ(stats().reserved, before + 4 * kMiB);
}

TEST_P(MemoryOf, TheMaximumIsThatSinceTheLastReset) {
  reset_peak_memory(device());
  const std::int64_t before = max_memory(device());
  EXPECT_EQ(before, stats().allocated);
  { const Tensor a = block(4 * kMiB), b = block(2 * kMiB); }
  { const Tensor c = block(5 * kMiB); }
  const std::int64_t most = max_memory(device());
  EXPECT_GE(most, before + 6 * kMiB);
  EXPECT_LT(most, before + 8 * kMiB);
  reset_peak_memory(device());
  EXPECT_LT(max_memory(device()), most);
}

TEST_P(MemoryOf, ThreadsTogetherStayBelowALimit) {
  const std::int64_t before = stats().reserved;
  const std::int64_t limit = before + 8 * kMiB;
  set_memory_limit(device(), limit);
  reset_peak_memory(device());
  std::atomic<int> made = 0, refused = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      std::vector<Tensor> held;
      for (int i = 0; i < 200; ++i) {
        try {
          held.push_back(block((1 + (i * 7 + t) % 3) * kMiB));
          ++made;
        } catch (const OutOfMemoryError&) {
          ++refused;
          held.clear();
        }
        EXPECT_LE(stats().reserved, limit);
      }
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(made + refused, 800);
  EXPECT_GT(made, 0);
  EXPECT_GT(refused, 0);
  EXPECT_LE(stats().peak, limit);
  synchronize(device());
  const Tensor all = block(limit - stats().allocated - 2 * kMiB);  // all of it can be had again
}

TEST_P(MemoryOf, ATrainingStepWithoutMemoryLeavesTheModelAsItWas) {
  manual_seed(3);
  nn::Sequential net(nn::Linear(256, 1024), nn::ReLU(), nn::Linear(1024, 256));
  net.to(device());
  optim::Adam adam(net.parameters());
  const Tensor x = randn({64, 256}, {.device = device()});
  const auto step = [&] {
    const Tensor loss = mean(square(net(x)));
    adam.zero_grad();
    loss.backward();
    adam.step();
  };
  std::vector<std::vector<float>> values;
  for (const Tensor& p : net.parameters()) values.push_back(p.to_vector<float>());
  int refused = 0;
  for (std::int64_t room = 0; refused < 100; room += kMiB) {
    set_memory_limit(device(), stats().allocated + 1 + room);
    try {
      step();
      break;
    } catch (const OutOfMemoryError&) { ++refused; }
    set_memory_limit(device(), 0);
    for (std::size_t i = 0; i < values.size(); ++i) ASSERT_EQ(net.parameters()[i].to_vector<float>(), values[i]);
  }
  EXPECT_GT(refused, 0);
  EXPECT_LT(refused, 100);
  EXPECT_NE(net.parameters()[0].to_vector<float>(), values[0]);
}

TEST(MemoryLimit, RefusesWhatIsNoLimit) {
  expect_contains(test::error_of<ValueError>([] { set_memory_limit(Device(), -1); }), "memory_test.cpp");
  EXPECT_THROW(set_memory_limit("sim:15", 1), DeviceError);
}

const MemoryUse* find(const std::vector<MemoryUse>& uses, const Device& device, unsigned line) {
  for (const MemoryUse& use : uses)
    if (use.device == device && use.line == line && has(use.file, "memory_test.cpp")) return &use;
  return nullptr;
}

TEST_P(MemoryOf, AReportHasTheLinesThatHoldMemory) {
  const Tensor unrecorded = block(kMiB);
  EXPECT_FALSE(memory_report().recording);
  const std::size_t lines_before = memory_report().lines.size();
  record_memory();
  EXPECT_EQ(memory_report().lines.size(), lines_before);
  std::vector<Tensor> made;
  const unsigned line = __LINE__ + 1;
  for (int i = 0; i < 3; ++i) made.push_back(zeros({100, 1000}, {.device = device()}));
  Tensor product = matmul(made[0].t(), made[1]);
  const Tensor view = product(0);
  MemoryReport report = memory_report();
  EXPECT_TRUE(report.recording);
  const MemoryUse *three = find(report.lines, device(), line), *one = find(report.lines, device(), line + 1);
  ASSERT_TRUE(three && one) << report;
  EXPECT_EQ(three->operation, "zeros");
  EXPECT_EQ(three->tensors, 3);
  EXPECT_EQ(three->bytes, 3 * 400'000);
  EXPECT_EQ(one->operation, "matmul");
  EXPECT_EQ(one->tensors, 1);
  EXPECT_EQ(one->bytes, 4'000'000);
  EXPECT_LT(one, three) << "most bytes first";
  const MemoryUse* largest = find(report.largest, device(), line + 1);
  ASSERT_TRUE(largest);
  EXPECT_EQ(largest->what, "float32[1000, 1000]");
  const std::string text = to_string(report);
  expect_contains(text, "4.0 MB");
  expect_contains(text, "memory_test.cpp:" + std::to_string(line));
  EXPECT_FALSE(has(text, "not recorded"));

  made.clear();
  product = Tensor();
  report = memory_report();
  EXPECT_EQ(find(report.lines, device(), line), nullptr);
  EXPECT_TRUE(find(report.lines, device(), line + 1)) << "a view holds it";
  record_memory(false);
  const Tensor later = block(kMiB);
  EXPECT_EQ(memory_report().lines.size(), report.lines.size());
  expect_contains(to_string(memory_report()), "not recorded");
}

TEST_P(MemoryOf, GradientsAndStatesBelongToLinesOfTheProgram) {
  record_memory();
  nn::Linear layer(300, 200);
  layer.to(device());
  optim::Adam adam(layer.parameters());
  const Tensor x = ones({4, 300}, {.device = device()});
  const unsigned line = __LINE__ + 1;
  const Tensor y = layer(x);
  sum(y).backward();
  adam.step();
  const MemoryReport report = memory_report();
  const MemoryUse *gradient = find(report.lines, device(), line), *state = find(report.lines, device(), line + 2);
  ASSERT_TRUE(gradient && state) << report;
  EXPECT_GE(gradient->bytes, 300 * 200 * 4);
  EXPECT_GE(state->bytes, 2 * 300 * 200 * 4);
}

TEST_P(MemoryOf, OutOfMemoryNamesTheLinesThatHoldMost) {
  record_memory();
  const Tensor large = block(2 * kMiB), small = block(kMiB);
  set_memory_limit(device(), stats().allocated);
  const std::string text = test::error_of<OutOfMemoryError>([] { block(5 * kMiB); });
  expect_contains(text, "3.1 MB       2x  " + device().str() + "  empty");
  EXPECT_LT(text.find("3.1 MB"), text.find("use smaller batches"));
}

TEST_P(MemoryOf, ThreadsMakeTensorsWhileMemoryIsReported) {
  record_memory();
  const std::size_t before = memory_report().lines.size();
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; ++t)
    threads.emplace_back([&, t] {
      Tensor last;
      for (int i = 0; i < 200; ++i) {
        last = block(1000 + i);
        if (t == 0) record_memory(i % 3 != 0);
        if (t == 1) { EXPECT_LE(memory_report().lines.size(), before + 1); }
      }
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(memory_report().lines.size(), before);
}

}  // namespace
}  // namespace minnow
