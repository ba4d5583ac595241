#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <vector>
#include <minnow/tensor/allocator.h>

namespace minnow::detail {

/// The memory that a step allocates while it is captured, from the allocator of its device.  Each block has a number, so that
/// two tensors at one address, one after the other, are told apart.  Blocks that are in use when the capture ends belong to
/// results, gradients and other tensors that outlive the step: replays write to them, and nobody else gets them before the
/// pool is closed.  Thread-safe.
class CapturePool final : public Allocator {
 public:
  /// An unused pool, which is now open.  Pools are never destroyed, since a tensor may outlive the capture.
  static CapturePool& open(Allocator& memory);
  /// The number of the block that a tensor has, counted from 0.
  std::size_t number_of(void* block) const;
  /// Ends the allocation: from now on blocks that are freed are kept.  Returns, by number, whether a block is in use.
  std::vector<bool> finish();
  /// Returns the blocks to the device: those that tensors still use when they are freed.
  void close() noexcept;

  void* allocate(std::size_t bytes) override;
  void deallocate(void* block, std::size_t bytes) noexcept override;
  MemoryStats stats() const override;
  void empty_cache() override {}
  void reset_peak() override {}

 private:
  enum class Phase : std::uint8_t { capturing, replayed, closed };
  struct Block {
    std::size_t number, bytes;
    bool in_use = true;
  };

  explicit CapturePool(Allocator& memory) : memory_(memory) {}

  Allocator& memory_;
  mutable std::mutex mutex_;
  Phase phase_ = Phase::capturing;
  std::size_t blocks_so_far_ = 0;
  std::unordered_map<void*, Block> blocks_;
};

}  // namespace minnow::detail
