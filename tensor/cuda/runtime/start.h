#pragma once

#include <cuda_runtime_api.h>

namespace minnow::cuda {

/// Gives a kernel to a stream; cudaPeekAtLastError() tells whether it was accepted.  Alone in its file, because it is
/// the one piece of CUDA's syntax that another implementation of the runtime must replace.
template <class... Parameters>
void start(cudaStream_t stream, void (*kernel)(Parameters...), dim3 blocks, dim3 threads, Parameters... arguments) {
  kernel<<<blocks, threads, 0, stream>>>(arguments...);
}

}  // namespace minnow::cuda
