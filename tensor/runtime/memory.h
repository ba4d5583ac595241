#pragma once

#include <minnow/tensor/device.h>
#include <minnow/tensor/runtime/allocator.h>
#include <minnow/tensor/storage.h>

namespace minnow {

// Memory in use; live_storages() (storage.h) counts the storages of all devices.  All functions are thread-safe.
// DeviceError for a device that does not exist.

/// What the tensors of a device use, the peak, and what is reserved.
MemoryStats memory_stats(Device device, SourceLocation where = SourceLocation::current());
/// The same for pinned host memory; all 0 if there is none.
MemoryStats pinned_memory_stats();
/// Returns unused blocks to the system.
void empty_cache(Device device, SourceLocation where = SourceLocation::current());
/// No more than `bytes` are obtained from the system for the device: an allocation beyond that returns the cache, then
/// throws OutOfMemoryError.  0: no limit, as at the start.  What is in use stays, also where it is more.  Memory comes
/// in blocks, which memory_stats() counts: at most 1/8 more than a tensor's bytes, at least 512 bytes; small ones on
/// cuda in pieces of 2 MiB.  ValueError below 0.
void set_memory_limit(Device device, std::int64_t bytes, SourceLocation where = SourceLocation::current());
/// The most bytes that tensors of the device used at once, since the start or reset_peak_memory(): memory_stats().peak.
std::int64_t max_memory(Device device, SourceLocation where = SourceLocation::current());
/// Sets the peak to what is used now.
void reset_peak_memory(Device device, SourceLocation where = SourceLocation::current());

}  // namespace minnow
