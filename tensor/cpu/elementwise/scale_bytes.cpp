#include <minnow/tensor/cpu/cpu_backend.h>
#include <minnow/tensor/cpu/runtime/parallel.h>
#include <minnow/tensor/internal.h>
#include <minnow/tensor/kernels/rounded.h>

namespace minnow::cpu {
namespace {

constexpr std::int64_t kItem = 16 * 1024;

/// Takes plain pointers so that the compiler vectorizes the loop.
void scale_bytes(const std::uint8_t* __restrict x, float* __restrict y, std::int64_t n, float scale, float shift) {
  for (std::int64_t i = 0; i < n; ++i) y[i] = kernels::mul_add(static_cast<float>(x[i]), scale, shift);
}

}  // namespace

template <> void execute(const calls::ScaleBytes& args) {
  const auto* x = static_cast<const std::uint8_t*>(args.x.raw_data());
  auto* y = static_cast<float*>(args.y.raw_data());
  parallel_blocks(args.x.numel(), kItem, args.y.nbytes(), [&](std::int64_t first, std::int64_t last) {
    scale_bytes(x + first, y + first, last - first, args.scale, args.shift);
  });
}

}  // namespace minnow::cpu
