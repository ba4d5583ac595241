#include <array>
#include <minnow/tensor/backend/dispatch.h>
#include <minnow/tensor/cuda/memory/device_memory.h>

// The debug mode of DeviceMemory.  A guarded block is: guard bytes | the requested bytes | guard bytes.
namespace minnow::cuda {
namespace {

constexpr int kGuardByte = 0xC5;

}  // namespace

void DeviceMemory::set_debug(bool on) {
  const std::lock_guard lock(mutex_);
  debug_ = on;
}

void DeviceMemory::guard(Block& block) {
  block.maker = CallSite::op().data();
  block.last_user = block.maker;
  driver_.fill(block.base, kGuardByte, kUnit, block.stream);
  driver_.fill(block.base + kUnit, kPoison, block.requested, block.stream);
  const std::size_t before = kUnit + block.requested;
  driver_.fill(block.base + before, kGuardByte, block.size - before, block.stream);
}

std::string DeviceMemory::damage_of(const Block& block) const {
  std::array<unsigned char, kUnit> canary;
  const auto first_changed = [&](std::size_t begin, std::size_t bytes) {
    driver_.read(canary.data(), block.base + begin, bytes, block.stream);
    for (std::size_t i = 0; i < bytes; ++i)
      if (canary[i] != kGuardByte) return static_cast<std::ptrdiff_t>(begin + i);
    return std::ptrdiff_t{-1};
  };
  std::ptrdiff_t at = first_changed(0, kUnit);
  if (at < 0) at = first_changed(kUnit + block.requested, kUnit);
  if (at < 0) return {};
  const auto distance = at - static_cast<std::ptrdiff_t>(kUnit);
  return "a block of " + std::to_string(block.requested) + " bytes on " + name_ +
         " was written out of bounds, at byte " + std::to_string(distance) + "\n  made by    " +
         (block.maker.empty() ? "?" : block.maker) + "\n  last used  " +
         (block.last_user.empty() ? "?" : block.last_user);
}

std::string DeviceMemory::take_damage() {
  const std::lock_guard lock(mutex_);
  return std::exchange(damage_, {});
}

std::string DeviceMemory::check(const void* data, const char* operation) {
  const std::lock_guard lock(mutex_);
  Block* block = find(data);
  if (!block || !block->live || !block->guarded || captures_ > 0) return {};  // its stream may be captured
  block->last_user = operation;
  return damage_of(*block);
}

}  // namespace minnow::cuda
