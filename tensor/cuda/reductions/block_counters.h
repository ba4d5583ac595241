#pragma once

#include <cstdint>
#include <minnow/tensor/cuda/runtime/call.h>

namespace minnow::cuda {

/// The number of words that block_counters() gives.
inline constexpr unsigned kBlockCounters = 512;

/// Words in device memory for a kernel of the call, which counts its blocks with is_last_block().  They are 0 when the
/// kernel starts, and it leaves them so: nothing is set before a launch.  The kernels of a stream, which run in order,
/// share them; each graph has its own.  OutOfMemoryError.
std::uint32_t* block_counters(const Call& call);

}  // namespace minnow::cuda
