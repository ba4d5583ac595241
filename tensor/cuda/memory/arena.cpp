#include <minnow/tensor/cuda/memory/arena.h>

#include <minnow/tensor/allocator.h>
#include <minnow/tensor/internal.h>

namespace minnow::cuda {

Arena::Lists& Arena::of(StreamHandle stream) {
  for (const auto& each : lists)
    if (each->stream == stream) return *each;
  lists.push_back(std::make_unique<Lists>());
  lists.back()->stream = stream;
  return *lists.back();
}

Block* Arena::take(StreamHandle stream, std::size_t size) {
  auto& free = of(stream).free;
  const auto slot = static_cast<std::size_t>(CachingAllocator::class_of(size));
  if (slot >= free.size() || free[slot].empty()) return nullptr;
  Block* block = free[slot].back();
  free[slot].pop_back();
  return block;
}

void Arena::put(Block* block) {
  auto& free = of(block->stream).free;
  const auto slot = static_cast<std::size_t>(CachingAllocator::class_of(block->size));
  if (slot >= free.size()) free.resize(slot + 1);
  free[slot].push_back(block);
}

}  // namespace minnow::cuda
