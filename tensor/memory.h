#pragma once

#include <minnow/tensor/allocator.h>
#include <minnow/tensor/device.h>
#include <minnow/tensor/storage.h>

namespace minnow {

// Where memory is used.  live_storages() (storage.h) counts blocks of all devices.  Each is thread-safe.
// DeviceError for a device that is not there.

/// What the tensors of a device use now, at most used, and what is held for the next ones.
MemoryStats memory_stats(Device device, SourceLocation where = SourceLocation::current());
/// The same for pinned host memory; all zero where there is none.
MemoryStats pinned_memory_stats();
/// Returns the blocks that no tensor uses to the system.
void empty_cache(Device device, SourceLocation where = SourceLocation::current());
/// Starts the peak anew from what is used now.
void reset_peak_memory(Device device, SourceLocation where = SourceLocation::current());

}  // namespace minnow
