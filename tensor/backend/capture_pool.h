#pragma once

#include <atomic>
#include <minnow/tensor/allocator.h>
#include <minnow/tensor/device.h>

namespace minnow::detail {

/// The memory of a captured step: blocks of a device's allocator that nobody else gets while the pool is open.  Freed
/// blocks are reused by later calls of the same step, as in a direct run.  Thread-safe.
class CapturePool final : public Allocator {
 public:
  /// An unused pool, which is now open.  Pools are never destroyed, since a tensor may outlive the capture.
  static CapturePool& open(Allocator& memory, Device device);
  /// Returns the blocks to the device: those that tensors still use when they are freed.
  void close() noexcept;

  void* allocate(std::size_t bytes) override { return blocks_.allocate(bytes); }
  void deallocate(void* block, std::size_t bytes) noexcept override;
  MemoryStats stats() const override { return blocks_.stats(); }
  void empty_cache() override { blocks_.empty_cache(); }
  void reset_peak() override { blocks_.reset_peak(); }

 private:
  CapturePool(Allocator& memory, Device device);

  Allocator& memory_;
  std::atomic<bool> open_ = true;
  CachingAllocator blocks_;
};

}  // namespace minnow::detail
