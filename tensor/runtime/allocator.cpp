#include <minnow/tensor/runtime/allocator.h>

#include <algorithm>
#include <minnow/tensor/error.h>
#include <minnow/tensor/internal.h>
#include <minnow/tensor/runtime/storage_origin.h>
#include <minnow/tensor/runtime/system.h>

namespace minnow::detail {
namespace {

constexpr std::size_t kAlignment = 64;
constexpr std::size_t kHugePage = std::size_t{2} << 20;

class HostMemory final : public MemorySource {
 public:
  void* obtain(std::size_t bytes) noexcept override {
    const std::size_t alignment = bytes >= kHugePage ? kHugePage : kAlignment;
    return allocate_aligned(alignment, bytes);
  }
  void release(void* block, std::size_t) noexcept override { free_aligned(block); }
  std::string name() const override { return "cpu"; }
};

}  // namespace

void* CachingAllocator::allocate(std::size_t bytes) {
  if (bytes > (std::size_t{1} << 62)) out_of_memory(bytes);
  const std::size_t size = SizeClass::rounded(bytes);
  std::unique_lock lock(mutex_);
  void* block = take(size);
  if (!block) {
    lock.unlock();
    source_->wait_for_work();
    lock.lock();
    block = take(size);
    if (!block) out_of_memory(bytes);
  }
  stats_.allocated += static_cast<std::int64_t>(size);
  stats_.peak = std::max(stats_.peak, stats_.allocated);
  ++stats_.blocks;
  return block;
}

void CachingAllocator::deallocate(void* block, std::size_t bytes) noexcept {
  const std::size_t size = SizeClass::rounded(bytes);
  const std::lock_guard lock(mutex_);
  stats_.allocated -= static_cast<std::int64_t>(size);
  --stats_.blocks;
  try {
    if (stats_.reserved <= limit_) return free_.put(block, size);
  } catch (...) {  // the list cannot grow
  }
  stats_.reserved -= static_cast<std::int64_t>(size);
  source_->release(block, size);
}

/// A cached block, or one from the source, if necessary after returning the cache to it; nullptr if it has none.
void* CachingAllocator::take(std::size_t size) {
  const auto bytes = static_cast<std::int64_t>(size);
  if (stats_.allocated + bytes > limit_) return nullptr;
  if (void* block = free_.take(size)) return block;
  void* block = stats_.reserved + bytes > limit_ ? nullptr : source_->obtain(size);
  if (!block) {
    release_cache();
    block = source_->obtain(size);
  }
  if (!block) return nullptr;
  stats_.reserved += bytes;
  ++stats_.system_calls;
  return block;
}

MemoryStats CachingAllocator::stats() const {
  const std::lock_guard lock(mutex_);
  return stats_;
}

void CachingAllocator::empty_cache() {
  const std::lock_guard lock(mutex_);
  release_cache();
}

void CachingAllocator::reset_peak() {
  const std::lock_guard lock(mutex_);
  stats_.peak = stats_.allocated;
}

void CachingAllocator::set_limit(std::int64_t bytes) {
  const std::lock_guard lock(mutex_);
  stats_.limit = bytes;
  limit_ = bytes > 0 ? bytes : kNoLimit;
  if (stats_.reserved > limit_) release_cache();
}

void CachingAllocator::release_cache() {
  free_.erase_if([this](void* block, std::size_t size) {
    source_->release(block, size);
    stats_.reserved -= static_cast<std::int64_t>(size);
    return true;
  });
}

void CachingAllocator::out_of_memory(std::size_t bytes) const {
  throw_out_of_memory(source_->name(), bytes, stats_,
                      source_->limit() ? ", limit " + std::to_string(source_->limit()) : "");
}

void throw_out_of_memory(const std::string& device, std::size_t requested, const MemoryStats& stats,
                         const std::string& more) {
  throw OutOfMemoryError(
      "out of memory on " + device + ": requested " + std::to_string(requested) + " bytes\n  in tensors " +
      std::to_string(stats.allocated) + " bytes, reserved " + std::to_string(stats.reserved) + ", peak " +
      std::to_string(stats.peak) + more + (stats.limit ? ", set_memory_limit " + std::to_string(stats.limit) : "") +
      largest_memory_uses(device) + "\nuse smaller batches, or free tensors that are no longer needed" +
      (stats.limit ? ", or raise the limit" : ""));
}

Allocator& cpu_allocator() {
  static auto* allocator = new CachingAllocator(std::make_unique<HostMemory>());  // never destroyed
  return *allocator;
}

}  // namespace minnow::detail
