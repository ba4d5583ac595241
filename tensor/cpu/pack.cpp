#include <minnow/tensor/cpu/pack.h>

#include <algorithm>
#include <cstring>
#include <numeric>
#include <minnow/tensor/threads.h>

namespace minnow::cpu {
namespace {

constexpr std::int64_t kParallelBytes = 128 << 10;

/// Calls f with a value of the dtype's type.
template <class F> void visit(DType dtype, const F& f) {
  switch (dtype) {
    case DType::float32: return f(float());
    case DType::float64: return f(double());
    case DType::float16: return f(minnow::float16());
    case DType::bfloat16: return f(minnow::bfloat16());
    case DType::int64: return f(std::int64_t());
    case DType::int32: return f(std::int32_t());
    case DType::uint8: return f(std::uint8_t());
    case DType::bool_: return f(bool());
  }
}

template <class To, class From> To cast(From value) {
  if constexpr (std::is_same_v<To, From>) return value;
  else if constexpr (std::is_same_v<To, bool>) return value != From(0.0f);
  else if constexpr (std::is_integral_v<From> && (sizeof(To) == 2)) return To(static_cast<float>(value));
  else if constexpr (sizeof(From) == 2 && std::is_integral_v<To>) return static_cast<To>(static_cast<float>(value));
  else if constexpr (sizeof(To) == 2) return To(static_cast<float>(value));
  else return static_cast<To>(value);
}

template <class From, class To>
void convert_row(const From* from, std::int64_t from_step, To* to, std::int64_t to_step, std::int64_t n) {
  if (from_step == 1 && to_step == 1)
    for (std::int64_t i = 0; i < n; ++i) to[i] = cast<To>(from[i]);
  else
    for (std::int64_t i = 0; i < n; ++i) to[i * to_step] = cast<To>(from[i * from_step]);
}

/// Dimensions in the order of the target's memory, outermost first, those that are one run joined.
struct Walk {
  int rank = 0;
  std::int64_t size[kMaxRank], from[kMaxRank], to[kMaxRank];
};

Walk walk_of(const Tensor& from, const Tensor& to) {
  int order[kMaxRank];
  const int rank = to.dim();
  std::iota(order, order + rank, 0);
  std::stable_sort(order, order + rank, [&](int a, int b) { return to.strides()[a] > to.strides()[b]; });
  Walk walk;
  for (int i = 0; i < rank; ++i) {
    const int d = order[i];
    if (to.shape()[d] == 1) continue;
    const int last = walk.rank - 1;
    if (last >= 0 && walk.from[last] == from.strides()[d] * to.shape()[d] &&
        walk.to[last] == to.strides()[d] * to.shape()[d]) {
      walk.size[last] *= to.shape()[d];
      walk.from[last] = from.strides()[d];
      walk.to[last] = to.strides()[d];
      continue;
    }
    walk.size[walk.rank] = to.shape()[d];
    walk.from[walk.rank] = from.strides()[d];
    walk.to[walk.rank++] = to.strides()[d];
  }
  if (walk.rank == 0) walk.size[0] = walk.from[0] = walk.to[0] = 1, walk.rank = 1;
  return walk;
}

template <class From, class To> void convert_all(const Walk& walk, const From* from, To* to) {
  const int inner = walk.rank - 1;
  const std::int64_t n = walk.size[inner];
  std::int64_t rows = 1;
  for (int d = 0; d < inner; ++d) rows *= walk.size[d];
  // One long run is cut, so that threads can share it.
  constexpr std::int64_t kCut = 1 << 14;
  const std::int64_t cuts = (n + kCut - 1) / kCut, pieces = rows * cuts;
  const int threads = rows * n * static_cast<std::int64_t>(sizeof(To)) < kParallelBytes ? 1 : num_threads();
#pragma omp parallel for num_threads(threads) if (threads > 1) schedule(static)
  for (std::int64_t piece = 0; piece < pieces; ++piece) {
    std::int64_t row = piece / cuts, from_at = 0, to_at = 0;
    const std::int64_t start = piece % cuts * kCut;
    for (int d = inner - 1; d >= 0; --d) {
      const std::int64_t i = row % walk.size[d];
      row /= walk.size[d];
      from_at += i * walk.from[d];
      to_at += i * walk.to[d];
    }
    convert_row(from + from_at + start * walk.from[inner], walk.from[inner], to + to_at + start * walk.to[inner],
                walk.to[inner], std::min(kCut, n - start));
  }
}

}  // namespace

Tensor scratch(const Shape& shape, DType dtype, MemoryFormat format) {
  const auto bytes = static_cast<std::size_t>(shape.numel()) * size_of(dtype);
  return Tensor(std::make_shared<Storage>(cpu_allocator(), Device(), bytes), dtype, shape,
                format == MemoryFormat::channels_last ? channels_last_strides(shape) : contiguous_strides(shape));
}

void convert(const Tensor& from, const Tensor& to) {
  if (to.numel() == 0) return;
  const Walk walk = walk_of(from, to);
  visit(from.dtype(), [&](auto f) {
    visit(to.dtype(), [&](auto t) {
      convert_all(walk, static_cast<const decltype(f)*>(from.raw_data()), static_cast<decltype(t)*>(to.raw_data()));
    });
  });
}

Tensor packed(const Tensor& from, DType dtype, MemoryFormat format) {
  if (from.dtype() == dtype && from.is_contiguous(format)) return from;
  Tensor to = scratch(from.shape(), dtype, format);
  convert(from, to);
  return to;
}

}  // namespace minnow::cpu
