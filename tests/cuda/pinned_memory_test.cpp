#include <gtest/gtest.h>
#include <minnow/tensor/cuda/memory/pinned_memory.h>
#include <minnow/tensor/error.h>

#include "fake_driver.h"

namespace minnow::cuda {
namespace {

class PinnedMemoryTest : public ::testing::Test {
 protected:
  FakeDriver driver;
  EventPool events{driver, EventUse::ordering};
  PinnedMemory memory{driver};
  StreamHandle stream = driver.create_stream(), other = driver.create_stream();
};

TEST_F(PinnedMemoryTest, IsUsedAgainAndReturned) {
  void* a = memory.allocate(1000);
  EXPECT_TRUE(memory.owns(a));
  EXPECT_FALSE(memory.owns(&a));
  memory.deallocate(a, 1000);
  memory.deallocate(a, 1000);
  EXPECT_EQ(memory.allocate(990), a);
  void* b = memory.allocate(1000);
  EXPECT_NE(a, b);
  EXPECT_EQ(memory.stats().system_calls, 2);
  EXPECT_EQ(memory.stats().blocks, 2);
  memory.deallocate(a, 990);
  memory.deallocate(b, 1000);
  EXPECT_EQ(memory.stats().allocated, 0);
  EXPECT_EQ(memory.stats().peak, 2048);
  memory.reset_peak();
  EXPECT_EQ(memory.stats().peak, 0);
  memory.empty_cache();
  EXPECT_EQ(memory.stats().reserved, 0);
  EXPECT_FALSE(memory.owns(a));
  EXPECT_TRUE(driver.pinned.empty());
  EXPECT_EQ(driver.faults, 0);
}

TEST_F(PinnedMemoryTest, IsHeldUntilTheCopiesAreDone) {
  void* a = memory.allocate(5000);
  memory.hold(a, events.record(stream));
  memory.hold(a, events.record(other));
  memory.deallocate(a, 5000);
  void* b = memory.allocate(5000);
  EXPECT_NE(b, a);
  driver.finish(stream);
  void* c = memory.allocate(5000);
  EXPECT_NE(c, a);
  driver.finish(other);
  EXPECT_EQ(memory.allocate(5000), a);
  EXPECT_EQ(driver.event_waits, 0);
  // A finished copy holds no memory.
  memory.hold(a, events.record(stream));
  driver.finish(stream);
  memory.deallocate(a, 5000);
  EXPECT_EQ(memory.allocate(5000), a);
  EXPECT_EQ(driver.events, 2u);
}

TEST_F(PinnedMemoryTest, FinishedHoldsAreRemoved) {
  void* a = memory.allocate(100);
  for (int i = 0; i < 100; ++i) {
    memory.hold(a, events.record(stream));
    driver.finish(stream);
  }
  EXPECT_LE(driver.events, 2u);
  memory.deallocate(a, 100);
}

TEST_F(PinnedMemoryTest, OutOfMemoryWaitsForCopiesThenFreesTheCache) {
  driver.pinned_limit = 2;
  void* a = memory.allocate(5000);
  memory.hold(a, events.record(stream));
  memory.deallocate(a, 5000);
  void* b = memory.allocate(5000);
  EXPECT_EQ(memory.allocate(5000), a);  // its copy was waited for
  EXPECT_EQ(driver.event_waits, 1);
  memory.deallocate(a, 5000);
  void* c = memory.allocate(100'000);  // another class: the cache is freed
  EXPECT_EQ(driver.pinned.size(), 2u);
  EXPECT_THROW(memory.allocate(200'000), OutOfMemoryError);
  EXPECT_THROW(memory.allocate(~std::size_t{0}), OutOfMemoryError);
  memory.deallocate(b, 5000);
  memory.deallocate(c, 100'000);
  memory.empty_cache();
  EXPECT_TRUE(driver.pinned.empty());
  EXPECT_EQ(driver.faults, 0);
}

}  // namespace
}  // namespace minnow::cuda
