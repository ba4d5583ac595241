#include <minnow/tensor/cuda/cuda_backend.h>
#include <minnow/tensor/error.h>

namespace minnow::cuda {

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
