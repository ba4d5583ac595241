#pragma once

#include <algorithm>
#include <cstdint>
#include <minnow/tensor/cuda/runtime/call.h>
#include <minnow/tensor/cuda/runtime/launch_syntax.h>
#include <minnow/tensor/cuda/runtime/status.h>

namespace minnow::cuda {

inline constexpr unsigned kThreads = 256;

/// The number of blocks of `threads` for n units of work, at most `most`: kernels loop over the rest.
inline unsigned blocks_for(std::int64_t n, unsigned threads = kThreads, std::int64_t most = 1 << 16) {
  return static_cast<unsigned>(std::clamp<std::int64_t>((n + threads - 1) / threads, 1, most));
}

/// Launches a kernel on the call's stream, without dynamic shared memory.  Arguments are converted to the types of the
/// parameters.
template <class... Parameters, class... Arguments>
void launch(const Call& call, void (*kernel)(Parameters...), dim3 blocks, dim3 threads, Arguments... arguments) {
  static_assert((sizeof(Parameters) + ... + 0) <= 4096, "older drivers take no more bytes of arguments");
  start<Parameters...>(call.stream(), kernel, blocks, threads, static_cast<Parameters>(arguments)...);
  call.launched();
}

}  // namespace minnow::cuda
