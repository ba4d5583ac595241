#include <array>
#include <gtest/gtest.h>
#include <map>
#include <random>
#include <thread>
#include <minnow/tensor/cuda/memory/device_memory.h>
#include <minnow/tensor/cuda/memory/pinned_memory.h>
#include <minnow/tensor/error.h>

#include "fake_driver.h"

/// The memory of a device, and pinned memory, under several threads with a stream each.  To be run under
/// ThreadSanitizer too.
namespace minnow::cuda {
namespace {

constexpr int kThreads = 4;
constexpr int kRounds = 1500;
constexpr std::size_t kMegabyte = std::size_t{1} << 20;

thread_local StreamHandle my_stream = nullptr;

struct Live {
  unsigned char* block;
  std::size_t bytes;
  unsigned char mark;
  StreamHandle stream;  ///< for which it was allocated
};

/// Blocks that threads pass to each other.
class Exchange {
 public:
  void put(const Live& live) {
    const std::lock_guard lock(mutex_);
    live_.push_back(live);
  }
  bool take(std::mt19937& random, Live& live) {
    const std::lock_guard lock(mutex_);
    if (live_.empty()) return false;
    std::swap(live_[random() % live_.size()], live_.back());
    live = live_.back();
    live_.pop_back();
    return true;
  }
  std::size_t size() {
    const std::lock_guard lock(mutex_);
    return live_.size();
  }

 private:
  std::mutex mutex_;
  std::vector<Live> live_;
};

/// The blocks that wait for another stream, and for how much of its work: nobody must get them before that is done.
class Guarded {
 public:
  explicit Guarded(FakeDriver& driver) : driver_(driver) {}
  /// To be called before the block is freed.
  void waits(const void* block, StreamHandle user) {
    const std::lock_guard lock(mutex_);
    waiting_[block] = {user, driver_.given_to(user) + 1};
  }
  void taken(const void* block) {
    const std::lock_guard lock(mutex_);
    const auto found = waiting_.find(block);
    if (found == waiting_.end()) return;
    EXPECT_GE(driver_.done_by(found->second.first), found->second.second) << "used by another stream";
    waiting_.erase(found);
  }

 private:
  FakeDriver& driver_;
  std::mutex mutex_;
  std::map<const void*, std::pair<StreamHandle, std::uint64_t>> waiting_;
};

/// Blocks in use, marked with a byte of the owner at both ends: another byte means that two threads own the block.
void fill(const Live& live) { live.block[0] = live.block[live.bytes - 1] = live.mark; }
void expect_own(const Live& live) {
  ASSERT_EQ(live.block[0], live.mark);
  ASSERT_EQ(live.block[live.bytes - 1], live.mark);
}

class MemoryThreads : public ::testing::Test {
 protected:
  MemoryThreads() {
    for (StreamHandle& stream : streams) stream = driver.create_stream();
    driver.limit = 24 * kMegabyte;
    driver.pinned_limit = 60;
  }
  /// Runs body(random, number) on each thread, with its own stream.
  template <class Body> void run(Body body) {
    std::vector<std::thread> threads;
    for (int t = 0; t < kThreads; ++t)
      threads.emplace_back([&, t] {
        my_stream = streams[static_cast<std::size_t>(t)];
        std::mt19937 random(static_cast<unsigned>(t));
        for (int i = 0; i < kRounds && !HasFatalFailure(); ++i) body(random, i);
      });
    for (std::thread& thread : threads) thread.join();
  }
  StreamHandle any(std::mt19937& random) { return streams[random() % kThreads]; }
  static std::size_t some_bytes(std::mt19937& random) {
    return random() % 4 ? random() % 20'000 + 1 : random() % kMegabyte + 1;
  }
  /// Puts a block into the exchange, if there is memory.
  template <class Memory> void allocate(Memory& memory, std::mt19937& random) {
    const std::size_t bytes = some_bytes(random);
    try {
      const Live live{static_cast<unsigned char*>(memory.allocate(bytes)), bytes, static_cast<unsigned char>(random()),
                      my_stream};
      if constexpr (requires { memory.owns(live.block); }) { EXPECT_TRUE(memory.owns(live.block)); }
      guarded.taken(live.block);
      fill(live);
      exchange.put(live);
    } catch (const OutOfMemoryError&) {  // the other threads hold the memory
    }
  }
  static void capture(DeviceMemory& memory) {
    MemoryPool pool(memory);
    const PoolGuard guard(pool);
    try {
      void* block = memory.allocate(1000);
      EXPECT_TRUE(memory.is_of(block, pool));
      memory.deallocate(block, 1000);
    } catch (const OutOfMemoryError&) {  // the other threads hold the memory
    }
  }
  static void expect_consistent(const MemoryStats& stats) {
    EXPECT_GE(stats.allocated, 0);
    EXPECT_LE(stats.allocated, stats.reserved);
    EXPECT_LE(stats.allocated, stats.peak);
    EXPECT_GE(stats.blocks, 0);
  }

  FakeDriver driver;
  EventPool events{driver, EventUse::ordering};
  std::array<StreamHandle, kThreads> streams;
  Exchange exchange;
  Guarded guarded{driver};
};

TEST_F(MemoryThreads, OfTheDeviceIsOwnedByOneAtATime) {
  DeviceMemory memory(driver, events, "fake:0", [] { return my_stream; });
  const auto release = [&](std::mt19937& random) {
    Live live{};
    if (!exchange.take(random, live)) return;
    expect_own(live);
    if (random() % 3 == 0) {
      const StreamHandle user = any(random);
      memory.used_on(live.block, user);
      if (user != live.stream) guarded.waits(live.block, user);  // its own stream needs no event
    }
    memory.deallocate(live.block, live.bytes);
  };
  run([&](std::mt19937& random, int i) {
    if (random() % 2 && exchange.size() < 120) allocate(memory, random);
    else release(random);
    if (random() % 5 == 0) driver.finish(any(random));
    if (i % 500 == 499) memory.empty_cache();
    if (i % 100 == 99) expect_consistent(memory.stats());
    if (i % 300 == 299) capture(memory);
  });
  std::mt19937 random;
  while (exchange.size() > 0) release(random);
  expect_all_returned(memory, driver);
}

TEST_F(MemoryThreads, OfTheHostIsOwnedByOneAtATime) {
  PinnedMemory memory(driver);
  const auto release = [&](std::mt19937& random) {
    Live live{};
    if (!exchange.take(random, live)) return;
    expect_own(live);
    if (random() % 2 == 0) {
      const StreamHandle user = any(random);
      guarded.waits(live.block, user);
      memory.hold(live.block, events.record(user));
    }
    memory.deallocate(live.block, live.bytes);
  };
  run([&](std::mt19937& random, int i) {
    if (random() % 2 && exchange.size() < 50) allocate(memory, random);
    else release(random);
    if (random() % 5 == 0) driver.finish(any(random));
    if (i % 500 == 499) memory.empty_cache();
    if (i % 100 == 99) expect_consistent(memory.stats());
  });
  std::mt19937 random;
  while (exchange.size() > 0) release(random);
  expect_all_returned(memory, driver);
}

}  // namespace
}  // namespace minnow::cuda
