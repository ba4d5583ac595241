#include <gtest/gtest.h>
#include <random>
#include <set>
#include <thread>
#include <minnow/tensor/cuda/memory/device_memory.h>
#include <minnow/tensor/error.h>

#include "fake_driver.h"
#include "support/thrown.h"

namespace minnow::cuda {
namespace {

using test::error_of;
using test::has;

constexpr std::size_t kKilo = 1024, kMega = kKilo * kKilo;

class DeviceMemoryTest : public ::testing::Test {
 protected:
  /// Allocates for a stream.
  void* take(std::size_t bytes, StreamHandle stream) {
    current = stream;
    return memory.allocate(bytes);
  }
  void* take(std::size_t bytes) { return take(bytes, main); }
  void give(void* block, std::size_t bytes) { memory.deallocate(block, bytes); }
  void expect_all_returned() { cuda::expect_all_returned(memory, driver); }

  FakeDriver driver;
  EventPool events{driver, EventUse::ordering};
  StreamHandle main = driver.create_stream(), side = driver.create_stream();
  StreamHandle current = main;
  DeviceMemory memory{driver, events, "fake:0", [this] { return current; }};
};

TEST_F(DeviceMemoryTest, SizeClassesAreFewAndWasteLittle) {
  std::set<std::size_t> sizes;
  for (std::size_t bytes = 1; bytes < 3 * kMega; bytes += 509) {
    const std::size_t size = DeviceMemory::rounded(bytes);
    EXPECT_GE(size, bytes);
    EXPECT_LE(size, std::max(bytes + bytes / 8 + 512, std::size_t{512})) << bytes;
    EXPECT_EQ(size % 512, 0u);
    EXPECT_EQ(DeviceMemory::rounded(size), size);
    sizes.insert(size);
  }
  EXPECT_LT(sizes.size(), 90u);
}

TEST_F(DeviceMemoryTest, SmallBlocksShareASlabAndDoNotOverlap) {
  std::vector<char*> blocks;
  for (int i = 0; i < 64; ++i) blocks.push_back(static_cast<char*>(take(10'000)));
  EXPECT_EQ(driver.blocks.size(), 1u);
  EXPECT_EQ(driver.held, DeviceMemory::kSlab);
  std::sort(blocks.begin(), blocks.end());
  for (std::size_t i = 1; i < blocks.size(); ++i) EXPECT_GE(blocks[i] - blocks[i - 1], 10'000);
  for (char* block : blocks) give(block, 10'000);
  EXPECT_EQ(take(5), blocks.front() + 64 * DeviceMemory::rounded(10'000));  // another class: from the slab's rest
  give(blocks.front() + 64 * DeviceMemory::rounded(10'000), 5);
  expect_all_returned();
}

TEST_F(DeviceMemoryTest, LargeBlocksComeFromTheDriverOneByOne) {
  void* a = take(5 * kMega);
  void* b = take(DeviceMemory::kLargestSmall + 1);
  EXPECT_EQ(driver.blocks.at(a), 5 * kMega);
  EXPECT_EQ(driver.blocks.at(b), DeviceMemory::rounded(DeviceMemory::kLargestSmall + 1));
  give(a, 5 * kMega);
  EXPECT_EQ(take(5 * kMega - 7), a);
  give(a, 5 * kMega - 7);
  give(b, DeviceMemory::kLargestSmall + 1);
  expect_all_returned();
}

TEST_F(DeviceMemoryTest, AFreeLargeBlockIsSplitAndItsPartsAreJoined) {
  auto* whole = static_cast<char*>(take(8 * kMega));
  give(whole, 8 * kMega);
  std::vector<void*> parts;
  for (std::size_t i = 0; i < 4; ++i) parts.push_back(take(2 * kMega));
  EXPECT_EQ(driver.allocations, 1);
  EXPECT_EQ(memory.stats().allocated, static_cast<std::int64_t>(8 * kMega));
  for (std::size_t i = 0; i < 4; ++i) EXPECT_EQ(parts[i], whole + i * 2 * kMega);
  give(parts[1], 2 * kMega);
  give(parts[2], 2 * kMega);
  EXPECT_EQ(take(4 * kMega), parts[1]);  // both, joined
  memory.empty_cache();
  EXPECT_EQ(driver.held, 8 * kMega);  // the rest of it is in use
  give(parts[0], 2 * kMega);
  give(parts[3], 2 * kMega);
  give(parts[1], 4 * kMega);
  EXPECT_EQ(take(8 * kMega), whole);
  // A rest that would be no large block stays with the block.
  give(whole, 8 * kMega);
  EXPECT_EQ(take(8 * kMega - DeviceMemory::kLargestSmall + 5), whole);
  EXPECT_EQ(memory.stats().allocated, static_cast<std::int64_t>(8 * kMega));
  give(whole, 1);
  expect_all_returned();
}

TEST_F(DeviceMemoryTest, SequencesOfManyLengthsShareMemory) {
  std::mt19937 random(3);
  const auto step = [&](std::size_t length) {
    std::vector<std::pair<void*, std::size_t>> live;
    for (std::size_t layer = 1; layer <= 6; ++layer) live.emplace_back(take(length * layer), length * layer);
    for (const auto& [block, bytes] : live) give(block, bytes);
  };
  step(4 * kMega);
  for (int i = 0; i < 300; ++i) step(kMega / 2 + random() % (7 * kMega / 2));
  EXPECT_LE(memory.stats().reserved, static_cast<std::int64_t>(2 * 21 * 4 * kMega));
  expect_all_returned();
}

TEST_F(DeviceMemoryTest, SteadyStateDoesNotCallTheDriver) {
  const auto step = [&] {
    std::vector<std::pair<void*, std::size_t>> live;
    for (std::size_t bytes : {64u, 4096u, 100'000u, 3'000'000u, 64u, 12'345'678u})
      live.emplace_back(take(bytes), bytes);
    for (const auto& [block, bytes] : live) give(block, bytes);
  };
  step();
  const int calls = driver.allocations;
  const MemoryStats before = memory.stats();
  for (int i = 0; i < 10; ++i) step();
  EXPECT_EQ(driver.allocations, calls);
  EXPECT_EQ(driver.events, 0u);
  EXPECT_EQ(driver.device_waits, 0);
  EXPECT_EQ(memory.stats().reserved, before.reserved);
  EXPECT_EQ(memory.stats().system_calls, before.system_calls);
  expect_all_returned();
}

TEST_F(DeviceMemoryTest, AFreedBlockIsReusedAtOnceByItsStreamAndByNoOther) {
  void* block = take(kMega, main);
  give(block, kMega);
  void* other = take(kMega, side);
  EXPECT_NE(other, block);
  EXPECT_EQ(take(kMega, main), block);
  // It does not matter who frees a block: it belongs to the stream that it was allocated for.
  current = side;
  give(block, kMega);
  EXPECT_EQ(take(kMega, main), block);
  give(block, kMega);
  give(other, kMega);
  expect_all_returned();
}

TEST_F(DeviceMemoryTest, ABlockThatAnotherStreamUsedWaitsForIt) {
  void* block = take(kMega);
  memory.used_on(block, side);
  memory.used_on(block, side);
  memory.used_on(block, main);  // its own stream: nothing to wait for
  give(block, kMega);
  EXPECT_EQ(driver.events, 1u);
  EXPECT_EQ(memory.stats().allocated, 0);
  void* second = take(kMega);
  EXPECT_NE(second, block);
  driver.finish(main);
  void* third = take(kMega);
  EXPECT_NE(third, block);
  driver.finish(side);
  EXPECT_EQ(take(kMega), block);
  EXPECT_EQ(driver.event_waits, 0);
  for (void* each : {block, second, third}) give(each, kMega);
  // The use is over: after the next free the block is available at once, and the event is reused.
  EXPECT_EQ(driver.events, 1u);
  expect_all_returned();
}

TEST_F(DeviceMemoryTest, OutOfMemoryFreesTheCacheAndTriesOnce) {
  driver.limit = 10 * kMega;
  void* cached = take(6 * kMega);
  give(cached, 6 * kMega);
  void* pending = take(3 * kMega);
  memory.used_on(pending, side);
  give(pending, 3 * kMega);
  void* block = take(8 * kMega);  // only without both
  EXPECT_EQ(driver.held, 8 * kMega);
  EXPECT_EQ(driver.event_waits, 1);
  const int tries = driver.allocations;
  const std::string message = error_of<OutOfMemoryError>([&] { take(4 * kMega); });
  EXPECT_EQ(driver.allocations, tries + 2);
  for (const char* part : {"out of memory on fake:0", "requested 4194304", "in tensors 8388608", "reserved 8388608",
                           "peak 8388608", "free on the device 2097152"})
    EXPECT_TRUE(has(message, part)) << message;
  EXPECT_EQ(memory.stats().allocated, static_cast<std::int64_t>(8 * kMega));
  void* small = take(100);
  give(small, 100);
  give(block, 8 * kMega);
  EXPECT_THROW(take(~std::size_t{0}), OutOfMemoryError);
  expect_all_returned();
}

TEST_F(DeviceMemoryTest, WaitingForAnotherStreamCanBeEnough) {
  driver.limit = 4 * kMega;
  void* block = take(3 * kMega);
  memory.used_on(block, side);
  give(block, 3 * kMega);
  EXPECT_EQ(take(3 * kMega), block);
  EXPECT_EQ(driver.event_waits, 1);
  give(block, 3 * kMega);
  expect_all_returned();
}

TEST_F(DeviceMemoryTest, SlabIsFreedOnlyWhenAllOfItIsFree) {
  void* a = take(1000);
  void* b = take(1000);
  give(a, 1000);
  memory.empty_cache();
  EXPECT_EQ(driver.held, DeviceMemory::kSlab);
  EXPECT_EQ(take(1000), a);
  give(a, 1000);
  give(b, 1000);
  expect_all_returned();
}

TEST_F(DeviceMemoryTest, FreeingTwiceOrForeignMemoryChangesNothing) {
  void* a = take(1000);
  give(a, 1000);
  give(a, 1000);
  int foreign = 0;
  give(&foreign, sizeof foreign);
  memory.used_on(&foreign, side);
  EXPECT_EQ(memory.stats().blocks, 0);
  void* first = take(1000);
  void* second = take(1000);
  EXPECT_NE(first, second);
  give(first, 1000);
  give(second, 1000);
  expect_all_returned();
}

TEST_F(DeviceMemoryTest, NothingIsFreedOnAFailedDevice) {
  void* a = take(1000);
  driver.usable = false;
  give(a, 1000);
  EXPECT_EQ(memory.stats().blocks, 1);
  driver.usable = true;
  give(a, 1000);
  expect_all_returned();
}

TEST_F(DeviceMemoryTest, CountsThePeak) {
  void* a = take(3 * kMega);
  void* b = take(2 * kMega);
  give(b, 2 * kMega);
  EXPECT_EQ(memory.stats().peak, static_cast<std::int64_t>(5 * kMega));
  memory.reset_peak();
  EXPECT_EQ(memory.stats().peak, static_cast<std::int64_t>(3 * kMega));
  give(a, 3 * kMega);
  expect_all_returned();
}

TEST_F(DeviceMemoryTest, ARandomWorkloadNeverSharesABlock) {
  std::mt19937 random(7);
  struct Live {
    char* block;
    std::size_t bytes;
    unsigned char mark;
  };
  std::vector<Live> live;
  driver.limit = 64 * kMega;
  for (int i = 0; i < 4000; ++i) {
    if (live.size() < 40 && random() % 2) {
      const std::size_t bytes = random() % 3 ? random() % 5000 + 1 : random() % (3 * kMega) + 1;
      auto* block = static_cast<char*>(take(bytes, random() % 2 ? main : side));
      const auto mark = static_cast<unsigned char>(random());
      std::memset(block, mark, bytes);
      live.push_back({block, bytes, mark});
    } else if (!live.empty()) {
      std::swap(live[random() % live.size()], live.back());
      const Live last = live.back();
      live.pop_back();
      for (std::size_t k = 0; k < last.bytes; k += 97) ASSERT_EQ(static_cast<unsigned char>(last.block[k]), last.mark);
      if (random() % 4 == 0) memory.used_on(last.block, random() % 2 ? main : side);
      give(last.block, last.bytes);
      if (random() % 8 == 0) driver.finish(random() % 2 ? main : side);
    }
    if (i % 1000 == 999) memory.empty_cache();
  }
  for (const Live& each : live) give(each.block, each.bytes);
  expect_all_returned();
}

class MemoryPoolTest : public DeviceMemoryTest {};

TEST_F(MemoryPoolTest, IsUsedByOneCaptureOnly) {
  void* before = take(kMega);
  give(before, kMega);
  void* captured = nullptr;
  void* kept = nullptr;
  {
    MemoryPool pool(memory);
    {
      const PoolGuard guard(pool);
      EXPECT_TRUE(capturing());
      captured = take(kMega);
      EXPECT_NE(captured, before);  // a capture does not take from the cache
      give(captured, kMega);
      EXPECT_EQ(take(kMega), captured);  // within the capture it is reused
      give(captured, kMega);
      kept = take(2 * kMega);
      EXPECT_TRUE(memory.is_of(kept, pool));
      std::thread([&] { EXPECT_FALSE(capturing()); }).join();
    }
    EXPECT_FALSE(capturing());
    EXPECT_EQ(take(kMega), before);
    EXPECT_NE(take(kMega), captured);
    memory.empty_cache();
    EXPECT_TRUE(driver.blocks.contains(captured));
    const PoolGuard again(pool);
    EXPECT_EQ(take(kMega), captured);
    give(captured, kMega);
  }
  EXPECT_EQ(driver.device_waits, 2);  // empty_cache, and the end of the pool
  EXPECT_EQ(take(kMega), captured);
  give(kept, 2 * kMega);
  EXPECT_EQ(take(2 * kMega), kept);
}

TEST_F(MemoryPoolTest, NoEventIsRecordedDuringACapture) {
  void* block = take(kMega);
  memory.used_on(block, side);
  MemoryPool pool(memory);
  {
    const PoolGuard guard(pool);
    give(block, kMega);
    EXPECT_EQ(driver.events, 0u);
    memory.empty_cache();
    EXPECT_EQ(driver.device_waits, 0);
  }
  EXPECT_EQ(driver.events, 1u);
  driver.finish(side);
  EXPECT_EQ(take(kMega), block);
  give(block, kMega);
}

TEST_F(MemoryPoolTest, ACaptureGivesTheCacheBackOnlyWhereMemoryIsShort) {
  driver.limit = 7 * kMega;
  give(take(3 * kMega), 3 * kMega);
  MemoryPool pool(memory);
  {
    const PoolGuard guard(pool);
    void* first = take(2 * kMega);
    EXPECT_EQ(driver.device_waits, 0);
    EXPECT_EQ(driver.held, 5 * kMega);
    void* second = take(3 * kMega);
    EXPECT_EQ(driver.device_waits, 1);
    EXPECT_EQ(driver.held, 5 * kMega);
    EXPECT_THROW(take(3 * kMega), OutOfMemoryError);
    give(first, 2 * kMega);
    give(second, 3 * kMega);
  }
}

TEST_F(MemoryPoolTest, KeepsOtherMemoryThatTheCaptureUses) {
  current = main;
  auto outside = std::make_shared<Storage>(memory, Device(DeviceType::cuda), kMega);
  const std::weak_ptr<Storage> watched = outside;
  int released = 0;
  {
    MemoryPool pool(memory);
    pool.at_release([&] { ++released; });
    {
      const PoolGuard guard(pool);
      const auto inside = std::make_shared<Storage>(memory, Device(DeviceType::cuda), kMega);
      pool.keep(inside);
      pool.keep(outside);
      pool.keep(outside);
      EXPECT_EQ(inside.use_count(), 1);
      EXPECT_EQ(outside.use_count(), 2);
    }
    outside.reset();
    EXPECT_FALSE(watched.expired());
    EXPECT_EQ(released, 0);
  }
  EXPECT_TRUE(watched.expired());
  EXPECT_EQ(released, 1);
  expect_all_returned();
}

TEST_F(DeviceMemoryTest, TheDebugModePoisonsAndGuards) {
  memory.set_debug(true);
  auto* block = static_cast<unsigned char*>(take(1000));
  EXPECT_EQ(block[0], 0xFF);
  EXPECT_EQ(block[999], 0xFF);
  std::memset(block, 1, 1000);
  EXPECT_EQ(memory.check(block, "relu"), "");
  give(block, 1000);
  EXPECT_EQ(memory.take_damage(), "");
  EXPECT_EQ(block[0], 0xFF);  // poisoned
  EXPECT_EQ(block[999], 0xFF);

  for (const int at : {-1, -512, 1000, 1511}) {
    block = static_cast<unsigned char*>(take(1000));
    EXPECT_EQ(memory.check(block, "softmax"), "");
    block[at] = 3;
    EXPECT_TRUE(has(memory.check(block, "relu"), "at byte " + std::to_string(at))) << at;
    give(block, 1000);
    const std::string damage = memory.take_damage();
    for (const char* part : {"1000 bytes on fake:0", "out of bounds", "last used  relu"})
      EXPECT_TRUE(has(damage, part)) << damage;
    EXPECT_EQ(memory.take_damage(), "");
  }
  // Blocks of both modes exist together.
  void* guarded = take(1000);
  memory.set_debug(false);
  void* plain = take(1000);
  EXPECT_EQ(memory.check(plain, "relu"), "");
  memory.used_on(guarded, side);
  give(guarded, 1000);
  give(plain, 1000);
  expect_all_returned();
}

}  // namespace
}  // namespace minnow::cuda
