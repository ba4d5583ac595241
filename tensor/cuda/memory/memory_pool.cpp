#include <minnow/tensor/cuda/memory/memory_pool.h>

#include <minnow/tensor/cuda/memory/device_memory.h>

namespace minnow::cuda {
namespace {

thread_local MemoryPool* current = nullptr;

}  // namespace

MemoryPool::MemoryPool(DeviceMemory& memory) : memory_(memory), arena_(memory.open_pool()) {}

MemoryPool::~MemoryPool() {
  memory_.close_pool(*arena_);
  for (const auto& storage : kept_) storage->add_graph_reference(-1);
  kept_.clear();
  for (const auto& action : at_release_) action();
}

void MemoryPool::keep(const std::shared_ptr<Storage>& storage) {
  if (memory_.is_of(storage->data(), *this)) return;
  for (const auto& each : kept_)
    if (each == storage) return;
  kept_.push_back(storage);
  storage->add_graph_reference(1);  // no tensor of the program: in-place operations are still possible
}

PoolGuard::PoolGuard(MemoryPool& pool) : previous_(current) {
  pool.memory().begin_capture();
  current = &pool;
}

PoolGuard::~PoolGuard() {
  MemoryPool* pool = current;
  current = previous_;
  pool->memory().end_capture();
}

MemoryPool* current_pool() { return current; }

}  // namespace minnow::cuda
