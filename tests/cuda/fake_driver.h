#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <gtest/gtest.h>
#include <map>
#include <mutex>
#include <set>
#include <vector>
#include <minnow/tensor/cuda/memory/driver.h>

namespace minnow::cuda {

/// A driver without a device.  Work on its streams finishes when a test says so, or when something waits for it.  The
/// functions are thread-safe; read the counters when nobody calls them.
class FakeDriver final : public Driver {
 public:
  ~FakeDriver() override {
    for (const auto& [block, bytes] : blocks) std::free(block);
    for (void* block : pinned) std::free(block);
  }

  bool is_usable() const noexcept override { return usable; }

  void* allocate(std::size_t bytes) noexcept override {
    const std::lock_guard lock(mutex);
    ++allocations;
    if (held + bytes > limit) return nullptr;
    void* block = std::malloc(bytes);
    blocks[block] = bytes;
    held += bytes;
    return block;
  }
  void release(void* block) noexcept override {
    const std::lock_guard lock(mutex);
    const auto found = blocks.find(block);
    if (found == blocks.end()) {
      ++faults;
      return;
    }
    held -= found->second;
    blocks.erase(found);
    std::free(block);
  }
  void* allocate_pinned(std::size_t bytes) noexcept override {
    const std::lock_guard lock(mutex);
    if (pinned.size() >= pinned_limit) return nullptr;
    ++allocations;
    void* block = std::malloc(bytes);
    pinned.insert(block);
    return block;
  }
  void release_pinned(void* block) noexcept override {
    const std::lock_guard lock(mutex);
    if (pinned.erase(block) != 1) ++faults;
    else std::free(block);
  }
  std::size_t free_bytes() noexcept override {
    const std::lock_guard lock(mutex);
    return limit - held;
  }

  StreamHandle create_stream() override {
    const std::lock_guard lock(mutex);
    return handle(++streams);
  }
  void synchronize_device() override {
    const std::lock_guard lock(mutex);
    ++device_waits;
    for (auto& [stream, count] : given) done[stream] = count;
  }

  EventHandle create_event(EventUse) override {
    const std::lock_guard lock(mutex);
    return handle(1000 + ++events);
  }
  void record(EventHandle event, StreamHandle stream) override {
    const std::lock_guard lock(mutex);
    points[event] = {stream, ++given[stream]};
  }
  bool is_complete(EventHandle event) override {
    const std::lock_guard lock(mutex);
    return done[points.at(event).first] >= points.at(event).second;
  }
  void synchronize(EventHandle event) override {
    const std::lock_guard lock(mutex);
    ++event_waits;
    const auto [stream, count] = points.at(event);
    done[stream] = std::max(done[stream], count);
  }
  void wait(StreamHandle, EventHandle) override {}

  void fill(void* block, int value, std::size_t bytes, StreamHandle) override { std::memset(block, value, bytes); }
  void read(void* host, const void* block, std::size_t bytes, StreamHandle) override {
    std::memcpy(host, block, bytes);
  }

  /// Finishes all work of the stream.
  void finish(StreamHandle stream) {
    const std::lock_guard lock(mutex);
    done[stream] = given[stream];
  }
  /// The number of events of the stream, and how many of them are done.
  std::uint64_t given_to(StreamHandle stream) {
    const std::lock_guard lock(mutex);
    return given[stream];
  }
  std::uint64_t done_by(StreamHandle stream) {
    const std::lock_guard lock(mutex);
    return done[stream];
  }
  static void* handle(std::uintptr_t number) { return reinterpret_cast<void*>(number * 8); }

  bool usable = true;
  std::size_t limit = std::size_t{1} << 30, held = 0, pinned_limit = 1000;
  std::map<void*, std::size_t> blocks;
  std::set<void*> pinned;
  std::uintptr_t streams = 0, events = 0;
  int allocations = 0, faults = 0, device_waits = 0, event_waits = 0;

 private:
  std::mutex mutex;
  std::map<StreamHandle, std::uint64_t> given, done;
  std::map<EventHandle, std::pair<StreamHandle, std::uint64_t>> points;
};

/// No memory is in use, and all of it was returned to the driver.
template <class Memory> void expect_all_returned(Memory& memory, const FakeDriver& driver) {
  EXPECT_EQ(memory.stats().allocated, 0);
  EXPECT_EQ(memory.stats().blocks, 0);
  memory.empty_cache();
  EXPECT_EQ(memory.stats().reserved, 0);
  EXPECT_EQ(driver.held, 0u);
  EXPECT_TRUE(driver.pinned.empty());
  EXPECT_EQ(driver.faults, 0);
}

}  // namespace minnow::cuda
