#include <minnow/tensor/cuda/memory/device_memory.h>

#include <algorithm>
#include <minnow/tensor/error.h>
#include <minnow/tensor/internal.h>

namespace minnow::cuda {
namespace {

constexpr std::size_t kMost = std::size_t{1} << 62;

template <class T> bool contains(const std::vector<T>& values, const T& value) {
  return std::find(values.begin(), values.end(), value) != values.end();
}

}  // namespace

std::size_t DeviceMemory::rounded(std::size_t bytes) {
  return SizeClass::rounded(std::max(kUnit, (bytes + kUnit - 1) / kUnit * kUnit));
}

void* DeviceMemory::allocate(std::size_t bytes) {
  const StreamHandle stream = current_();
  MemoryPool* pool = current_pool();
  if (pool && &pool->memory() != this) pool = nullptr;
  const std::lock_guard lock(mutex_);
  if (bytes > kMost) out_of_memory(bytes);
  const bool guarded = debug_ && !pool;
  const std::size_t size = rounded(bytes + (guarded ? 2 * kUnit : 0));
  Block* block = nullptr;
  if (stats_.allocated + static_cast<std::int64_t>(size) <= limit_) {
    block = obtain(pool ? *pool->arena_ : cache_, stream, size);
  } else if (captures_ == 0) {  // what is reserved beyond the limit is returned
    process_pending(true);
    release_cache();
  }
  if (!block) out_of_memory(bytes);
  block->live = true;
  block->guarded = guarded;
  block->requested = bytes;
  ++block->slab->busy;
  stats_.allocated += static_cast<std::int64_t>(block->size);
  stats_.peak = std::max(stats_.peak, stats_.allocated);
  ++stats_.blocks;
  if (!guarded) return block->base;
  guard(*block);
  return block->base + kUnit;
}

Block* DeviceMemory::obtain(Arena& arena, StreamHandle stream, std::size_t size) {
  Block* block = take(arena, stream, size);
  if (block) return block;
  if (!pending_.empty()) {
    process_pending(false);
    if ((block = take(arena, stream, size))) return block;
  }
  if ((block = carve(arena, stream, size))) return block;
  // During a capture too: the driver then waits for what was submitted before, and not for the captured streams.
  process_pending(true);
  if ((block = take(arena, stream, size))) return block;
  release_cache();
  return carve(arena, stream, size);
}

Block* DeviceMemory::take(Arena& arena, StreamHandle stream, std::size_t size) {
  Block* block = arena.take(stream, size);
  if (!block || block->size == size) return block;
  if (debug_) {
    arena.put(block);
    return nullptr;
  }
  if (block->size - size > kLargestSmall) split(block, size);
  return block;
}

void DeviceMemory::split(Block* block, std::size_t size) {
  auto rest = std::make_unique<Block>();
  rest->base = block->base + size;
  rest->size = block->size - size;
  rest->slab = block->slab;
  rest->arena = block->arena;
  rest->stream = block->stream;
  rest->before = block;
  rest->after = block->after;
  Block* after = rest.get();
  blocks_.emplace(after->base, std::move(rest));
  if (after->after) after->after->before = after;
  block->after = after;
  block->size = size;
  block->arena->put(after);
}

void DeviceMemory::absorb(Block* block, Block* after) {
  block->size += after->size;
  block->after = after->after;
  if (block->after) block->after->before = block;
  blocks_.erase(after->base);
}

Block* DeviceMemory::carve(Arena& arena, StreamHandle stream, std::size_t size) {
  const bool small = !debug_ && size <= kLargestSmall;  // in the debug mode nothing lies behind a block
  Arena::Lists& lists = arena.of(stream);
  Slab* slab = small ? lists.open : nullptr;
  if (!slab || slab->bytes - slab->used < size) {
    auto made = std::make_unique<Slab>();
    made->bytes = small ? kSlab : size;
    made->arena = &arena;
    if (stats_.reserved + static_cast<std::int64_t>(made->bytes) > limit_) return nullptr;
    made->base = static_cast<char*>(driver_.allocate(made->bytes));
    if (!made->base) return nullptr;
    slab = made.get();
    slabs_.push_back(std::move(made));
    stats_.reserved += static_cast<std::int64_t>(slab->bytes);
    ++stats_.system_calls;
    if (small) lists.open = slab;
  }
  auto block = std::make_unique<Block>();
  block->base = slab->base + slab->used;
  block->size = size;
  block->slab = slab;
  block->arena = &arena;
  block->stream = stream;
  slab->used += size;
  Block* carved = block.get();
  blocks_.emplace(carved->base, std::move(block));
  return carved;
}

Block* DeviceMemory::find(const void* data) const {
  auto found = blocks_.find(data);
  if (found != blocks_.end()) return found->second.get();
  found = blocks_.find(static_cast<const char*>(data) - kUnit);
  return found != blocks_.end() && found->second->guarded ? found->second.get() : nullptr;
}

void DeviceMemory::deallocate(void* data, std::size_t) noexcept {
  if (!driver_.is_usable()) return;
  const std::lock_guard lock(mutex_);
  Block* block = find(data);
  if (!block || !block->live) return;
  block->live = false;
  stats_.allocated -= static_cast<std::int64_t>(block->size);
  --stats_.blocks;
  try {
    if (block->guarded && captures_ == 0) {
      const std::string damage = damage_of(*block);
      if (damage_.empty()) damage_ = damage;
    }
    if (block->users.empty()) make_free(block);
    else if (captures_ > 0) deferred_.push_back(block);
    else wait_for_users(block);
  } catch (...) {  // the device failed, or there is no memory for the lists: the block is not reused
  }
}

void DeviceMemory::wait_for_users(Block* block) {
  PendingBlock pending{block, {}};
  for (const StreamHandle user : block->users) pending.events.push_back(events_.record(user));
  pending_.push_back(std::move(pending));
}

void DeviceMemory::make_free(Block* block) {
  block->users.clear();
  if (block->guarded && captures_ == 0) driver_.fill(block->base, kPoison, block->size, block->stream);
  --block->slab->busy;
  if (Block* after = block->after; after && after->is_free) {
    after->arena->remove(after);
    absorb(block, after);
  }
  if (Block* before = block->before; before && before->is_free) {
    before->arena->remove(before);
    absorb(before, block);
    block = before;
  }
  block->arena->put(block);
}

void DeviceMemory::process_pending(bool wait) {
  std::vector<Block*> done;
  done.reserve(pending_.size());
  std::erase_if(pending_, [&](PendingBlock& pending) {
    for (const PooledEvent& event : pending.events) {
      if (wait) event.synchronize();
      else if (!event.is_complete()) return false;
    }
    done.push_back(pending.block);
    return true;
  });
  for (Block* block : done) make_free(block);
}

void DeviceMemory::used_on(const void* data, StreamHandle stream) {
  const std::lock_guard lock(mutex_);
  Block* block = find(data);
  if (!block || block->stream == stream || contains(block->users, stream)) return;
  block->users.push_back(stream);
}

bool DeviceMemory::is_of(const void* data, const MemoryPool& pool) const {
  const std::lock_guard lock(mutex_);
  const Block* block = find(data);
  return block && block->arena == pool.arena_.get();
}

MemoryStats DeviceMemory::stats() const {
  const std::lock_guard lock(mutex_);
  return stats_;
}

void DeviceMemory::reset_peak() {
  const std::lock_guard lock(mutex_);
  stats_.peak = stats_.allocated;
}

void DeviceMemory::set_limit(std::int64_t bytes) {
  const std::lock_guard lock(mutex_);
  stats_.limit = bytes;
  limit_ = bytes > 0 ? bytes : kNoLimit;
  if (stats_.reserved <= limit_ || captures_ > 0) return;
  process_pending(true);
  release_cache();
}

void DeviceMemory::empty_cache() {
  const std::lock_guard lock(mutex_);
  if (captures_ > 0) return;
  process_pending(true);
  release_cache();
}

void DeviceMemory::release_cache() {
  driver_.synchronize_device();  // work on freed blocks may still run
  const auto goes = [this](const Slab* slab) { return slab->busy == 0 && slab->arena == &cache_; };
  for (const auto& lists : cache_.lists) {
    if (lists->open && goes(lists->open)) lists->open = nullptr;
    lists->small.erase_if([&](const Block* block, std::size_t) { return goes(block->slab); });
    std::erase_if(lists->large, [&](const Block* block) { return goes(block->slab); });
  }
  std::erase_if(blocks_, [&](const auto& entry) { return goes(entry.second->slab); });
  std::erase_if(slabs_, [&](const std::unique_ptr<Slab>& slab) {
    if (!goes(slab.get())) return false;
    driver_.release(slab->base);
    stats_.reserved -= static_cast<std::int64_t>(slab->bytes);
    return true;
  });
}

void DeviceMemory::out_of_memory(std::size_t bytes) const {
  throw_out_of_memory(name_, bytes, stats_, ", free on the device " + std::to_string(driver_.free_bytes()));
}

std::unique_ptr<Arena> DeviceMemory::open_pool() { return std::make_unique<Arena>(); }

void DeviceMemory::close_pool(Arena& arena) noexcept {
  if (!driver_.is_usable()) return;
  const std::lock_guard lock(mutex_);
  for (const auto& [base, block] : blocks_)
    if (block->arena == &arena) block->arena = &cache_;
  for (const auto& slab : slabs_)
    if (slab->arena == &arena) slab->arena = &cache_;
  try {
    driver_.synchronize_device();
    for (const auto& lists : arena.lists) {
      lists->small.erase_if([this](Block* block, std::size_t) { return cache_.put(block), true; });
      cache_.of(lists->stream).large.merge(lists->large);
    }
  } catch (...) {  // the device failed: these blocks are not reused
  }
}

void DeviceMemory::begin_capture() {
  const std::lock_guard lock(mutex_);
  ++captures_;
}

void DeviceMemory::end_capture() noexcept {
  const std::lock_guard lock(mutex_);
  if (--captures_ > 0) return;
  for (Block* block : deferred_) {
    try {
      wait_for_users(block);
    } catch (...) {  // the device failed: the block is not reused
    }
  }
  deferred_.clear();
}

}  // namespace minnow::cuda
