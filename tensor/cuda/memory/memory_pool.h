#pragma once

#include <functional>
#include <memory>
#include <vector>
#include <minnow/tensor/storage.h>

namespace minnow::cuda {

struct Arena;
class DeviceMemory;

/// The memory of captured work: nobody else gets its blocks until the pool is destroyed; blocks that are still in use
/// then return to the device's cache when they are freed.  Other memory that the captured work uses is kept alive.
class MemoryPool {
 public:
  explicit MemoryPool(DeviceMemory& memory);
  /// Waits for the device, since a replay may be running.
  ~MemoryPool();
  MemoryPool(const MemoryPool&) = delete;
  MemoryPool& operator=(const MemoryPool&) = delete;

  DeviceMemory& memory() const { return memory_; }
  /// Keeps a storage alive as long as the pool, unless its memory is from the pool.
  void keep(const std::shared_ptr<Storage>& storage);
  /// Adds an action for the destruction of the pool, e.g. to return what the captured work refers to.  It must not
  /// throw.
  void at_release(std::function<void()> action) { at_release_.push_back(std::move(action)); }

 private:
  friend class DeviceMemory;
  DeviceMemory& memory_;
  std::unique_ptr<Arena> arena_;
  std::vector<std::shared_ptr<Storage>> kept_;
  std::vector<std::function<void()>> at_release_;
};

/// Exists while this thread captures work on the pool's device: its allocations there come from the pool, and
/// operations that would wait for the device are refused.  Destroy it after the end of the capture.
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
/// Whether this thread is capturing.
inline bool capturing() { return current_pool() != nullptr; }

}  // namespace minnow::cuda
