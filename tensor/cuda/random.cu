#include <minnow/tensor/cuda/cuda_backend.h>
#include <minnow/tensor/cuda/elementwise/element_access.h>
#include <minnow/tensor/cuda/runtime/launch.h>
#include <minnow/tensor/kernels/draw.h>

namespace minnow::cuda {
namespace {

/// Writes elements drawn from Philox numbers (kernels/draw.h).
template <Accepts stored, class Draw>
__global__ void random_kernel(PhiloxState state, Draw draw, void* out, DType dtype, std::int64_t n) {
  using T = typename Draw::Type;
  constexpr int kElements = 4 / Draw::kPerElement;
  const std::uint64_t seed = state.replayed != nullptr ? state.replayed[0] : state.seed;
  const std::uint64_t first = state.offset + (state.replayed != nullptr ? state.replayed[1] : 0);
  const std::int64_t step = static_cast<std::int64_t>(gridDim.x) * blockDim.x;
  for (std::int64_t c = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; c * kElements < n;
       c += step) {
    const kernels::Philox4 r = kernels::philox(first + static_cast<std::uint64_t>(c), 0, seed);
    T values[kElements];
    draw(r.lane, values);
    visit_accepted<T, stored>(dtype, [&]<class S>(S) {
      for (int k = 0; k < kElements; ++k)
        if (c * kElements + k < n) static_cast<S*>(out)[c * kElements + k] = narrow<S>(values[k]);
    });
  }
}

template <Accepts stored, class C, class Draw> void run(const C& args, const Draw& draw) {
  const View& out = args.out;
  if (out.numel() == 0) return;
  const Call call(args);
  const std::int64_t counters = (out.numel() * Draw::kPerElement + 3) / 4;
  launch(call, random_kernel<stored, Draw>, blocks_for(counters), kThreads, args.state, draw, out.raw_data(),
         out.dtype(), out.numel());
}

}  // namespace

template <> void execute(const calls::Uniform& args) {
  kernels::with_uniform(args.out.dtype(), args.low, args.high,
                        [&](const auto& draw) { run<Accepts::kSameFamily>(args, draw); });
}

template <> void execute(const calls::Normal& args) {
  kernels::with_normal(args.out.dtype(), args.mean, args.std,
                       [&](const auto& draw) { run<Accepts::kSameFamily>(args, draw); });
}

template <> void execute(const calls::Randint& args) {
  run<Accepts::kAll>(args, kernels::randint_draw(args.low, args.high));
}

template <> void execute(const calls::Bernoulli& args) {
  run<Accepts::kSameFamily>(args, kernels::bernoulli_draw<std::int64_t>(args.p));
}

template <> void execute(const calls::Exponential& args) {
  kernels::with_exponential(args.out.dtype(), args.rate,
                            [&](const auto& draw) { run<Accepts::kSameFamily>(args, draw); });
}

}  // namespace minnow::cuda
