#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <mutex>
#include <string>
#include <minnow/tensor/runtime/free_lists.h>

namespace minnow {

/// Memory of a device in bytes, and counts (see memory_stats).
struct MemoryStats {
  std::int64_t allocated = 0;     ///< in live blocks
  std::int64_t reserved = 0;      ///< obtained from the system: live blocks and the cache
  std::int64_t peak = 0;          ///< the maximum of `allocated` since the start or reset_peak_memory()
  std::int64_t blocks = 0;        ///< live blocks
  std::int64_t system_calls = 0;  ///< blocks obtained from the system so far: constant in a steady state
  std::int64_t limit = 0;         ///< that set_memory_limit() has set; 0: none
};

namespace detail {

/// The limit of an allocator without one.
inline constexpr std::int64_t kNoLimit = std::numeric_limits<std::int64_t>::max();

/// The memory of one device.  Thread-safe.  Lives until the process ends, since global tensors may be destroyed last.
class Allocator {
 public:
  virtual ~Allocator() = default;
  /// At least `bytes` bytes, 64-byte aligned.  OutOfMemoryError if there are none, even after the cache was freed.
  virtual void* allocate(std::size_t bytes) = 0;
  /// Returns a block; `bytes` as given to allocate().
  virtual void deallocate(void* block, std::size_t bytes) noexcept = 0;
  virtual MemoryStats stats() const = 0;
  /// Returns every cached block to the system.
  virtual void empty_cache() = 0;
  virtual void reset_peak() = 0;
  /// Obtains no more than `bytes` from the system; 0: no limit.  Memory of devices only.
  virtual void set_limit(std::int64_t) {}
  /// The stream whose order decides when a block that this thread allocates now may be used and reused; nullptr for
  /// memory without streams.
  virtual const void* stream() const { return nullptr; }
};

/// The source of a CachingAllocator's blocks: the operating system, a driver, or a fake in a test.
class MemorySource {
 public:
  virtual ~MemorySource() = default;
  /// nullptr if there is no memory.
  virtual void* obtain(std::size_t bytes) noexcept = 0;
  virtual void release(void* block, std::size_t bytes) noexcept = 0;
  /// Waits for running work, which may hold blocks.  Called without a lock, so that finished work can return its
  /// blocks.
  virtual void wait_for_work() noexcept {}
  /// "cpu", "sim:0": for messages.
  virtual std::string name() const = 0;
  /// The maximum in bytes, for messages; 0 if it is not known.
  virtual std::size_t limit() const { return 0; }
};

/// Keeps freed blocks by size class and reuses them: in a steady state it makes no system calls.
class CachingAllocator final : public Allocator {
 public:
  explicit CachingAllocator(std::unique_ptr<MemorySource> source) : source_(std::move(source)) {}
  ~CachingAllocator() override { empty_cache(); }

  void* allocate(std::size_t bytes) override;
  void deallocate(void* block, std::size_t bytes) noexcept override;
  MemoryStats stats() const override;
  void empty_cache() override;
  void reset_peak() override;
  void set_limit(std::int64_t bytes) override;

 private:
  void* take(std::size_t size);
  void release_cache();
  [[noreturn]] void out_of_memory(std::size_t bytes) const;

  std::unique_ptr<MemorySource> source_;
  mutable std::mutex mutex_;
  FreeLists<void> free_;
  MemoryStats stats_;
  std::int64_t limit_ = kNoLimit;
};

/// OutOfMemoryError with these numbers, and the lines that hold most, if memory is recorded.
[[noreturn]] void throw_out_of_memory(const std::string& device, std::size_t requested, const MemoryStats& stats,
                                      const std::string& more);

/// Host memory: 64-byte aligned, large blocks on huge pages.
Allocator& cpu_allocator();

}  // namespace detail
}  // namespace minnow
