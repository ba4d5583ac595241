#pragma once

#include <atomic>
#include <minnow/tensor/allocator.h>
#include <minnow/tensor/device.h>

namespace minnow::detail {

/// The memory of a captured step: blocks of a device's allocator that nobody else is given while the pool is open.
/// Freed ones serve the later calls of the same step, as they do in a step that runs directly.  Thread-safe.
class CapturePool final : public Allocator {
 public:
  /// A pool that nobody uses; pools are never destroyed, since a tensor may outlive the capture.
  static CapturePool& open(Allocator& memory, Device device);
  /// Gives the blocks back: those that still have an owner as they are freed.
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
