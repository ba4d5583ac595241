#pragma once

#include <atomic>
#include <cstddef>
#include <memory>
#include <string>
#include <minnow/tensor/internal.h>
#include <minnow/tensor/runtime/allocator.h>
#include <minnow/tensor/sim/engine.h>
#include <minnow/tensor/sim/sim_stream.h>

namespace minnow::sim {

/// Host memory used as the memory of a device, up to a limit, which may change at any time.
class LimitedMemory final : public MemorySource {
 public:
  LimitedMemory(std::string name, const std::atomic<std::size_t>& limit) : name_(std::move(name)), limit_(limit) {}

  void* obtain(std::size_t bytes) noexcept override;
  void release(void* block, std::size_t bytes) noexcept override;
  /// Waits for the copies of all devices, since a copy between two of them holds memory of both.
  void wait_for_work() noexcept override;
  std::string name() const override { return name_; }
  std::size_t limit() const override { return limit_.load(std::memory_order_relaxed); }

 private:
  const std::string name_;
  const std::atomic<std::size_t>& limit_;
  std::atomic<std::size_t> used_ = 0;
};

/// A simulated accelerator: its memory, copy engine and default stream.
struct SimDevice {
  explicit SimDevice(int index);

  std::atomic<std::size_t> limit = 0;
  CachingAllocator allocator;
  Engine engine;
  const std::shared_ptr<SimStream> default_stream;
};

/// The devices are never destroyed: copies may run and global tensors exist when the program ends.
SimDevice& device(int index);

}  // namespace minnow::sim
