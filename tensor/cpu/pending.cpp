// Placeholders until matmul.cpp, conv.cpp and pool.cpp land; whoever lands one of them deletes its lines here.
#include <minnow/tensor/cpu/cpu_backend.h>
#include <minnow/tensor/error.h>
namespace minnow::cpu {
void CpuBackend::matmul(const MatmulParams&, const Tensor& a, const Tensor& b, const Tensor& bias, const Tensor& out) {
  auto run = [&]<class T>() {
    for (long i = 0; i < out.size(0); i++)
      for (long m = 0; m < out.size(1); m++)
        for (long n = 0; n < out.size(2); n++) {
          double s = bias.defined() ? static_cast<double>(static_cast<T*>(bias.raw_data())[n * bias.stride(0)]) : 0;
          for (long k = 0; k < a.size(2); k++)
            s +=
                static_cast<double>(
                    static_cast<T*>(a.raw_data())[i * a.stride(0) + m * a.stride(1) + k * a.stride(2)]) *
                static_cast<double>(static_cast<T*>(b.raw_data())[i * b.stride(0) + k * b.stride(1) + n * b.stride(2)]);
          static_cast<T*>(out.raw_data())[i * out.stride(0) + m * out.stride(1) + n * out.stride(2)] =
              static_cast<T>(s);
        }
  };
  if (out.dtype() == DType::float64) run.operator()<double>();
  else run.operator()<float>();
}
namespace {
[[noreturn]] void pending(const char* op) { throw BackendError(std::string(op) + ": not in this build yet"); }
}  // namespace
MemoryFormat CpuBackend::conv2d_format(const Conv2dParams&, const Tensor&, const Tensor&) { pending("conv2d"); }
void CpuBackend::conv2d(const Conv2dParams&, const Tensor&, const Tensor&, const Tensor&, const Tensor&) {
  pending("conv2d");
}
void CpuBackend::conv2d_backward_input(const Conv2dParams&, const Tensor&, const Tensor&, const Tensor&) {
  pending("conv2d");
}
void CpuBackend::conv2d_backward_weight(const Conv2dParams&, const Tensor&, const Tensor&, const Tensor&,
                                        const Tensor&) {
  pending("conv2d");
}
void CpuBackend::max_pool2d(const Pool2dParams&, const Tensor&, const Tensor&, const Tensor&) { pending("max_pool2d"); }
void CpuBackend::max_pool2d_backward(const Pool2dParams&, const Tensor&, const Tensor&, const Tensor&) {
  pending("max_pool2d");
}
void CpuBackend::avg_pool2d(const Pool2dParams&, const Tensor&, const Tensor&) { pending("avg_pool2d"); }
void CpuBackend::avg_pool2d_backward(const Pool2dParams&, const Tensor&, const Tensor&) { pending("avg_pool2d"); }

}  // namespace minnow::cpu
