#include <cstdlib>
#include <gtest/gtest.h>
#include <map>
#include <random>
#include <thread>
#include <minnow/tensor/error.h>
#include <minnow/tensor/internal.h>
#include <minnow/tensor/runtime/allocator.h>
#include <minnow/tensor/runtime/memory.h>

#include "support/host_tensor.h"
#include "support/thrown.h"

namespace minnow {
namespace {

/// Counts its allocations, and fails when its budget is used up.
struct Ledger {
  std::map<void*, std::size_t> blocks;
  std::size_t used = 0, budget = std::size_t{1} << 40;
  int obtained = 0, faults = 0;
};

class FakeMemory final : public MemorySource {
 public:
  explicit FakeMemory(Ledger& ledger) : ledger_(ledger) {}
  void* obtain(std::size_t bytes) noexcept override {
    if (ledger_.used + bytes > ledger_.budget) return nullptr;
    void* block = std::malloc(1);  // a unique address; its content is not used
    ledger_.blocks[block] = bytes;
    ledger_.used += bytes;
    ++ledger_.obtained;
    return block;
  }
  void release(void* block, std::size_t bytes) noexcept override {
    const auto it = ledger_.blocks.find(block);
    if (it == ledger_.blocks.end() || it->second != bytes) {
      ++ledger_.faults;
      return;
    }
    ledger_.used -= bytes;
    ledger_.blocks.erase(it);
    std::free(block);
  }
  std::string name() const override { return "fake:0"; }
  std::size_t limit() const override { return ledger_.budget; }

 private:
  Ledger& ledger_;
};

TEST(SizeClass, WastesAtMostAnEighth) {
  std::mt19937_64 random(1);
  for (int i = 0; i < 20000; ++i) {
    const std::size_t bytes = i < 4096 ? static_cast<std::size_t>(i) : random() >> (random() % 50 + 14);
    const std::size_t size = SizeClass::rounded(bytes);
    ASSERT_GE(size, bytes);
    ASSERT_GE(size, 512U);
    ASSERT_EQ(size % 64, 0U) << bytes;
    if (bytes >= 512) { ASSERT_LE(size - bytes, bytes / 8) << bytes; }
    ASSERT_EQ(SizeClass::rounded(size), size) << bytes;
    ASSERT_EQ(SizeClass::size(SizeClass::index(size)), size) << bytes;
  }
}

TEST(CachingAllocator, ReturnsAllMemoryToTheSystem) {
  Ledger ledger;
  {
    CachingAllocator allocator(std::make_unique<FakeMemory>(ledger));
    std::mt19937_64 random(2);
    std::vector<std::pair<void*, std::size_t>> live;
    std::size_t live_bytes = 0, peak = 0;
    for (int i = 0; i < 20000; ++i) {
      if (live.empty() || random() % 2) {
        const std::size_t bytes = random() >> (random() % 20 + 44);
        live.emplace_back(allocator.allocate(bytes), bytes);
        live_bytes += SizeClass::rounded(bytes);
        peak = std::max(peak, live_bytes);
        ASSERT_EQ(ledger.blocks.at(live.back().first), SizeClass::rounded(bytes));
      } else {
        const std::size_t at = random() % live.size();
        allocator.deallocate(live[at].first, live[at].second);
        live_bytes -= SizeClass::rounded(live[at].second);
        live.erase(live.begin() + static_cast<std::ptrdiff_t>(at));
      }
      if (i % 1000 == 0) allocator.empty_cache();
      const MemoryStats stats = allocator.stats();
      ASSERT_EQ(stats.allocated, static_cast<std::int64_t>(live_bytes));
      ASSERT_EQ(stats.peak, static_cast<std::int64_t>(peak));
      ASSERT_EQ(stats.reserved, static_cast<std::int64_t>(ledger.used));
      ASSERT_EQ(stats.blocks, static_cast<std::int64_t>(live.size()));
      ASSERT_EQ(stats.system_calls, ledger.obtained);
    }
    for (const auto& [block, bytes] : live) allocator.deallocate(block, bytes);
    EXPECT_EQ(allocator.stats().allocated, 0);
    allocator.reset_peak();
    EXPECT_EQ(allocator.stats().peak, 0);
  }
  EXPECT_EQ(ledger.faults, 0);
  EXPECT_TRUE(ledger.blocks.empty());
}

TEST(CachingAllocator, SteadyStateMakesNoSystemCalls) {
  Ledger ledger;
  CachingAllocator allocator(std::make_unique<FakeMemory>(ledger));
  for (int step = 0; step < 100; ++step) {
    void* a = allocator.allocate(1000);
    void* b = allocator.allocate(1 << 20);
    EXPECT_NE(a, b);
    allocator.deallocate(a, 1000);
    allocator.deallocate(b, 1 << 20);
  }
  EXPECT_EQ(ledger.obtained, 2);
}

TEST(CachingAllocator, FreesItsCacheAndRetriesOnce) {
  Ledger ledger;
  ledger.budget = 10 << 10;
  CachingAllocator allocator(std::make_unique<FakeMemory>(ledger));
  void* small = allocator.allocate(4 << 10);
  void* cached = allocator.allocate(5 << 10);
  allocator.deallocate(cached, 5 << 10);
  void* other = allocator.allocate(6 << 10);  // fits only when the 5 kB are returned
  EXPECT_EQ(allocator.stats().reserved, 10 << 10);
  EXPECT_EQ(ledger.blocks.size(), 2U);

  const std::string message = test::error_of<OutOfMemoryError>([&] { allocator.allocate(3000); });
  for (const char* part : {"fake:0", "requested 3000 bytes", "in tensors 10240 bytes", "reserved 10240", "peak 10240",
                           "limit 10240", "smaller batches"})
    EXPECT_NE(message.find(part), std::string::npos) << message;
  EXPECT_EQ(allocator.stats().blocks, 2);  // the failure changed nothing

  allocator.deallocate(small, 4 << 10);
  EXPECT_EQ(allocator.allocate(4 << 10), small);
  allocator.deallocate(small, 4 << 10);
  allocator.deallocate(other, 6 << 10);
  EXPECT_EQ(ledger.faults, 0);
}

TEST(CachingAllocator, RefusesSizesThatNoMachineHas) {
  Ledger ledger;
  CachingAllocator allocator(std::make_unique<FakeMemory>(ledger));
  for (const std::size_t bytes :
       {~std::size_t{0}, std::size_t{1} << 63, (std::size_t{1} << 62) + 1, std::size_t{1} << 62})
    EXPECT_THROW(allocator.allocate(bytes), OutOfMemoryError) << bytes;
  EXPECT_EQ(ledger.obtained, 0);
}

TEST(CachingAllocator, IsThreadSafe) {
  const MemoryStats before = memory_stats("cpu");
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([t] {
      for (std::size_t i = 0; i < 500; ++i) {
        const std::size_t bytes = 64 + i * 8;
        auto* block = static_cast<unsigned char*>(cpu_allocator().allocate(bytes));
        std::fill(block, block + bytes, static_cast<unsigned char>(t));
        for (std::size_t k = 0; k < bytes; ++k) ASSERT_EQ(block[k], t);  // no other thread has the same block
        cpu_allocator().deallocate(block, bytes);
      }
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(memory_stats("cpu").allocated, before.allocated);
}

TEST(Memory, IsAlignedCountedAndReturned) {
  const std::int64_t storages = live_storages();
  const MemoryStats before = memory_stats("cpu");
  {
    const Tensor x = test::counting(1000);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(x.raw_data()) % 64, 0U);
    EXPECT_EQ(live_storages(), storages + 1);
    EXPECT_EQ(memory_stats("cpu").allocated, before.allocated + 4096);
    EXPECT_EQ(memory_stats("cpu").blocks, before.blocks + 1);
  }
  EXPECT_EQ(live_storages(), storages);
  reset_peak_memory("cpu");
  EXPECT_EQ(memory_stats("cpu").peak, before.allocated);
  empty_cache("cpu");
  EXPECT_EQ(memory_stats("cpu").reserved, memory_stats("cpu").allocated);
}

TEST(Storage, EmptyStorageHasNoMemoryAndTheDeleterRunsOnce) {
  const Storage empty(cpu_allocator(), Device(), 0);
  EXPECT_EQ(empty.data(), nullptr);
  int deleted = 0;
  int value = 3;
  {
    const Storage blob(&value, sizeof value, Device(), [&](void* data) {
      EXPECT_EQ(data, &value);
      ++deleted;
    });
    EXPECT_FALSE(blob.is_pinned());
    EXPECT_TRUE(blob.is_ready());
  }
  EXPECT_EQ(deleted, 1);
  {
    const Storage throws(&value, sizeof value, Device(), [](void*) { throw 1; });
  }
}

}  // namespace
}  // namespace minnow
