#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <emulator/block.h>
#include <emulator/launch.h>
#include <sys/mman.h>

#include "runtime.h"

namespace emulator {
namespace {

/// The address space of a device, of which only used pages become memory.
constexpr std::size_t kArena = std::size_t{64} << 30;
constexpr std::size_t kAlign = 512;
/// The content of new memory: NaN in every floating-point type, -1 in integers, an invalid bool.
constexpr int kPoison = 0xff;
/// In large blocks only this much at each end is filled: untouched pages cost nothing when memory is protected.
constexpr std::size_t kPoisoned = std::size_t{4} << 20;

constexpr std::size_t kPage = 4096;

/// Whether each block ends at a page that nothing may touch, and a freed one cannot be touched (MINNOW_EMULATOR_GUARD).
/// Host code can read device memory then.
bool guards() {
  static const bool set = std::getenv("MINNOW_EMULATOR_GUARD") != nullptr;
  return set;
}

struct sigaction before_guards;

/// A kernel that touches a guard fails; anything else has the fault that it would have had.
void on_fault(int, siginfo_t* info, void*) {
  if (in_kernel()) {
    char text[64];
    std::snprintf(text, sizeof text, "an illegal memory access, at %p", info->si_addr);
    fault({"a kernel", 0}, text);
  }
  sigaction(SIGSEGV, &before_guards, nullptr);  // and it comes again
}

void watch_guards() {
  static const bool once = [] {
    struct sigaction action {};
    action.sa_sigaction = on_fault;
    action.sa_flags = SA_SIGINFO | SA_NODEFER;
    sigaction(SIGSEGV, &action, &before_guards);
    return true;
  }();
  static_cast<void>(once);
}

/// The pages of a block, without the guard behind it.
std::size_t pages_of(std::size_t bytes) { return (bytes + kPage - 1) / kPage * kPage; }

Device& device_at(int index) { return runtime().devices[static_cast<std::size_t>(index)]; }

void make_arena(Device& device) {
  if (device.arena) return;
  void* place = mmap(nullptr, kArena, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  require(place != MAP_FAILED, cudaErrorMemoryAllocation);
  if (guards()) {
    watch_guards();
    mprotect(place, kArena, PROT_NONE);
  }
  device.arena = static_cast<char*>(place);
  device.open = true;
}

/// The first gap that is large enough.
char* allocate(int index, std::size_t bytes) {
  Device& device = device_at(index);
  const std::size_t size = (bytes + kAlign - 1) / kAlign * kAlign;
  require(device.used + size <= runtime().device_bytes, cudaErrorMemoryAllocation);
  make_arena(device);
  // With guards, a block lies at the end of its pages.
  const std::size_t room = guards() ? pages_of(size) + kPage : size;
  std::size_t at = guards() ? kPage : kAlign;
  for (const auto& [offset, taken] : device.blocks) {
    if (offset - at >= room + (guards() ? kPage : 0)) break;
    at = offset + taken + (guards() ? kPage : 0);
  }
  require(at + room <= kArena, cudaErrorMemoryAllocation);
  if (guards()) {
    mprotect(device.arena + at, pages_of(size), PROT_READ | PROT_WRITE);
    at += pages_of(size) - size;
  }
  device.blocks[at] = size;
  device.used += size;
  open_memory(index);
  const std::size_t part = std::min(size, kPoisoned);
  std::memset(device.arena + at, kPoison, part);
  std::memset(device.arena + at + size - part, kPoison, part);
  return device.arena + at;
}

void release(int index, const void* data) {
  Device& device = device_at(index);
  const auto block = device.blocks.find(static_cast<std::size_t>(static_cast<const char*>(data) - device.arena));
  require(block != device.blocks.end());
  device.used -= block->second;
  if (guards()) {
    const std::size_t pages = pages_of(block->second);
    mprotect(device.arena + block->first + block->second - pages, pages, PROT_NONE);
  }
  device.blocks.erase(block);
}

/// The location of the bytes of a copy.
enum class Side { device, pinned, pageable };
Side side_of(const void* data, std::size_t bytes) {
  if (device_holding(data, bytes) >= 0) return Side::device;
  // A range that begins in device memory and exceeds its block is not host memory.
  require(device_holding(data, 1) < 0);
  return is_pinned(data, bytes) ? Side::pinned : Side::pageable;
}

void require_kind(cudaMemcpyKind kind, Side to, Side from) {
  const bool to_device = to == Side::device, from_device = from == Side::device;
  switch (kind) {
    case cudaMemcpyHostToHost: require(!to_device && !from_device); break;
    case cudaMemcpyHostToDevice: require(to_device && !from_device); break;
    case cudaMemcpyDeviceToHost: require(!to_device && from_device); break;
    case cudaMemcpyDeviceToDevice: require(to_device && from_device); break;
    default: break;
  }
}

Work copy_work(void* to, const void* from, std::size_t bytes) {
  const int to_device = device_holding(to, bytes), from_device = device_holding(from, bytes);
  return [=] {
    for (const int device : {to_device, from_device})
      if (device >= 0) open_memory(device);
    std::memmove(to, from, bytes);
    return std::string();
  };
}

/// Pageable memory is read and written before the call returns.
void copy(void* to, const void* from, std::size_t bytes, cudaMemcpyKind kind, const StreamPtr& stream) {
  if (bytes == 0) return;
  const Side to_side = side_of(to, bytes), from_side = side_of(from, bytes);
  require_kind(kind, to_side, from_side);
  if (to_side != Side::pageable && from_side != Side::pageable) {
    push(stream, copy_work(to, from, bytes));
    return;
  }
  if (stream->capture) {
    invalidate(stream->capture);
    throw Status{cudaErrorStreamCaptureUnsupported};
  }
  if (to_side == Side::pageable) {
    push(stream, copy_work(to, from, bytes));
    run_until({stream, stream->given});
    return;
  }
  const auto* bytes_of = static_cast<const char*>(from);
  const auto staged = std::make_shared<std::vector<char>>(bytes_of, bytes_of + bytes);
  push(stream, [to, staged, device = device_holding(to, bytes)] {
    if (device >= 0) open_memory(device);
    std::memcpy(to, staged->data(), staged->size());
    return std::string();
  });
}

void set(void* to, int value, std::size_t bytes, const StreamPtr& stream) {
  if (bytes == 0) return;
  const int device = device_holding(to, bytes);
  require(device >= 0 || is_pinned(to, bytes));
  push(stream, [=] {
    if (device >= 0) open_memory(device);
    std::memset(to, value, bytes);
    return std::string();
  });
}

/// Does all work of all devices: freeing memory waits for it.
void run_everything() {
  refuse_in_capture();
  for (std::size_t i = 0; i < runtime().devices.size(); ++i) run_all(static_cast<int>(i));
}

}  // namespace

void open_memory(int index) {
  Device& device = device_at(index);
  if (device.open || !device.arena || guards()) return;
  mprotect(device.arena, kArena, PROT_READ | PROT_WRITE);
  device.open = true;
}

void close_memory() {
  static const bool never = std::getenv("MINNOW_EMULATOR_OPEN_MEMORY") != nullptr;
  for (Device& device : runtime().devices) {
    if (!device.open || !device.arena || never || guards()) continue;
    mprotect(device.arena, kArena, PROT_NONE);
    device.open = false;
  }
}

int device_holding(const void* data, std::size_t bytes) {
  for (std::size_t i = 0; i < runtime().devices.size(); ++i) {
    const Device& device = runtime().devices[i];
    const auto* at = static_cast<const char*>(data);
    if (!device.arena || at < device.arena || at >= device.arena + kArena) continue;
    const auto offset = static_cast<std::size_t>(at - device.arena);
    auto block = device.blocks.upper_bound(offset);
    if (block == device.blocks.begin()) return -1;
    --block;
    return offset + bytes <= block->first + block->second ? static_cast<int>(i) : -1;
  }
  return -1;
}

bool is_pinned(const void* data, std::size_t bytes) {
  const auto* at = static_cast<const char*>(data);
  auto block = runtime().pinned.upper_bound(at);
  if (block == runtime().pinned.begin()) return false;
  --block;
  return at + bytes <= block->first + block->second;
}

bool is_device_memory(const void* data, std::size_t bytes) {
  const std::lock_guard guard(runtime().lock);
  return device_holding(data, bytes) >= 0;
}

void set_device_memory(std::size_t bytes) {
  const std::lock_guard guard(runtime().lock);
  runtime().device_bytes = bytes;
}

}  // namespace emulator

using namespace emulator;

extern "C" {

cudaError_t cudaMalloc(void** data, size_t bytes) {
  return api("cudaMalloc", [&] {
    refuse_in_capture();
    require(!runtime().devices.empty(), cudaErrorNoDevice);
    *data = bytes ? allocate(current_device, bytes) : nullptr;
  });
}

cudaError_t cudaFree(void* data) {
  return api("cudaFree", [&] {
    if (!data) return;
    run_everything();
    const int device = device_holding(data, 1);
    require(device >= 0);
    release(device, data);
  });
}

cudaError_t cudaMallocAsync(void** data, size_t bytes, cudaStream_t handle) {
  return api("cudaMallocAsync", [&] {
    const StreamPtr stream = stream_of(handle);
    require(!stream->capture, cudaErrorNotSupported);
    *data = bytes ? allocate(stream->device, bytes) : nullptr;
  });
}

cudaError_t cudaFreeAsync(void* data, cudaStream_t handle) {
  return api("cudaFreeAsync", [&] {
    if (!data) return;
    const StreamPtr stream = stream_of(handle);
    const int device = device_holding(data, 1);
    require(device >= 0);
    require(!stream->capture, cudaErrorNotSupported);
    push(stream, [=] {
      release(device, data);
      return std::string();
    });
  });
}

cudaError_t cudaHostAlloc(void** data, size_t bytes, unsigned) {
  return api("cudaHostAlloc", [&] {
    refuse_in_capture();
    require(!runtime().devices.empty(), cudaErrorNoDevice);
    *data = bytes ? std::aligned_alloc(4096, (bytes + 4095) / 4096 * 4096) : nullptr;
    require(*data || !bytes, cudaErrorMemoryAllocation);
    if (!bytes) return;
    std::memset(*data, kPoison, bytes);
    runtime().pinned[static_cast<char*>(*data)] = bytes;
  });
}

cudaError_t cudaMallocHost(void** data, size_t bytes) { return cudaHostAlloc(data, bytes, cudaHostAllocDefault); }

cudaError_t cudaFreeHost(void* data) {
  return api("cudaFreeHost", [&] {
    if (!data) return;
    run_everything();
    require(runtime().pinned.erase(static_cast<char*>(data)) == 1);
    std::free(data);
  });
}

cudaError_t cudaHostGetDevicePointer(void** device, void* host, unsigned) {
  return api("cudaHostGetDevicePointer", [&] {
    require(is_pinned(host, 1));
    *device = host;
  });
}

cudaError_t cudaMemGetInfo(size_t* free, size_t* total) {
  return api("cudaMemGetInfo", [&] {
    require(!runtime().devices.empty(), cudaErrorNoDevice);
    const std::size_t used = device_at(current_device).used;
    *total = runtime().device_bytes;
    *free = used < *total ? *total - used : 0;
  });
}

cudaError_t cudaPointerGetAttributes(cudaPointerAttributes* attributes, const void* data) {
  return api("cudaPointerGetAttributes", [&] {
    *attributes = {};
    attributes->device = device_holding(data, 1);
    if (attributes->device >= 0) {
      attributes->type = cudaMemoryTypeDevice;
      attributes->devicePointer = const_cast<void*>(data);
    } else if (is_pinned(data, 1)) {
      attributes->type = cudaMemoryTypeHost;
      attributes->device = 0;
      attributes->devicePointer = attributes->hostPointer = const_cast<void*>(data);
    }
  });
}

cudaError_t cudaMemcpyAsync(void* to, const void* from, size_t bytes, cudaMemcpyKind kind, cudaStream_t stream) {
  return api("cudaMemcpyAsync", [&] { copy(to, from, bytes, kind, stream_of(stream)); });
}

cudaError_t cudaMemcpy(void* to, const void* from, size_t bytes, cudaMemcpyKind kind) {
  return api("cudaMemcpy", [&] {
    refuse_in_capture();
    const StreamPtr stream = stream_of(nullptr);
    copy(to, from, bytes, kind, stream);
    run_until({stream, stream->given});
  });
}

cudaError_t cudaMemcpyPeerAsync(void* to, int to_device, const void* from, int from_device, size_t bytes,
                                cudaStream_t stream) {
  return api("cudaMemcpyPeerAsync", [&] {
    require(device_holding(to, bytes) == to_device && device_holding(from, bytes) == from_device);
    copy(to, from, bytes, cudaMemcpyDeviceToDevice, stream_of(stream));
  });
}

cudaError_t cudaMemsetAsync(void* to, int value, size_t bytes, cudaStream_t stream) {
  return api("cudaMemsetAsync", [&] { set(to, value, bytes, stream_of(stream)); });
}

cudaError_t cudaMemset(void* to, int value, size_t bytes) {
  return api("cudaMemset", [&] {
    refuse_in_capture();
    set(to, value, bytes, stream_of(nullptr));
  });
}

}  // extern "C"
