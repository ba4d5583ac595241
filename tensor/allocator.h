#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace minnow {

/// Bytes, as `memory_stats(device)` reports them.
struct MemoryStats {
  std::int64_t allocated = 0;     ///< in tensors that are alive
  std::int64_t reserved = 0;      ///< taken from the system: live blocks and the cache
  std::int64_t peak = 0;          ///< the most that was ever allocated (since reset_peak_memory)
  std::int64_t blocks = 0;        ///< live blocks
  std::int64_t system_calls = 0;  ///< blocks ever obtained from the system: constant in a steady state
};

namespace detail {

/// The memory of one device.  Thread-safe.  Lives until the process ends, so that a global tensor may die
/// last.
class Allocator {
 public:
  virtual ~Allocator() = default;
  /// At least `bytes` bytes, 64-byte aligned.  OutOfMemoryError when there are none, even with the cache
  /// freed.
  virtual void* allocate(std::size_t bytes) = 0;
  /// Gives a block back; `bytes` as it was asked for.
  virtual void deallocate(void* block, std::size_t bytes) noexcept = 0;
  virtual MemoryStats stats() const = 0;
  /// Returns every cached block to the system.
  virtual void empty_cache() = 0;
  virtual void reset_peak() = 0;
  /// The stream in whose order a block that this thread allocates now is used and reused; nullptr where memory knows
  /// no streams.
  virtual const void* stream() const { return nullptr; }
};

/// Where a CachingAllocator gets its blocks: the operating system, a driver, or a test's fake.
class MemorySource {
 public:
  virtual ~MemorySource() = default;
  /// nullptr when there is no memory.
  virtual void* obtain(std::size_t bytes) noexcept = 0;
  virtual void release(void* block, std::size_t bytes) noexcept = 0;
  /// Waits for work under way, which may hold blocks.  Called without any lock: what finishes gives its blocks back
  /// meanwhile.
  virtual void wait_for_work() noexcept {}
  /// "cpu", "sim:0": for messages.
  virtual std::string name() const = 0;
  /// The most that there is, for messages; 0 where nobody knows.
  virtual std::size_t limit() const { return 0; }
};

/// Keeps freed blocks in lists by size class (eight classes between powers of two, so at most 1/8 is wasted)
/// and hands them out again: a steady state calls the system never.
class CachingAllocator final : public Allocator {
 public:
  explicit CachingAllocator(std::unique_ptr<MemorySource> source) : source_(std::move(source)) {}
  ~CachingAllocator() override { empty_cache(); }

  void* allocate(std::size_t bytes) override;
  void deallocate(void* block, std::size_t bytes) noexcept override;
  MemoryStats stats() const override;
  void empty_cache() override;
  void reset_peak() override;

  /// The size of the block that serves a request.
  static std::size_t rounded(std::size_t bytes);
  /// The number of such a size, counted from the smallest.
  static int class_of(std::size_t rounded_bytes);

 private:
  void* take(std::size_t size);
  void release_cache();
  [[noreturn]] void out_of_memory(std::size_t bytes) const;

  std::unique_ptr<MemorySource> source_;
  mutable std::mutex mutex_;
  std::vector<std::vector<void*>> free_;  // by size class
  MemoryStats stats_;
};

/// The host's memory: 64-byte aligned, large blocks backed by huge pages, never unmapped in a steady state.
Allocator& cpu_allocator();

}  // namespace detail
}  // namespace minnow
