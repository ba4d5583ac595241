#include <minnow/tensor/cuda/status.h>

#include <string>
#include <minnow/tensor/error.h>

namespace minnow::cuda {

void check(cudaError_t status, const char* called) {
  if (status == cudaSuccess) return;
  throw BackendError(std::string(called) + ": " + cudaGetErrorName(status) + ": " + cudaGetErrorString(status));
}

}  // namespace minnow::cuda
