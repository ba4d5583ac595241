#include <algorithm>
#include <minnow/tensor/cpu/cpu_backend.h>
#include <minnow/tensor/cpu/isa/row_vectors.h>
#include <minnow/tensor/cpu/runtime/isa.h>
#include <minnow/tensor/cpu/runtime/parallel.h>

namespace minnow::cpu {

/// By dtype: of a row a of `size` numbers, and the columns [size, count].
struct DistanceLoops {
  /// out[r] = Σ_m |a[m] - columns[m, r]|
  void (*distances[2])(const void* a, const void* columns, const void* none, std::int64_t size, std::int64_t count,
                       void* out);
  /// out[m] = Σ_r grad[r] sign(a[m] - columns[m, r])
  void (*gradient[2])(const void* a, const void* columns, const void* grad, std::int64_t size, std::int64_t count,
                      void* out);
};

}  // namespace minnow::cpu

MINNOW_ISA_TABLE(DistanceLoops, distance_loops)

namespace minnow::cpu::MINNOW_ISA {
namespace {

template <class T>
void distances(const void* a, const void* columns, const void*, std::int64_t size, std::int64_t count, void* out) {
  const T *x = static_cast<const T*>(a), *row = static_cast<const T*>(columns);
  T* const y = static_cast<T*>(out);
  std::fill(y, y + count, T(0));
  for (std::int64_t m = 0; m < size; ++m, row += count) {
    const T one = x[m];
#pragma GCC ivdep
    for (std::int64_t r = 0; r < count; ++r) y[r] += std::abs(one - row[r]);
  }
}

template <class T>
void gradient(const void* a, const void* columns, const void* grad, std::int64_t size, std::int64_t count, void* out) {
  using Row = decltype(splat(T()));
  const T *x = static_cast<const T*>(a), *row = static_cast<const T*>(columns), *g = static_cast<const T*>(grad);
  const auto sums_of = [&](std::int64_t m) {
    Row sums = {};
    const Row zero = {}, one = splat(x[m]);
    for_some<T>(count, [&](std::int64_t r, int some) {
      const Row d = one - load_some(row + m * count + r, some), of = load_some(g + r, some);  // of: 0 behind the end
      using Mask = decltype(d > zero);
      sums += reinterpret_cast<Row>((d > zero) & reinterpret_cast<Mask>(of));
      sums -= reinterpret_cast<Row>((d < zero) & reinterpret_cast<Mask>(of));
    });
    return sums;
  };
  fold_rows<Row>(
      size, sums_of, [](auto p, auto q) { return p + q; }, static_cast<T*>(out));
}

}  // namespace

const DistanceLoops distance_loops = {{distances<float>, distances<double>}, {gradient<float>, gradient<double>}};

}  // namespace minnow::cpu::MINNOW_ISA

#if MINNOW_ISA_ONCE
namespace minnow::cpu {

template <> void execute(const calls::ManhattanDistance& args) {
  const std::int64_t rows = args.a.shape()[1], size = args.columns.shape()[1], count = args.columns.shape()[2],
                     total = args.a.shape()[0] * rows, each = args.out.shape()[2];
  const bool of_gradient = args.grad.defined();
  const auto& loops = MINNOW_ISA_LOOPS(distance_loops);
  const auto loop = (of_gradient ? loops.gradient : loops.distances)[args.out.dtype() == DType::float64 ? 1 : 0];
  const auto item = static_cast<std::int64_t>(args.out.itemsize());
  const auto at = [item](const View& t, std::int64_t i) { return static_cast<char*>(t.raw_data()) + i * item; };
  constexpr std::int64_t kElements = 1 << 14;
  parallel_blocks(total, std::max<std::int64_t>(1, kElements / (size * count)), total * size * count * item,
                  [&](std::int64_t begin, std::int64_t end) {
                    for (std::int64_t i = begin; i < end; ++i)
                      loop(at(args.a, i * size), at(args.columns, i / rows * size * count),
                           of_gradient ? at(args.grad, i * count) : nullptr, size, count, at(args.out, i * each));
                  });
}

}  // namespace minnow::cpu
#endif
