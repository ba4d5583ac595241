#include <minnow/tensor/cuda/cuda_backend.h>
#include <minnow/tensor/error.h>
#include <minnow/tensor/internal.h>

// What ops/ composes on devices: attention of products, grid_sample and embedding_bag.

namespace minnow::cuda {

namespace {
[[noreturn]] void refuse(const char* call) {
  throw DeviceError(std::string(call) + ": a call for the host\nthis is an error in minnow");
}
}  // namespace

template <> void execute(const calls::Attention& args) { refuse(args.kName); }
template <> void execute(const calls::AttentionBackward& args) { refuse(args.kName); }
template <> void execute(const calls::GridSample& args) { refuse(args.kName); }
template <> Outcome execute(const calls::EmbeddingBag& args) { refuse(args.kName); }

}  // namespace minnow::cuda
