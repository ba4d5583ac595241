#include <minnow/tensor/backend/dispatch.h>
#include <minnow/tensor/cuda/cuda_backend.h>
#include <minnow/tensor/error.h>
#include <minnow/tensor/internal.h>

namespace minnow::cuda {

template <> void execute(const calls::QuantizedLinear& args) {
  throw BackendError(std::string(CallSite::op_or(args.kName)) +
                     ": layers that are quantized to int8 run on the CPU only, and this one is on " +
                     args.w.device().str() + "\nmove the model: .to(\"cpu\")");
}

}  // namespace minnow::cuda
