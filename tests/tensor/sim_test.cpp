#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <gtest/gtest.h>
#include <system_error>
#include <minnow/tensor/backend/dispatch.h>
#include <minnow/tensor/error.h>
#include <minnow/tensor/raw/transfer.h>
#include <minnow/tensor/runtime/memory.h>
#include <minnow/tensor/sim/engine.h>
#include <minnow/tensor/sim/options.h>
#include <minnow/tensor/sim/sim_device.h>

#include "support/host_tensor.h"
#include "support/thrown.h"

namespace minnow {
namespace {

using test::counting;
using test::error_of;
using test::values;

TEST(SimOptions, AreReadFromTheEnvironment) {
  const sim::Options none = sim::parse_options(nullptr, nullptr, nullptr);
  EXPECT_EQ(none.devices, 1);
  EXPECT_EQ(none.memory, 0U);
  EXPECT_EQ(none.bandwidth, 0);
  EXPECT_EQ(sim::parse_options("0", "4096", "1G").devices, 0);
  EXPECT_EQ(sim::parse_options("16", "4096", "1G").devices, 16);
  EXPECT_EQ(sim::parse_options("2", "4096", "1G").memory, 4096U);
  EXPECT_EQ(sim::parse_options("2", "64K", nullptr).memory, 64U << 10);
  EXPECT_EQ(sim::parse_options("2", "64M", nullptr).memory, 64U << 20);
  EXPECT_EQ(sim::parse_options("2", "1.5G", nullptr).memory, 3U << 29);
  EXPECT_EQ(sim::parse_options("2", "1T", "2G").memory, std::size_t{1} << 40);
  EXPECT_EQ(sim::parse_options("2", "1T", "2G").bandwidth, double(std::size_t{2} << 30));
}

TEST(SimOptions, BadValuesAreErrorsThatNameThem) {
  for (const char* text : {"", "two", "-1", "17", "1.5", "2 ", " 2", "0x2"}) {
    const std::string message = error_of<ValueError>([&] { sim::parse_options(text, nullptr, nullptr); });
    EXPECT_NE(message.find("MINNOW_SIM_DEVICES is '" + std::string(text) + "'"), std::string::npos) << message;
  }
  for (const char* text : {"", "M", "64MB", "64m", "-1", "-1M", "0", "1e3", "64 M", "64Q", "nan", "inf", "99999999T"}) {
    EXPECT_NE(error_of<ValueError>([&] {
                sim::parse_options(nullptr, text, nullptr);
              }).find("MINNOW_SIM_MEMORY is '" + std::string(text) + "'\nexpected a number of bytes such as 64M"),
              std::string::npos)
        << text;
    EXPECT_NE(error_of<ValueError>([&] { sim::parse_options(nullptr, nullptr, text); }).find("MINNOW_SIM_BANDWIDTH"),
              std::string::npos)
        << text;
  }
  const sim::Options before = sim::options();
  EXPECT_THROW(sim::set_options({.devices = 17}), ValueError);
  EXPECT_THROW(sim::set_options({.devices = -1}), ValueError);
  EXPECT_THROW(sim::set_options({.bandwidth = -1}), ValueError);
  EXPECT_EQ(sim::options().devices, before.devices);
}

TEST(Sim, OutOfMemoryNamesTheNumbersAndTheProgramContinues) {
  pinned_allocator()->empty_cache();
  const std::int64_t used = memory_stats("sim:0").allocated;
  const sim::ScopedOptions options({.memory = static_cast<std::size_t>(used) + (1 << 20)});
  const Tensor quarter = counting(1 << 16), half = counting(1 << 17);
  Tensor a = raw::to_device(quarter, "sim:0");
  Tensor b = raw::to_device(half, "sim:0");
  const std::string message = error_of<OutOfMemoryError>([&] { raw::to_device(half, "sim:0"); });
  for (const std::string& part : {std::string("out of memory on sim:0"), std::string("requested 524288 bytes"),
                                  "in tensors " + std::to_string(used + (768 << 10)),
                                  "limit " + std::to_string(used + (1 << 20)), std::string("  (sim_test.cpp:")})
    EXPECT_NE(message.find(part), std::string::npos) << message;

  // What is freed is found again, also when the cached blocks are of other sizes.
  EXPECT_EQ(values(raw::to_device(b, "cpu")), values(half));
  a = Tensor();
  b = Tensor();
  const Tensor whole = raw::to_device(counting(1 << 18), "sim:0");
  EXPECT_EQ(values(raw::to_device(whole, "cpu")), values(counting(1 << 18)));
}

TEST(Sim, AllocationWaitsForMemoryThatRunningCopiesHold) {
  pinned_allocator()->empty_cache();
  const auto used = static_cast<std::size_t>(memory_stats("sim:0").allocated);
  const sim::ScopedOptions options({.memory = used + (1 << 20), .bandwidth = 50e6});
  const Tensor large = raw::pin_memory(counting(200'000));
  for (int i = 0; i < 3; ++i) raw::to_device(large, "sim:0", true);  // 16 ms each; the results are dropped
  synchronize("sim:0");
}

TEST(Sim, DevicesHaveTheirOwnMemory) {
  const sim::ScopedOptions options({.devices = 3});
  const std::int64_t before[] = {memory_stats("sim:0").allocated, memory_stats("sim:1").allocated,
                                 memory_stats("sim:2").allocated};
  const Tensor x = counting(1000);
  const Tensor on1 = raw::to_device(x, "sim:1");
  const Tensor on2 = raw::to_device(on1, "sim:2");
  EXPECT_EQ(memory_stats("sim:0").allocated, before[0]);
  EXPECT_EQ(memory_stats("sim:1").allocated, before[1] + 4096);
  EXPECT_EQ(memory_stats("sim:2").allocated, before[2] + 4096);
  EXPECT_EQ(on2.device(), Device("sim:2"));
  EXPECT_NE(on1.raw_data(), on2.raw_data());
  EXPECT_EQ(values(raw::to_device(on2, "cpu")), values(x));
}

TEST(Sim, KernelsWaitForTheCopiesOfTheirStream) {
  const sim::ScopedOptions options({.bandwidth = 10e6});
  const Tensor x = raw::pin_memory(counting(250'000));
  const Tensor moved = raw::to_device(x, "sim:0", true);
  const Event copied = current_stream("sim:0").record();
  EXPECT_FALSE(copied.is_ready());
  backend_of("sim:0").run(calls::Fill{moved, 7.0});
  EXPECT_TRUE(copied.is_ready());
  const std::vector<float> home = values(raw::to_device(moved, "cpu"));
  EXPECT_EQ(std::count(home.begin(), home.end(), 7.0F), 250'000);
}

TEST(Sim, APinnedBlockIsNotReusedBeforeItsCopyIsDone) {
  const sim::ScopedOptions options({.bandwidth = 10e6});
  const Tensor source = counting(250'000);
  Tensor x = raw::pin_memory(source);
  const void* block = x.raw_data();
  const Tensor moved = raw::to_device(x, "sim:0", true);
  x = Tensor();
  const Tensor next = raw::pin_memory(test::host_tensor(std::vector<float>(250'000, -1), {250'000}));
  EXPECT_NE(next.raw_data(), block);
  synchronize("sim:0");
  EXPECT_EQ(values(raw::to_device(moved, "cpu")), values(source));
  EXPECT_EQ(raw::pin_memory(source).raw_data(), block);  // and now it is
}

TEST(Sim, MemoryThatACopyReadsOutlivesItsTensor) {
  const sim::ScopedOptions options({.bandwidth = 50e6});
  const Tensor source = counting(250'000);
  Tensor moved = raw::to_device(source, "sim:0");
  const Tensor home = raw::to_device(moved, "cpu", true);
  moved = Tensor();
  const Tensor other = raw::to_device(test::host_tensor(std::vector<float>(250'000, -1), {250'000}), "sim:0");
  EXPECT_EQ(values(home), values(source));
}

TEST(Sim, MemoryIsFlatOverManySteps) {
  const Tensor x = raw::pin_memory(counting(1000));
  std::int64_t storages = 0;
  MemoryStats device, pinned;
  for (int step = 0; step < 300; ++step) {
    const Tensor moved = raw::to_device(x, "sim:0", true);
    const Tensor home = raw::to_device(moved, "cpu", true);
    home.data<float>();
    synchronize("sim:0");
    if (step == 100) {
      storages = live_storages();
      device = memory_stats("sim:0");
      pinned = pinned_memory_stats();
    }
  }
  EXPECT_EQ(live_storages(), storages - 2);  // the step's own two
  EXPECT_EQ(memory_stats("sim:0").system_calls, device.system_calls);
  EXPECT_EQ(pinned_memory_stats().system_calls, pinned.system_calls);
}

TEST(Sim, FailedCopyIsReportedOnceAndTheDeviceStaysUsable) {
  const Tensor x = raw::pin_memory(counting(100));
  sim::Engine& engine = sim::device(0).engine;
  synchronize("sim:0");

  engine.fail_next();  // a blocking copy
  EXPECT_THROW(raw::to_device(counting(100), "sim:0"), BackendError);
  synchronize("sim:0");

  engine.fail_next();  // to the device: the next use of the stream throws
  Tensor moved = raw::to_device(x, "sim:0", true);
  EXPECT_THROW(backend_of("sim:0").run(calls::Fill{moved, 1.0}), BackendError);
  backend_of("sim:0").run(calls::Fill{moved, 1.0});
  synchronize("sim:0");

  engine.fail_next();  // or a synchronization of the device
  moved = raw::to_device(x, "sim:0", true);
  EXPECT_THROW(synchronize("sim:0"), BackendError);
  EXPECT_THROW(current_stream("sim:0").synchronize(), BackendError);

  moved = raw::to_device(x, "sim:0");
  engine.fail_next();  // to the host: reading throws, and the destructor neither throws nor hangs
  {
    const Tensor home = raw::to_device(moved, "cpu", true);
    EXPECT_THROW(home.data<float>(), BackendError);
    EXPECT_THROW(home.data<float>(), BackendError);
  }
  EXPECT_THROW(current_stream("sim:0").synchronize(), BackendError);
  EXPECT_EQ(values(raw::to_device(moved, "cpu", true)), values(x));
  synchronize("sim:0");
}

TEST(Sim, AFailureReachesTheStreamsThatWaitForIt) {
  const Tensor x = raw::pin_memory(counting(100));
  const Stream side("sim:0"), other("sim:0");
  synchronize("sim:0");
  sim::device(0).engine.fail_next();
  {
    const StreamGuard guard(side);
    const Tensor moved = raw::to_device(x, "sim:0", true);
    const Tensor later = raw::to_device(x, "sim:0", true);  // of the same stream: not done either
  }
  const Event event = side.record();
  EXPECT_THROW(event.synchronize(), BackendError);
  EXPECT_THROW(other.wait(event), BackendError);
  EXPECT_THROW(side.synchronize(), BackendError);
  side.synchronize();
  other.synchronize();
  synchronize("sim:0");
}

std::shared_ptr<sim::Copy> copy_of(const int& from, int& to) {
  auto copy = std::make_shared<sim::Copy>();
  copy->from = &from;
  copy->to = &to;
  copy->bytes = sizeof(int);
  return copy;
}

TEST(SimEngine, CopiesWithoutAThreadWhereNoneCanBeStarted) {
  sim::Engine engine([](std::function<void()>) -> std::thread {
    throw std::system_error(std::make_error_code(std::errc::resource_unavailable_try_again));
  });
  const int from = 5;
  int to = 0;
  const auto copy = copy_of(from, to);
  engine.submit(copy);
  EXPECT_TRUE(copy->done);
  EXPECT_EQ(to, 5);
  engine.wait(*copy);
  engine.synchronize();
}

TEST(SimEngine, EndsWhenItsCopiesAreDone) {
  const int from = 5;
  int to[8] = {};
  {
    sim::Engine engine;
    engine.set_bandwidth(4000);  // 1 ms each
    for (int& target : to) engine.submit(copy_of(from, target));
  }
  for (const int value : to) EXPECT_EQ(value, 5);
  const sim::Engine idle;
}

TEST(SimEngine, MayFreeAStorageThatItsOwnCopyWrites) {
  sim::Engine engine;
  const Tensor source = counting(4);
  auto copy = std::make_shared<sim::Copy>();
  {
    const auto target = std::make_shared<Storage>(cpu_allocator(), Device(), std::size_t{16});
    struct Done final : Event::State {
      bool is_ready() override { return copy->done; }
      void synchronize() override { engine->wait(*copy); }
      double seconds() override { return 0; }
      sim::Engine* engine = nullptr;
      sim::Copy* copy = nullptr;
    };
    const auto done = std::make_shared<Done>();
    done->engine = &engine;
    done->copy = copy.get();
    target->set_pending(Event(done));
    copy->from = source.raw_data();
    copy->to = target->data();
    copy->bytes = 16;
    copy->keep_to = target;
  }  // the engine holds the last handle
  engine.submit(copy);
  engine.wait(*copy);
}

/// Sets an environment variable for a scope.
class Variable {
 public:
  Variable(const char* name, const char* value) : name_(name) { ::setenv(name, value, 1); }
  ~Variable() { ::unsetenv(name_); }
  Variable(const Variable&) = delete;
  Variable& operator=(const Variable&) = delete;

 private:
  const char* name_;
};

TEST(SimDeathTest, TheEnvironmentSetsDevicesMemoryAndBandwidth) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");  // a new process, which has read no setting yet
  const auto use = [] {
    const Tensor half = counting(1 << 17), whole = counting(1 << 18);
    Tensor there = raw::to_device(half, "sim:1");
    const std::string text = error_of<OutOfMemoryError>([&] { there = raw::to_device(whole, "sim:1"); });
    bool good = text.find("limit 1048576") != std::string::npos && sim::options().devices == 2;
    good = good && values(raw::to_device(there, "cpu")) == values(half);  // the old tensor is unchanged
    there = Tensor();
    there = raw::to_device(whole, "sim:1");  // and the whole fits after it is freed
    const auto start = std::chrono::steady_clock::now();
    good = good && values(raw::to_device(there, "cpu")) == values(whole);
    good = good && std::chrono::steady_clock::now() - start > std::chrono::milliseconds(90);  // 1 MB at 10 MB/s
    std::exit(good ? 0 : 1);
  };
  const Variable devices("MINNOW_SIM_DEVICES", "2"), memory("MINNOW_SIM_MEMORY", "1M");
  const Variable bandwidth("MINNOW_SIM_BANDWIDTH", "10M");
  EXPECT_EXIT(use(), ::testing::ExitedWithCode(0), "");
}

/// Two devices whose copies of 1 MB take 30 ms, so that what does not wait for them sees old bytes.
const sim::Options kSlow{.devices = 2, .bandwidth = 32e6};
constexpr std::int64_t kMegabyte = 1 << 18;

TEST(SimWaits, ACopyFromTheHostWaitsForTheCopyThatFillsIt) {
  const sim::ScopedOptions slow(kSlow);
  const Tensor x = counting(kMegabyte), there = raw::to_device(x, "sim:0");
  const Tensor home = raw::to_device(there, Device(), true);
  sim::device(1).engine.set_bandwidth(0);
  EXPECT_EQ(values(raw::to_device(raw::to_device(home, "sim:1"), "cpu")), values(x));
}

TEST(SimWaits, ACopyBetweenDevicesComesAfterTheCopiesToItsTarget) {
  const sim::ScopedOptions slow(kSlow);
  const Tensor x = counting(kMegabyte), there = raw::to_device(x, "sim:0"), target = raw::to_device(x, "sim:1");
  const std::vector<float> old(kMegabyte, -1);
  raw::transfer_to(raw::pin_memory(test::host_tensor(old, {kMegabyte})), target);  // from pinned memory: nobody waits
  sim::device(0).engine.set_bandwidth(0);
  raw::transfer_to(there, target);
  EXPECT_EQ(values(raw::to_device(target, "cpu")), values(x));
}

TEST(SimWaits, PinningWaitsForTheCopyThatFillsThePageableMemory) {
  constexpr double kBandwidth = 256e6;
  const sim::ScopedOptions slow({.devices = 1, .pinned_memory = 4096, .bandwidth = kBandwidth});
  const Tensor x = counting(8 * kMegabyte), there = raw::to_device(x, "sim:0");  // no free block is as large
  const Tensor home = raw::to_device(there, Device(), true);
  ASSERT_FALSE(home.is_pinned());
  sim::set_options({.bandwidth = kBandwidth});
  EXPECT_EQ(values(raw::pin_memory(home)), values(x));
}

TEST(SimDeathTest, ProgramEndsWhileCopiesRun) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const auto leave = [] {
    sim::set_options({.bandwidth = 1000});  // an hour for what follows
    static Tensor host, moved, home;        // globals that are destroyed while the copies run
    moved = raw::to_device(counting(1), "sim:0");
    host = raw::pin_memory(counting(1'000'000));
    home = raw::to_device(moved, "cpu", true);
    moved = raw::to_device(host, "sim:0", true);
    std::fputs("left\n", stderr);
    std::exit(0);
  };
  const auto start = std::chrono::steady_clock::now();
  EXPECT_EXIT(leave(), ::testing::ExitedWithCode(0), "left");
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(60));
}

}  // namespace
}  // namespace minnow
