#pragma once

#include <memory>
#include <mutex>
#include <unordered_map>
#include <vector>
#include <minnow/tensor/cuda/memory/event_pool.h>
#include <minnow/tensor/internal.h>
#include <minnow/tensor/runtime/allocator.h>

namespace minnow::cuda {

/// Page-locked host memory for copies to and from devices.  A freed block is reused when the copies that use it are
/// done.
class PinnedMemory final : public Allocator {
 public:
  explicit PinnedMemory(Driver& driver) : driver_(driver) {}

  void* allocate(std::size_t bytes) override;
  void deallocate(void* data, std::size_t bytes) noexcept override;
  MemoryStats stats() const override;
  void empty_cache() override;
  void reset_peak() override;

  /// Whether the block was allocated here.
  bool owns(const void* data) const;
  /// Notes that a copy uses the block until the event.
  void hold(const void* data, PooledEvent event);

 private:
  struct Block {
    void* data = nullptr;
    std::size_t size = 0;
    std::vector<PooledEvent> uses;
    bool live = false;
  };

  // The caller holds mutex_.
  Block* obtain(std::size_t size);
  void make_free(Block* block);
  void process_pending(bool wait);
  void release_cache();

  Driver& driver_;
  mutable std::mutex mutex_;
  std::unordered_map<const void*, std::unique_ptr<Block>> blocks_;
  FreeLists<Block> free_;
  std::vector<Block*> pending_;
  MemoryStats stats_;
};

}  // namespace minnow::cuda
