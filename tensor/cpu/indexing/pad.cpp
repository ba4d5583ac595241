#include <algorithm>
#include <cstring>
#include <numeric>
#include <minnow/tensor/cpu/cpu_backend.h>
#include <minnow/tensor/cpu/runtime/parallel.h>
#include <minnow/tensor/dtype_switch.h>

namespace minnow::cpu {
namespace {

constexpr std::int64_t kBlockBytes = 32 * 1024;

/// Rows [begin, end) of out along its dimension order[rank - 1], which is dense.
template <class T> void pad_rows(const calls::PadEdges& args, const int* order, std::int64_t begin, std::int64_t end) {
  const Shape& shape = args.out.shape();
  const int rank = shape.rank(), last = order[rank - 1];
  const std::int64_t width = shape[last], inner = args.x.shape()[last], before = args.before[last];
  const std::int64_t stride = args.x.strides()[last];
  const std::int64_t* const columns = args.sources[last];
  T* to = static_cast<T*>(args.out.raw_data()) + begin * width;
  for (std::int64_t row = begin; row < end; ++row, to += width) {
    const T* from = static_cast<const T*>(args.x.raw_data());
    std::int64_t left = row;
    for (int k = rank - 2; k >= 0; --k) {
      const int d = order[k];
      from += args.sources[d][left % shape[d]] * args.x.strides()[d];
      left /= shape[d];
    }
    for (std::int64_t i = 0; i < before; ++i) to[i] = from[columns[i] * stride];
    if (stride == 1) std::memcpy(to + before, from, static_cast<std::size_t>(inner) * sizeof(T));
    else
      for (std::int64_t i = 0; i < inner; ++i) to[before + i] = from[i * stride];
    for (std::int64_t i = before + inner; i < width; ++i) to[i] = from[columns[i] * stride];
  }
}

}  // namespace

template <> void execute(const calls::PadEdges& args) {
  const Shape& shape = args.out.shape();
  const int rank = shape.rank();
  int order[kMaxRank] = {};
  std::iota(order, order + rank, 0);
  std::stable_sort(order, order + rank, [&](int a, int b) { return args.out.strides()[a] > args.out.strides()[b]; });
  const std::int64_t width = shape[order[rank - 1]], rows = args.out.numel() / width;
  const auto size = static_cast<std::int64_t>(args.out.itemsize());
  size_switch(args.out.itemsize(), [&]<class T>() {
    parallel_blocks(rows, std::max<std::int64_t>(kBlockBytes / (width * size), 1), 2 * rows * width * size,
                    [&](std::int64_t begin, std::int64_t end) { pad_rows<T>(args, order, begin, end); });
  });
}

}  // namespace minnow::cpu
