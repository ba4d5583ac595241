#include <minnow/tensor/cuda/cuda_backend.h>
#include <minnow/tensor/error.h>

namespace minnow::cuda {

MemoryFormat CudaBackend::conv2d_format(const Conv2dParams&, const Tensor&, const Tensor&) {
  throw BackendError("conv2d_format: pending");
}
void CudaBackend::conv2d(const Conv2dParams&, const Tensor&, const Tensor&, const Tensor&, const Tensor&) {
  throw BackendError("conv2d: pending");
}
void CudaBackend::conv2d_backward_input(const Conv2dParams&, const Tensor&, const Tensor&, const Tensor&) {
  throw BackendError("conv2d_backward_input: pending");
}
void CudaBackend::conv2d_backward_weight(const Conv2dParams&, const Tensor&, const Tensor&, const Tensor&,
                                         const Tensor&) {
  throw BackendError("conv2d_backward_weight: pending");
}

}  // namespace minnow::cuda
