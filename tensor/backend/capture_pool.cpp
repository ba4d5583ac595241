#include <minnow/tensor/backend/capture_pool.h>

#include <iterator>

namespace minnow::detail {
namespace {

struct Pools {
  std::mutex mutex;
  std::vector<std::unique_ptr<CapturePool>> all;
};

Pools& pools() {
  static auto* instance = new Pools();  // never destroyed: global tensors may be destroyed last
  return *instance;
}

}  // namespace

CapturePool& CapturePool::open(Allocator& memory) {
  const std::lock_guard lock(pools().mutex);
  for (const auto& pool : pools().all) {
    const std::lock_guard own(pool->mutex_);
    if (&pool->memory_ != &memory || pool->phase_ != Phase::closed || !pool->blocks_.empty()) continue;
    pool->phase_ = Phase::capturing;
    pool->blocks_so_far_ = 0;
    return *pool;
  }
  return *pools().all.emplace_back(new CapturePool(memory));
}

std::size_t CapturePool::number_of(void* block) const {
  const std::lock_guard lock(mutex_);
  return blocks_.at(block).number;
}

std::vector<bool> CapturePool::finish() {
  const std::lock_guard lock(mutex_);
  std::vector<bool> is_kept(blocks_so_far_);
  for (const auto& [address, block] : blocks_) is_kept[block.number] = true;
  phase_ = Phase::replayed;
  return is_kept;
}

void CapturePool::close() noexcept {
  const std::lock_guard lock(mutex_);
  phase_ = Phase::closed;
  for (auto block = blocks_.begin(); block != blocks_.end();) {
    const auto next = std::next(block);
    if (!block->second.in_use) {
      memory_.deallocate(block->first, block->second.bytes);
      blocks_.erase(block);
    }
    block = next;
  }
}

void* CapturePool::allocate(std::size_t bytes) {
  void* block = memory_.allocate(bytes);
  try {
    const std::lock_guard lock(mutex_);
    blocks_.insert_or_assign(block, Block{blocks_so_far_, bytes});
    ++blocks_so_far_;
  } catch (...) {
    memory_.deallocate(block, bytes);
    throw;
  }
  return block;
}

void CapturePool::deallocate(void* block, std::size_t bytes) noexcept {
  {
    const std::lock_guard lock(mutex_);
    const auto found = blocks_.find(block);
    if (phase_ == Phase::replayed) {
      found->second.in_use = false;
      return;
    }
    blocks_.erase(found);
  }
  memory_.deallocate(block, bytes);
}

MemoryStats CapturePool::stats() const { return memory_.stats(); }

}  // namespace minnow::detail
