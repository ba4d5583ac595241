#pragma once

#include <cuda_runtime_api.h>

namespace minnow::cuda {

/// BackendError, naming what was called, CUDA's text and the operation under way, unless the status is success.  A
/// sticky failure (an illegal address, say) marks the device: later errors quote the first cause.
void check(cudaError_t status, const char* called);

}  // namespace minnow::cuda
