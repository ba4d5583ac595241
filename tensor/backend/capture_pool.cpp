#include <minnow/tensor/backend/capture_pool.h>

#include <memory>
#include <mutex>
#include <vector>

namespace minnow::detail {
namespace {

class Blocks final : public MemorySource {
 public:
  Blocks(Allocator& memory, Device device) : memory_(memory), device_(device) {}

  void* obtain(std::size_t bytes) noexcept override {
    try {
      return memory_.allocate(bytes);
    } catch (...) {  // nullptr means that there is no memory
      return nullptr;
    }
  }
  void release(void* block, std::size_t bytes) noexcept override { memory_.deallocate(block, bytes); }
  std::string name() const override { return device_.str() + ", while a step is captured"; }

 private:
  Allocator& memory_;
  const Device device_;
};

struct Pools {
  std::mutex mutex;
  std::vector<std::unique_ptr<CapturePool>> all;
};

Pools& pools() {
  static auto* instance = new Pools();  // never destroyed: global tensors may be destroyed last
  return *instance;
}

}  // namespace

CapturePool::CapturePool(Allocator& memory, Device device)
    : memory_(memory), blocks_(std::make_unique<Blocks>(memory, device)) {}

CapturePool& CapturePool::open(Allocator& memory, Device device) {
  const std::lock_guard lock(pools().mutex);
  for (const auto& pool : pools().all) {
    if (&pool->memory_ != &memory || pool->open_ || pool->stats().blocks != 0) continue;
    pool->open_ = true;
    return *pool;
  }
  return *pools().all.emplace_back(new CapturePool(memory, device));
}

void CapturePool::close() noexcept {
  open_ = false;
  blocks_.empty_cache();
}

void CapturePool::deallocate(void* block, std::size_t bytes) noexcept {
  blocks_.deallocate(block, bytes);
  if (!open_) blocks_.empty_cache();
}

}  // namespace minnow::detail
