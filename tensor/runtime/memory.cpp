#include <minnow/tensor/runtime/memory.h>

#include <minnow/tensor/backend/devices.h>
#include <minnow/tensor/backend/dispatch.h>
#include <minnow/tensor/error.h>

namespace minnow {
namespace {

Allocator& allocator_of(const char* op, Device device, SourceLocation where) {
  const CallSite site(op, where);
  return backend_of(device, where).allocator(device.index());
}

}  // namespace

Allocator* detail::pinned_allocator() {
  for (const DeviceKind& kind : kDeviceKinds)
    if (kind.type != DeviceType::cpu && device_count(kind.type) > 0)
      return backend_of(Device(kind.type)).pinned_allocator();
  return nullptr;
}

MemoryStats memory_stats(Device device, SourceLocation where) {
  return allocator_of("memory_stats", device, where).stats();
}

MemoryStats pinned_memory_stats() {
  const Allocator* allocator = pinned_allocator();
  return allocator ? allocator->stats() : MemoryStats{};
}

void empty_cache(Device device, SourceLocation where) { allocator_of("empty_cache", device, where).empty_cache(); }

void set_memory_limit(Device device, std::int64_t bytes, SourceLocation where) {
  if (bytes < 0)
    throw ValueError("set_memory_limit: the limit must be at least 0, got " + std::to_string(bytes) +
                         "\ngive a number of bytes, or 0 for no limit",
                     where);
  allocator_of("set_memory_limit", device, where).set_limit(bytes);
}

std::int64_t max_memory(Device device, SourceLocation where) {
  return allocator_of("max_memory", device, where).stats().peak;
}

void reset_peak_memory(Device device, SourceLocation where) {
  allocator_of("reset_peak_memory", device, where).reset_peak();
}

}  // namespace minnow
