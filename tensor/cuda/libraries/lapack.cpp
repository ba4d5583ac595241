#include <minnow/tensor/backend/dispatch.h>
#include <minnow/tensor/cuda/cuda_backend.h>
#include <minnow/tensor/error.h>
#include <minnow/tensor/internal.h>

namespace minnow::cuda {

template <> Outcome execute(const calls::Lapack& args) {
  throw DeviceError(std::string(CallSite::op_or(args.kName)) +
                    ": matrix factorizations run on the CPU only, and this is on " + args.a.device().str() +
                    "\ncopy the matrix to the host: a.cpu()");
}

}  // namespace minnow::cuda
