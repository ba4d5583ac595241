#include <cuda_runtime_api.h>
#include <minnow/tensor/backend/cuda_native.h>
#include <minnow/tensor/cuda/memory/memory_pool.h>
#include <minnow/tensor/cuda/runtime/call.h>
#include <minnow/tensor/cuda/runtime/status.h>
#include <minnow/tensor/runtime/capture_session.h>

namespace minnow::cuda {

void* native_stream(const Tensor& a, const Tensor& b) {
  const Call first("native_stream", a.layout()), second("native_stream", b.impl()->view);
  if (capturing())
    for (const Tensor& x : {a, b}) detail::CaptureSession::note(x.layout());
  return first.stream();
}

std::string bus_id(int device) {
  char text[32] = "";
  check(cudaDeviceGetPCIBusId(text, sizeof text, device), "cudaDeviceGetPCIBusId");
  return text;
}

bool is_capturing() { return capturing(); }

NativeScope::NativeScope() : relaxed_(capturing()) {
  if (!relaxed_) return;
  cudaStreamCaptureMode mode = cudaStreamCaptureModeRelaxed;
  cudaThreadExchangeStreamCaptureMode(&mode);
  mode_ = mode;
}

NativeScope::~NativeScope() {
  if (!relaxed_) return;
  auto mode = static_cast<cudaStreamCaptureMode>(mode_);
  cudaThreadExchangeStreamCaptureMode(&mode);
}

}  // namespace minnow::cuda
