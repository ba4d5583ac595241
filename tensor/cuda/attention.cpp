#include <minnow/tensor/cuda/cuda_backend.h>
#include <minnow/tensor/error.h>
#include <minnow/tensor/internal.h>

// ops/attention.cpp composes attention of products on devices.

namespace minnow::cuda {

template <> void execute(const calls::Attention& args) {
  throw DeviceError(std::string(args.kName) + ": a call for the host\nthis is an error in minnow");
}

template <> void execute(const calls::AttentionBackward& args) {
  throw DeviceError(std::string(args.kName) + ": a call for the host\nthis is an error in minnow");
}

}  // namespace minnow::cuda
