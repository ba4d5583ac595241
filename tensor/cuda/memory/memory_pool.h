#pragma once

#include <functional>
#include <memory>
#include <vector>
#include <minnow/tensor/storage.h>

namespace minnow::cuda {

struct Arena;
class DeviceMemory;

/// The memory of work that is captured once and replayed later: its blocks stay where they are and are given to nobody
/// else until the pool is gone, when blocks that still have an owner return to the device's cache as they are freed.
/// What the captured work uses of other memory is kept alive.
class MemoryPool {
 public:
  explicit MemoryPool(DeviceMemory& memory);
  /// Waits for the device: a replay may be under way.
  ~MemoryPool();
  MemoryPool(const MemoryPool&) = delete;
  MemoryPool& operator=(const MemoryPool&) = delete;

  DeviceMemory& memory() const { return memory_; }
  /// Keeps a storage alive as long as the pool, unless its memory is the pool's own.
  void keep(const std::shared_ptr<Storage>& storage);
  /// To be called when the pool is gone, e.g. to give back what the captured work refers to.  Must not throw.
  void at_release(std::function<void()> action) { at_release_.push_back(std::move(action)); }

 private:
  friend class DeviceMemory;
  DeviceMemory& memory_;
  std::unique_ptr<Arena> arena_;
  std::vector<std::shared_ptr<Storage>> kept_;
  std::vector<std::function<void()>> at_release_;
};

/// While it lives, this thread's work on the pool's device is being captured: what the thread allocates there comes from
/// the pool, and operations that would wait for the device are refused.  To be destroyed after the end of the capture.
class PoolGuard {
 public:
  explicit PoolGuard(MemoryPool& pool);
  ~PoolGuard();
  PoolGuard(const PoolGuard&) = delete;
  PoolGuard& operator=(const PoolGuard&) = delete;

 private:
  MemoryPool* previous_;
};

/// The pool of the thread's innermost PoolGuard, or nullptr.
MemoryPool* current_pool();
/// Whether this thread's work is being captured.
inline bool capturing() { return current_pool() != nullptr; }

}  // namespace minnow::cuda
