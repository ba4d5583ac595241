#include <algorithm>
#include <cstring>
#include <numeric>
#include <minnow/tensor/cpu/cpu_backend.h>
#include <minnow/tensor/cpu/runtime/parallel.h>
#include <minnow/tensor/dtype_switch.h>

namespace minnow::cpu {
namespace {

constexpr std::int64_t kBlockBytes = 32 * 1024;

/// The source of a row of out along its dimension order[rank - 1], which is dense: its place in the dimensions before.
template <class T> class Rows {
 public:
  Rows(const calls::PadEdges& args, const int* order, std::int64_t row) : args_(args), order_(order) {
    for (int k = args.out.dim() - 2; k >= 0; --k) {
      index_[k] = row % size(k);
      row /= size(k);
      enter(k);
    }
  }
  /// nullptr: a source is -1.
  const T* from() const { return outside_ == 0 ? static_cast<const T*>(args_.x.raw_data()) + offset_ : nullptr; }
  void next() {
    for (int k = args_.out.dim() - 2; k >= 0; --k) {
      leave(k);
      if (++index_[k] < size(k)) return enter(k);
      index_[k] = 0;
      enter(k);
    }
  }

 private:
  std::int64_t size(int k) const { return args_.out.shape()[order_[k]]; }
  std::int64_t source(int k) const { return args_.sources[order_[k]][index_[k]]; }
  void enter(int k) {
    offset_ += source(k) * args_.x.strides()[order_[k]];
    outside_ += source(k) < 0 ? 1 : 0;
  }
  void leave(int k) {
    offset_ -= source(k) * args_.x.strides()[order_[k]];
    outside_ -= source(k) < 0 ? 1 : 0;
  }
  const calls::PadEdges& args_;
  const int* order_;
  std::int64_t index_[kMaxRank] = {}, offset_ = 0;
  int outside_ = 0;
};

template <class T> void pad_rows(const calls::PadEdges& args, const int* order, std::int64_t begin, std::int64_t end) {
  const int last = order[args.out.dim() - 1];
  const std::int64_t width = args.out.shape()[last], inner = args.x.shape()[last], before = args.before[last];
  const std::int64_t stride = args.x.strides()[last];
  const std::int64_t* const columns = args.sources[last];
  const T value = args.value.defined() ? *static_cast<const T*>(args.value.raw_data()) : T();
  T* to = static_cast<T*>(args.out.raw_data()) + begin * width;
  Rows<T> rows(args, order, begin);
  for (std::int64_t row = begin; row < end; ++row, to += width, rows.next()) {
    const T* const from = rows.from();
    if (from == nullptr) {
      std::fill(to, to + width, value);
      continue;
    }
    const auto edge = [&](std::int64_t i) { return columns[i] < 0 ? value : from[columns[i] * stride]; };
    for (std::int64_t i = 0; i < before; ++i) to[i] = edge(i);
    if (stride == 1) std::memcpy(to + before, from, static_cast<std::size_t>(inner) * sizeof(T));
    else
      for (std::int64_t i = 0; i < inner; ++i) to[before + i] = from[i * stride];
    for (std::int64_t i = before + inner; i < width; ++i) to[i] = edge(i);
  }
}

}  // namespace

template <> void execute(const calls::PadEdges& args) {
  const Shape& shape = args.out.shape();
  const int rank = shape.rank();
  int order[kMaxRank] = {};
  std::iota(order, order + rank, 0);
  const auto step = [&](int d) { return shape[d] == 1 ? INT64_MAX : args.out.strides()[d]; };  // of 1: not the last one
  std::stable_sort(order, order + rank, [&](int a, int b) { return step(a) > step(b); });
  const std::int64_t width = shape[order[rank - 1]], rows = args.out.numel() / width;
  const auto size = static_cast<std::int64_t>(args.out.itemsize());
  size_switch(args.out.itemsize(), [&]<class T>() {
    parallel_blocks(rows, std::max<std::int64_t>(kBlockBytes / (width * size), 1), 2 * rows * width * size,
                    [&](std::int64_t begin, std::int64_t end) { pad_rows<T>(args, order, begin, end); });
  });
}

}  // namespace minnow::cpu
