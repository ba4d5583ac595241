#include <minnow/tensor/sim/sim_device.h>

#include <array>
#include <minnow/tensor/runtime/system.h>
#include <minnow/tensor/sim/options.h>

namespace minnow::sim {

void* LimitedMemory::obtain(std::size_t bytes) noexcept {
  constexpr std::size_t kAlignment = 64;
  const std::size_t limit = limit_.load(std::memory_order_relaxed);
  if (used_.fetch_add(bytes, std::memory_order_relaxed) + bytes <= limit)
    if (void* block = minnow::detail::allocate_aligned(kAlignment, bytes)) return block;
  used_.fetch_sub(bytes, std::memory_order_relaxed);
  return nullptr;
}

void LimitedMemory::release(void* block, std::size_t bytes) noexcept {
  minnow::detail::free_aligned(block);
  used_.fetch_sub(bytes, std::memory_order_relaxed);
}

void LimitedMemory::wait_for_work() noexcept {
  for (int i = 0; i < kMaxDevices; ++i) device(i).engine.drain();
}

SimDevice::SimDevice(int index)
    : allocator(std::make_unique<LimitedMemory>(Device(DeviceType::sim, index).str(), limit)),
      default_stream(std::make_shared<SimStream>(engine)) {}

SimDevice& device(int index) {
  static const auto* devices = [] {
    auto* all = new std::array<SimDevice*, kMaxDevices>();
    for (int i = 0; i < kMaxDevices; ++i) (*all)[static_cast<std::size_t>(i)] = new SimDevice(i);
    return all;
  }();
  return *devices->at(static_cast<std::size_t>(index));
}

}  // namespace minnow::sim
