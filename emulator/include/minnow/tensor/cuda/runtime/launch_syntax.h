#pragma once

#include <cuda_runtime_api.h>
#include <emulator/launch.h>

namespace minnow::cuda {

/// Replaces the backend's header of this name: the kernel is an ordinary function.
template <class... Parameters>
void start(cudaStream_t stream, void (*kernel)(Parameters...), dim3 blocks, dim3 threads, Parameters... arguments) {
  emulator::launch(
      stream, blocks, threads, [=] { kernel(arguments...); }, emulator::has_bounds(kernel));
}

}  // namespace minnow::cuda
