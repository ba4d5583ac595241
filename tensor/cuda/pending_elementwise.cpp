#include <minnow/tensor/cuda/cuda_backend.h>
#include <minnow/tensor/error.h>

namespace minnow::cuda {

void CudaBackend::copy(const Tensor&, const Tensor&) { throw BackendError("copy: pending"); }
void CudaBackend::fill(const Tensor&, Scalar) { throw BackendError("fill: pending"); }
void CudaBackend::arange(const Tensor&, double, double) { throw BackendError("arange: pending"); }
void CudaBackend::unary(const UnaryParams&, const Tensor&, const Tensor&) { throw BackendError("unary: pending"); }
void CudaBackend::unary_slope(const UnaryParams&, const Tensor&, const Tensor&, const Tensor&) {
  throw BackendError("unary_slope: pending");
}
void CudaBackend::unary_curve(const UnaryParams&, const Tensor&, const Tensor&, const Tensor&) {
  throw BackendError("unary_curve: pending");
}
bool CudaBackend::binary(int, DType, const Tensor&, const Tensor&, const Tensor&) {
  throw BackendError("binary: pending");
}
void CudaBackend::ternary(int, DType, const Tensor&, const Tensor&, const Tensor&, double, const Tensor&) {
  throw BackendError("ternary: pending");
}
void CudaBackend::uniform(PhiloxState, double, double, const Tensor&) { throw BackendError("uniform: pending"); }
void CudaBackend::normal(PhiloxState, double, double, const Tensor&) { throw BackendError("normal: pending"); }
void CudaBackend::randint(PhiloxState, std::int64_t, std::int64_t, const Tensor&) {
  throw BackendError("randint: pending");
}
void CudaBackend::bernoulli(PhiloxState, double, const Tensor&) { throw BackendError("bernoulli: pending"); }
void CudaBackend::update(const UpdateParams&, std::span<const UpdateItem>) { throw BackendError("update: pending"); }

}  // namespace minnow::cuda
