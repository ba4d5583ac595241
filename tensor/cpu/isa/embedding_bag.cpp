#include <cstring>
#include <minnow/tensor/cpu/cpu_backend.h>
#include <minnow/tensor/cpu/isa/variant.h>
#include <minnow/tensor/cpu/runtime/isa.h>
#include <minnow/tensor/cpu/runtime/parallel.h>

namespace minnow::cpu {

struct BagLoops {
  /// out = the sum of the rows of `size` numbers at `count` (1 or more) indices.
  void (*sum[2])(const void* weight, const std::int64_t* index, std::int64_t count, std::int64_t size, void* out);
};

}  // namespace minnow::cpu

MINNOW_ISA_TABLE(BagLoops, bag_loops)

namespace minnow::cpu::MINNOW_ISA {
namespace {

template <class T> struct Bag {
  typedef T Lanes __attribute__((vector_size(kVectorBytes)));
  static constexpr std::int64_t kLanes = kVectorBytes / sizeof(T);
  const T* rows;
  const std::int64_t* index;
  std::int64_t count, size;

  /// The sums of as many vectors of columns from c on, in registers; returns the column behind them.
  template <int Vectors> MINNOW_HD std::int64_t sum(std::int64_t c, T* out) const {
    for (; c + Vectors * kLanes <= size; c += Vectors * kLanes) {
      Lanes sums[Vectors] = {};
      for (std::int64_t i = 0; i < count; ++i)
        for (int v = 0; v < Vectors; ++v) {
          Lanes row;
          std::memcpy(&row, rows + index[i] * size + c + v * kLanes, sizeof row);
          sums[v] += row;
        }
      std::memcpy(out + c, sums, sizeof sums);
    }
    return c;
  }
};

template <class T>
void sum(const void* weight, const std::int64_t* index, std::int64_t count, std::int64_t size, void* out) {
  const Bag<T> bag{static_cast<const T*>(weight), index, count, size};
  T* const y = static_cast<T*>(out);
  std::int64_t c = bag.template sum<4>(0, y);
  c = bag.template sum<1>(c, y);
  for (; c < size; ++c) {
    y[c] = 0;
    for (std::int64_t i = 0; i < count; ++i) y[c] += bag.rows[index[i] * size + c];
  }
}

}  // namespace

const BagLoops bag_loops = {{sum<float>, sum<double>}};

}  // namespace minnow::cpu::MINNOW_ISA

#if MINNOW_ISA_ONCE
namespace minnow::cpu {

template <> Outcome execute(const calls::EmbeddingBag& args) {
  const std::int64_t bags = args.index.shape()[0], count = args.index.shape()[1], rows = args.weight.shape()[0],
                     size = args.weight.shape()[1];
  const auto* const index = static_cast<const std::int64_t*>(args.index.raw_data());
  for (std::int64_t i = 0; i < bags * count; ++i)
    if (index[i] < 0 || index[i] >= rows) return Outcome::index_out_of_range;
  const auto sum = MINNOW_ISA_LOOPS(bag_loops).sum[args.out.dtype() == DType::float64 ? 1 : 0];
  const auto bytes = size * static_cast<std::int64_t>(args.out.itemsize());
  parallel_blocks(bags, 16, bytes * bags * count, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t b = begin; b < end; ++b)
      sum(args.weight.raw_data(), index + b * count, count, size, static_cast<char*>(args.out.raw_data()) + b * bytes);
  });
  return Outcome::ok;
}

}  // namespace minnow::cpu
#endif
