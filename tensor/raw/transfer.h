#pragma once

#include <minnow/tensor/in.h>
#include <minnow/tensor/internal.h>

namespace minnow::detail::raw {

/// x's elements on another device; x itself if it is there already.  A tensor that is dense in any order of
/// dimensions keeps its strides, others become contiguous.  With non_blocking the call may return first:
/// from pinned memory to a device (work of the current stream waits for the copy; the pinned block is not
/// reused before), and from a device to the host (the result is pinned, and its first host read waits).
/// DeviceError for a device that is not there, ValueError for an undefined tensor, OutOfMemoryError.  `op` is named by
/// errors.
Tensor to_device(const In& x, Device device, bool non_blocking = false, const char* op = "to");

/// Writes x's elements to `to`, a tensor of another device that lies densely in the same order and has the same dtype.
/// From pinned memory the call returns before the copy is done.
void transfer_to(const In& x, const Tensor& to);

/// A copy in pinned host memory, in the same order of dimensions; x itself if it is pinned.  Where no memory
/// can be pinned, x itself, with one warning on standard error. DeviceError for a tensor of another device,
/// and where there is no device to pin for.
Tensor pin_memory(const In& x);

}  // namespace minnow::detail::raw
