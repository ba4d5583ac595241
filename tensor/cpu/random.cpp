#include <cstring>
#include <minnow/tensor/cpu/cpu_backend.h>
#include <minnow/tensor/cpu/runtime/isa.h>
#include <minnow/tensor/cpu/runtime/parallel.h>
#include <minnow/tensor/internal.h>
#include <minnow/tensor/kernels/draw.h>

namespace minnow::cpu {
namespace {

constexpr std::int64_t kBlock = 1024;  // elements at a time

/// Writes elements drawn from Philox numbers (kernels/draw.h).
template <class Draw> void run(PhiloxState state, const View& out, const Draw& draw) {
  using T = typename Draw::Type;
  constexpr std::int64_t kElements = 4 / Draw::kPerElement;
  const auto philox = loops().philox;
  const DrawLoop fill = loops().draw[kernels::kIndexOf<kernels::Draws, Draw>];
  ConvertLoop store = nullptr;  // bytes are stored as they are
  if constexpr (sizeof(T) > 1)
    store = loops().store[static_cast<int>(compute_of(minnow::dtype_of<T>()))][static_cast<int>(out.dtype())];
  // Drawing costs more than touching memory, so a second thread pays for fewer elements: 16 bytes for each.
  parallel_blocks(out.numel(), kBlock, out.numel() * 16, [&](std::int64_t begin, std::int64_t end) {
    std::uint32_t numbers[kBlock * 4 / kElements];
    T values[kBlock];
    const std::int64_t n = end - begin, counters = (n + kElements - 1) / kElements;
    philox(state.seed, state.offset + static_cast<std::uint64_t>(begin / kElements), numbers, counters);
    fill(&draw, numbers, values, counters);
    char* const to = static_cast<char*>(out.raw_data()) + begin * static_cast<std::int64_t>(out.itemsize());
    if (store != nullptr) store(values, to, n);
    else std::memcpy(to, values, static_cast<std::size_t>(n));
  });
}

}  // namespace

template <> void execute(const calls::Uniform& args) {
  kernels::with_uniform(args.out.dtype(), args.low, args.high,
                        [&](const auto& draw) { run(args.state, args.out, draw); });
}

template <> void execute(const calls::Normal& args) {
  kernels::with_normal(args.out.dtype(), args.mean, args.std,
                       [&](const auto& draw) { run(args.state, args.out, draw); });
}

template <> void execute(const calls::Randint& args) {
  run(args.state, args.out, kernels::randint_draw(args.low, args.high));
}

template <> void execute(const calls::Bernoulli& args) {
  run(args.state, args.out, kernels::bernoulli_draw<std::uint8_t>(args.p));
}

template <> void execute(const calls::Exponential& args) {
  kernels::with_exponential(args.out.dtype(), args.rate, [&](const auto& draw) { run(args.state, args.out, draw); });
}

}  // namespace minnow::cpu
