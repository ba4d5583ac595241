#pragma once

#include <minnow/tensor/in.h>
#include <minnow/tensor/internal.h>

namespace minnow::detail::raw {

/// A copy of x on another device; x itself if it is there already.  A tensor that is dense in any order of dimensions
/// keeps its strides, others become contiguous.  With non_blocking the call may return before the copy is done: from
/// pinned memory to a device (work on the current stream waits for the copy, and the pinned block is not reused
/// before), and from a device to the host (the result is pinned, and its first read on the host waits).  DeviceError
/// for a device that does not exist, ValueError for an undefined tensor, OutOfMemoryError.  Errors name `op`.
Tensor to_device(const In& x, Device device, bool non_blocking = false, const char* op = "to");

/// Copies x to `to`, a tensor on another device.  Both are dense, with the same dtype, shape and strides.  From pinned
/// memory the call returns before the copy is done.
void transfer_to(const In& x, const Tensor& to);

/// A copy in pinned host memory, in the same order of dimensions; x itself if it is pinned.  If no memory can be
/// pinned: x itself, and one warning per process (warning.h).  DeviceError for a tensor on another device, and if no
/// device copies from pinned memory.
Tensor pin_memory(const In& x);

}  // namespace minnow::detail::raw
