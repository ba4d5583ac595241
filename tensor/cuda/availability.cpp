#include <minnow/tensor/backend/dispatch.h>
#include <minnow/tensor/cuda/cuda_backend.h>
#include <minnow/tensor/device.h>

namespace minnow {

Backend* cuda_backend() {
  static auto* backend = new cuda::CudaBackend();  // never destroyed
  return backend;
}

namespace cuda {

bool is_available() { return cuda_backend()->device_count() > 0; }

std::string why_not() { return is_available() ? "" : "no CUDA device can be used"; }

}  // namespace cuda
}  // namespace minnow
