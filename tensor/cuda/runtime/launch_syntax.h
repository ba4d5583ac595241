#pragma once

#include <cuda_runtime_api.h>

namespace minnow::cuda {

/// Launches a kernel on a stream; cudaPeekAtLastError() says whether that succeeded.  In a file of its own, because it
/// is the only syntax of CUDA that the emulator has to replace.
template <class... Parameters>
void start(cudaStream_t stream, void (*kernel)(Parameters...), dim3 blocks, dim3 threads, Parameters... arguments) {
  kernel<<<blocks, threads, 0, stream>>>(arguments...);
}

}  // namespace minnow::cuda
