#include <minnow/tensor/cuda/cuda_backend.h>
#include <minnow/tensor/error.h>

namespace minnow::cuda {

int CudaBackend::device_count() const { return 0; }
Allocator& CudaBackend::allocator(int) { throw BackendError("allocator: pending"); }
Allocator* CudaBackend::pinned_allocator() { throw BackendError("pinned_allocator: pending"); }
Stream CudaBackend::current_stream(int) { throw BackendError("current_stream: pending"); }
void CudaBackend::set_current_stream(int, const Stream&) { throw BackendError("set_current_stream: pending"); }
Stream CudaBackend::new_stream(int) { throw BackendError("new_stream: pending"); }
void CudaBackend::synchronize(int) { throw BackendError("synchronize: pending"); }
void CudaBackend::transfer(const Tensor&, const Tensor&, bool) { throw BackendError("transfer: pending"); }

}  // namespace minnow::cuda
