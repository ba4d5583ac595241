#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>
#include <minnow/tensor/cuda/memory/arena.h>
#include <minnow/tensor/cuda/memory/event_pool.h>
#include <minnow/tensor/cuda/memory/memory_pool.h>
#include <minnow/tensor/internal.h>
#include <minnow/tensor/runtime/allocator.h>

namespace minnow::cuda {

/// The memory of one device, in the order of streams.  A freed block can be reused at once by the stream that it was
/// allocated for, since the earlier work of that stream runs first.  If other streams used it, it is reused after
/// events on those.  Small blocks are parts of slabs of 2 MiB.  Large ones come from the driver one by one; later a
/// free one is split where less is wanted, and its parts are joined again, so that the sequences of many lengths share
/// memory. Sizes are rounded to classes (see CachingAllocator).  In the debug mode freed blocks are filled with a
/// pattern, every block has guard bytes around it, and none is split.
class DeviceMemory final : public Allocator {
 public:
  static constexpr std::size_t kSlab = std::size_t{2} << 20;
  static constexpr std::size_t kLargestSmall = Arena::kLargestSmall;

  /// `current` returns the calling thread's stream.
  DeviceMemory(Driver& driver, EventPool& events, std::string name, std::function<StreamHandle()> current)
      : driver_(driver), events_(events), name_(std::move(name)), current_(std::move(current)) {}

  void* allocate(std::size_t bytes) override;
  void deallocate(void* data, std::size_t bytes) noexcept override;
  MemoryStats stats() const override;
  void empty_cache() override;
  void reset_peak() override;
  void set_limit(std::int64_t bytes) override;
  const void* stream() const override { return current_(); }

  /// Notes that work on `stream` uses the block of `data`, which is not reused before that work is done.
  void used_on(const void* data, StreamHandle stream);
  /// Whether the block belongs to the pool.
  bool is_of(const void* data, const MemoryPool& pool) const;

  /// The size of the block for a request.
  static std::size_t rounded(std::size_t bytes);

  // The debug mode.
  void set_debug(bool on);
  /// A message about a write outside of a block that was freed since the last call; empty if there was none.
  std::string take_damage();
  /// Notes that an operation used the block, and returns a message about writes outside of it; empty if there were
  /// none.
  std::string check(const void* data, const char* operation);

 private:
  friend class MemoryPool;
  friend class PoolGuard;
  struct PendingBlock {
    Block* block;
    std::vector<PooledEvent> events;
  };

  std::unique_ptr<Arena> open_pool();
  void close_pool(Arena& arena) noexcept;
  void begin_capture();
  void end_capture() noexcept;

  // The caller holds mutex_.
  Block* obtain(Arena& arena, StreamHandle stream, std::size_t size);
  Block* take(Arena& arena, StreamHandle stream, std::size_t size);
  Block* carve(Arena& arena, StreamHandle stream, std::size_t size);
  void split(Block* block, std::size_t size);
  void absorb(Block* block, Block* after);
  Block* find(const void* data) const;
  void make_free(Block* block);
  void wait_for_users(Block* block);
  void process_pending(bool wait);
  void release_cache();
  [[noreturn]] void out_of_memory(std::size_t bytes) const;

  void guard(Block& block);
  std::string damage_of(const Block& block) const;

  static constexpr std::size_t kUnit = 512;  // sizes are multiples of it; also the number of guard bytes on each side
  static constexpr int kPoison = 0xFF;       // NaN in every floating-point dtype

  Driver& driver_;
  EventPool& events_;
  const std::string name_;
  const std::function<StreamHandle()> current_;

  mutable std::mutex mutex_;
  Arena cache_;
  std::unordered_map<const void*, std::unique_ptr<Block>> blocks_;  // by base, live or not
  std::vector<std::unique_ptr<Slab>> slabs_;
  std::vector<PendingBlock> pending_;
  std::vector<Block*> deferred_;  // freed during a capture, when no event may be recorded
  int captures_ = 0;
  bool debug_ = false;
  std::string damage_;
  MemoryStats stats_;
  std::int64_t limit_ = kNoLimit;
};

}  // namespace minnow::cuda
