#include <minnow/tensor/cuda/cuda_backend.h>
#include <minnow/tensor/cuda/elementwise/element_access.h>
#include <minnow/tensor/cuda/elementwise/pointer_alignment.h>
#include <minnow/tensor/cuda/runtime/launch.h>
#include <minnow/tensor/kernels/rounded.h>

namespace minnow::cuda {
namespace {

/// Packs of bytes, and the bytes after the last pack.
__global__ void scale_bytes(const std::uint8_t* __restrict__ x, float* __restrict__ y, std::int64_t n,
                            std::int64_t packs, float scale, float shift) {
  const std::int64_t thread = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  const std::int64_t threads = static_cast<std::int64_t>(gridDim.x) * blockDim.x;
  for (std::int64_t k = thread; k < packs; k += threads) {
    const Pack<std::uint8_t> from = *reinterpret_cast<const Pack<std::uint8_t>*>(x + k * kPack);
    Pack<float> to;
    for (int u = 0; u < kPack; ++u) to.at[u] = kernels::mul_add(static_cast<float>(from.at[u]), scale, shift);
    *reinterpret_cast<Pack<float>*>(y + k * kPack) = to;
  }
  for (std::int64_t i = packs * kPack + thread; i < n; i += threads)
    y[i] = kernels::mul_add(static_cast<float>(x[i]), scale, shift);
}

}  // namespace

template <> void execute(const calls::ScaleBytes& args) {
  const std::int64_t n = args.x.numel();
  if (n == 0) return;
  const Call call(args);
  const auto* x = static_cast<const std::uint8_t*>(args.x.raw_data());
  auto* y = static_cast<float*>(args.y.raw_data());
  const bool packed = alignment_of(x) >= static_cast<int>(alignof(Pack<std::uint8_t>)) &&
                      alignment_of(y) >= static_cast<int>(alignof(Pack<float>));
  const std::int64_t packs = packed ? n / kPack : 0;
  launch(call, scale_bytes, blocks_for(packed ? packs + 1 : n), kThreads, x, y, n, packs, args.scale, args.shift);
}

}  // namespace minnow::cuda
