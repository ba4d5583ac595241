#include <minnow/tensor/cuda/memory/arena.h>

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
  Lists& own = of(stream);
  if (size <= kLargestSmall) return own.small.take(size);
  Block wanted;
  wanted.size = size;
  const auto found = own.large.lower_bound(&wanted);
  if (found == own.large.end()) return nullptr;
  Block* block = *found;
  own.large.erase(found);
  block->is_free = false;
  return block;
}

void Arena::put(Block* block) {
  Lists& own = of(block->stream);
  if (block->size <= kLargestSmall) return own.small.put(block, block->size);
  own.large.insert(block);
  block->is_free = true;
}

void Arena::remove(Block* block) {
  of(block->stream).large.erase(block);
  block->is_free = false;
}

}  // namespace minnow::cuda
