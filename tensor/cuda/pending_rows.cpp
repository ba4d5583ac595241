#include <minnow/tensor/cuda/cuda_backend.h>
#include <minnow/tensor/error.h>

namespace minnow::cuda {

void CudaBackend::softmax(const SoftmaxParams&, const Tensor&, const Tensor&) {
  throw BackendError("softmax: pending");
}
void CudaBackend::softmax_backward(const SoftmaxParams&, const Tensor&, const Tensor&, const Tensor&) {
  throw BackendError("softmax_backward: pending");
}
bool CudaBackend::cross_entropy(const CrossEntropyParams&, const Tensor&, const Tensor&, const Tensor&, const Tensor&) {
  throw BackendError("cross_entropy: pending");
}
void CudaBackend::cross_entropy_backward(const CrossEntropyParams&, const Tensor&, const Tensor&, const Tensor&,
                                         const Tensor&, const Tensor&) {
  throw BackendError("cross_entropy_backward: pending");
}
void CudaBackend::max_pool2d(const Pool2dParams&, const Tensor&, const Tensor&, const Tensor&) {
  throw BackendError("max_pool2d: pending");
}
void CudaBackend::max_pool2d_backward(const Pool2dParams&, const Tensor&, const Tensor&, const Tensor&) {
  throw BackendError("max_pool2d_backward: pending");
}
void CudaBackend::avg_pool2d(const Pool2dParams&, const Tensor&, const Tensor&) {
  throw BackendError("avg_pool2d: pending");
}
void CudaBackend::avg_pool2d_backward(const Pool2dParams&, const Tensor&, const Tensor&) {
  throw BackendError("avg_pool2d_backward: pending");
}
bool CudaBackend::gather(const Tensor&, int, const Tensor&, const Tensor&) { throw BackendError("gather: pending"); }
bool CudaBackend::scatter_add(const Tensor&, int, const Tensor&, const Tensor&) {
  throw BackendError("scatter_add: pending");
}
bool CudaBackend::index_select(const Tensor&, int, const Tensor&, const Tensor&) {
  throw BackendError("index_select: pending");
}
bool CudaBackend::index_add(const Tensor&, int, const Tensor&, const Tensor&) {
  throw BackendError("index_add: pending");
}

}  // namespace minnow::cuda
