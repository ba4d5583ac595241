#include <algorithm>
#include <minnow/tensor/cpu/cpu_backend.h>
#include <minnow/tensor/cpu/parallel.h>
#include <minnow/tensor/internal.h>

namespace minnow::cpu {
namespace {

constexpr std::int64_t kColumns = 64;  // adjacent lines that are summed together

/// Running sums of `cols` adjacent lines of n elements each, `step` apart.
template <class S, class T> void sum_lines(const S* x, S* y, std::int64_t n, std::int64_t step, std::int64_t cols) {
  T sums[kColumns] = {};
  for (std::int64_t k = 0; k < n; ++k, x += step, y += step)
    for (std::int64_t c = 0; c < cols; ++c) {
      sums[c] = static_cast<T>(sums[c] + static_cast<T>(x[c]));
      y[c] = static_cast<S>(sums[c]);
    }
}

template <class S, class T> void run(const calls::Cumsum& args) {
  const View &x = args.x, &y = args.y;
  std::int64_t outer = 1, inner = 1;
  for (int d = 0; d < x.dim(); ++d)
    if (d != args.dim) (d < args.dim ? outer : inner) *= x.shape()[d];
  const std::int64_t n = x.shape()[args.dim], strips = (inner + kColumns - 1) / kColumns;
  const std::int64_t last = args.reverse ? (n - 1) * inner : 0, step = args.reverse ? -inner : inner;
  parallel_for(outer * strips, 2 * x.nbytes(), [&](std::int64_t i) {
    const std::int64_t left = i % strips * kColumns, at = i / strips * n * inner + left + last;
    sum_lines<S, T>(static_cast<const S*>(x.raw_data()) + at, static_cast<S*>(y.raw_data()) + at, n, step,
                    std::min(kColumns, inner - left));
  });
}

}  // namespace

template <> void execute(const calls::Cumsum& args) {
  switch (args.x.dtype()) {
    case DType::float32: return run<float, double>(args);
    case DType::float64: return run<double, double>(args);
    case DType::float16: return run<float16_t, float>(args);
    case DType::bfloat16: return run<bfloat16_t, float>(args);
    default: return run<std::int64_t, std::uint64_t>(args);  // wraps around
  }
}

}  // namespace minnow::cpu
