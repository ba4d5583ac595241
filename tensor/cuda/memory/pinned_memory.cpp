#include <minnow/tensor/cuda/memory/pinned_memory.h>

#include <algorithm>
#include <minnow/tensor/error.h>
#include <minnow/tensor/internal.h>

namespace minnow::cuda {

void* PinnedMemory::allocate(std::size_t bytes) {
  const std::lock_guard lock(mutex_);
  Block* block = bytes > (std::size_t{1} << 62) ? nullptr : obtain(SizeClass::rounded(bytes));
  if (!block)
    throw OutOfMemoryError("out of pinned host memory: requested " + std::to_string(bytes) + " bytes\n  in tensors " +
                           std::to_string(stats_.allocated) + " bytes, reserved " + std::to_string(stats_.reserved) +
                           ", peak " + std::to_string(stats_.peak) + "\nuse pageable memory, or smaller batches");
  block->live = true;
  stats_.allocated += static_cast<std::int64_t>(block->size);
  stats_.peak = std::max(stats_.peak, stats_.allocated);
  ++stats_.blocks;
  return block->data;
}

PinnedMemory::Block* PinnedMemory::obtain(std::size_t size) {
  if (Block* block = free_.take(size)) return block;
  process_pending(false);
  if (Block* block = free_.take(size)) return block;
  void* data = driver_.allocate_pinned(size);
  if (!data) {
    process_pending(true);
    if (Block* block = free_.take(size)) return block;
    release_cache();
    data = driver_.allocate_pinned(size);
  }
  if (!data) return nullptr;
  auto block = std::make_unique<Block>();
  block->data = data;
  block->size = size;
  stats_.reserved += static_cast<std::int64_t>(size);
  ++stats_.system_calls;
  return blocks_.emplace(data, std::move(block)).first->second.get();
}

void PinnedMemory::deallocate(void* data, std::size_t) noexcept {
  if (!driver_.is_usable()) return;
  const std::lock_guard lock(mutex_);
  const auto found = blocks_.find(data);
  if (found == blocks_.end() || !found->second->live) return;
  Block* block = found->second.get();
  block->live = false;
  stats_.allocated -= static_cast<std::int64_t>(block->size);
  --stats_.blocks;
  try {
    if (block->uses.empty()) make_free(block);
    else pending_.push_back(block);
  } catch (...) {  // no memory for the lists: the block is not reused
  }
}

void PinnedMemory::make_free(Block* block) {
  block->uses.clear();
  free_.put(block, block->size);
}

void PinnedMemory::process_pending(bool wait) {
  std::erase_if(pending_, [&](Block* block) {
    for (const PooledEvent& event : block->uses) {
      if (wait) event.synchronize();
      else if (!event.is_complete()) return false;
    }
    make_free(block);
    return true;
  });
}

bool PinnedMemory::owns(const void* data) const {
  const std::lock_guard lock(mutex_);
  return blocks_.contains(data);
}

void PinnedMemory::hold(const void* data, PooledEvent event) {
  const std::lock_guard lock(mutex_);
  const auto found = blocks_.find(data);
  if (found == blocks_.end()) return;
  auto& uses = found->second->uses;
  std::erase_if(uses, [](const PooledEvent& use) { return use.is_complete(); });
  uses.push_back(std::move(event));
}

MemoryStats PinnedMemory::stats() const {
  const std::lock_guard lock(mutex_);
  return stats_;
}

void PinnedMemory::reset_peak() {
  const std::lock_guard lock(mutex_);
  stats_.peak = stats_.allocated;
}

void PinnedMemory::empty_cache() {
  const std::lock_guard lock(mutex_);
  process_pending(true);
  release_cache();
}

void PinnedMemory::release_cache() {
  free_.erase_if([this](Block* block, std::size_t size) {
    driver_.release_pinned(block->data);
    stats_.reserved -= static_cast<std::int64_t>(size);
    blocks_.erase(block->data);
    return true;
  });
}

}  // namespace minnow::cuda
