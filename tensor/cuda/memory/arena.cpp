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

Block* Arena::take(StreamHandle stream, std::size_t size) { return of(stream).free.take(size); }

void Arena::put(Block* block) { of(block->stream).free.put(block, block->size); }

}  // namespace minnow::cuda
