#pragma once

#include <cstdint>
#include <minnow/tensor/kernels/hd.h>
#include <minnow/tensor/kernels/narrow_limit.h>
#include <minnow/tensor/shape.h>

namespace minnow::detail::kernels {

/// Divides numbers below 2^31 by a fixed divisor, by a multiplication (Granlund and Montgomery 1994).
struct Divisor {
  std::uint32_t size = 1, magic = 1, shift = 0;

  Divisor() = default;
  /// d in [1, 2^31).
  explicit Divisor(std::int64_t d) : size(static_cast<std::uint32_t>(d)) {
    while ((std::uint64_t{1} << shift) < size) ++shift;
    const std::uint64_t power = std::uint64_t{1} << shift;
    magic = static_cast<std::uint32_t>((power - size) * (std::uint64_t{1} << 32) / size + 1);
  }

  MINNOW_HD std::uint32_t quotient(std::uint32_t n) const {
    const std::uint32_t high = static_cast<std::uint32_t>((std::uint64_t{n} * magic) >> 32);
    return (high + n) >> shift;
  }
};

/// The shape of N operands and their strides in bytes.
template <int N> struct Layout {
  std::int64_t numel = 1;
  int rank = 0;
  std::int64_t sizes[kMaxRank] = {};
  std::int64_t strides[N][kMaxRank] = {};

  /// Whether operand k is contiguous, with elements of `bytes` bytes.
  bool is_flat(int k, std::int64_t bytes) const { return rank == 1 && (strides[k][0] == bytes || sizes[0] == 1); }
};

/// The byte offsets of one element in every operand.
template <int N> struct Offsets { std::int32_t at[N]; };

/// A layout in which element numbers and byte offsets fit into 31 bits: the argument of a kernel.
template <int N> struct Narrow {
  std::uint32_t numel;
  int rank;
  Divisor sizes[kMaxRank];
  std::int32_t strides[kMaxRank][N];

  /// The offsets of element i.
  MINNOW_HD Offsets<N> offsets(std::uint32_t i) const {
    Offsets<N> sum{};
    // Not unrolled: this loop would be most of a kernel's code.
#ifdef __CUDA_ARCH__
#pragma unroll 1
#endif
    for (int d = rank - 1; d > 0; --d) {
      const std::uint32_t q = sizes[d].quotient(i);
      const std::int32_t rest = static_cast<std::int32_t>(i - q * sizes[d].size);
      for (int k = 0; k < N; ++k) sum.at[k] += rest * strides[d][k];
      i = q;
    }
    for (int k = 0; k < N; ++k) sum.at[k] += static_cast<std::int32_t>(i) * strides[0][k];
    return sum;
  }
};

/// Whether all element numbers and byte offsets are below the limit.
template <int N> bool is_narrow(const Layout<N>& layout) {
  const std::int64_t limit = narrow_limit();
  if (layout.numel >= limit) return false;
  for (int k = 0; k < N; ++k) {
    std::int64_t span = 0;
    for (int d = 0; d < layout.rank; ++d) {
      const std::int64_t stride = layout.strides[k][d];
      span += (layout.sizes[d] - 1) * (stride < 0 ? -stride : stride);
    }
    if (span >= limit) return false;
  }
  return true;
}

template <int N> Narrow<N> narrow(const Layout<N>& layout) {
  Narrow<N> to{};
  to.numel = static_cast<std::uint32_t>(layout.numel);
  to.rank = layout.rank;
  for (int d = 0; d < layout.rank; ++d) {
    to.sizes[d] = Divisor(layout.sizes[d]);
    for (int k = 0; k < N; ++k) to.strides[d][k] = static_cast<std::int32_t>(layout.strides[k][d]);
  }
  return to;
}

/// The byte offset at which a part of a layout begins, for each operand.
template <int N> struct Base {
  std::int64_t at[N] = {};
};

/// Calls f(narrow layout, base) for parts that make up the layout: usually a single one.
template <int N, class F> void for_narrow_parts(const Layout<N>& layout, const F& f, const Base<N>& base = {}) {
  if (is_narrow(layout)) return f(narrow(layout), base);
  int outer = 0;
  while (layout.sizes[outer] == 1) ++outer;
  const std::int64_t size = layout.sizes[outer], half = size / 2;
  Layout<N> part = layout;
  part.sizes[outer] = half;
  part.numel = layout.numel / size * half;
  for_narrow_parts(part, f, base);
  Base<N> rest = base;
  for (int k = 0; k < N; ++k) rest.at[k] += half * layout.strides[k][outer];
  part.sizes[outer] = size - half;
  part.numel = layout.numel - part.numel;
  for_narrow_parts(part, f, rest);
}

/// One operand of a layout: its strides, in elements, and the bytes of an element.
struct Walk {
  const Strides& strides;
  std::int64_t itemsize;
};

/// The layout of operands of one shape, which has elements.  Dimensions are in the memory order of the first operand
/// (the output, so that neighboring elements in memory have neighboring numbers), and are merged if all operands
/// allow it.
template <int N> Layout<N> collapse(const Shape& shape, const Walk (&operands)[N]) {
  Layout<N> layout;
  int order[kMaxRank];
  int rank = 0;
  const Strides& first = operands[0].strides;
  for (int d = 0; d < shape.rank(); ++d) {
    if (shape[d] == 1) continue;
    int at = rank++;
    for (; at > 0 && first[order[at - 1]] < first[d]; --at) order[at] = order[at - 1];
    order[at] = d;
  }
  for (int i = 0; i < rank; ++i) {
    const std::int64_t size = shape[order[i]];
    layout.numel *= size;
    std::int64_t steps[N];
    bool merges = layout.rank > 0;
    for (int k = 0; k < N; ++k) {
      steps[k] = operands[k].strides[order[i]] * operands[k].itemsize;
      merges = merges && layout.strides[k][layout.rank - 1] == steps[k] * size;
    }
    const int to = merges ? layout.rank - 1 : layout.rank++;
    layout.sizes[to] = merges ? layout.sizes[to] * size : size;
    for (int k = 0; k < N; ++k) layout.strides[k][to] = steps[k];
  }
  if (layout.rank == 0) {
    layout.rank = 1;
    layout.sizes[0] = 1;
    for (int k = 0; k < N; ++k) layout.strides[k][0] = operands[k].itemsize;
  }
  return layout;
}

/// Joins neighboring elements to wider ones of up to 16 bytes, for operands that are copied unchanged: the first M, at
/// `addresses`, with elements of `itemsize` bytes.  The other operands (indices) must have stride 0 along them.
/// Returns the new size of an element.
template <int N, int M>
std::int64_t widen(Layout<N>& layout, std::int64_t itemsize, const void* const (&addresses)[M]) {
  const int last = layout.rank - 1;
  std::int64_t unit = 16;
  for (int k = 0; k < M; ++k) {
    if (layout.strides[k][last] != itemsize) return itemsize;
    std::int64_t bits = static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(addresses[k]));
    for (int d = 0; d < last; ++d) bits |= layout.strides[k][d];
    while (bits % unit != 0) unit /= 2;
  }
  for (int k = M; k < N; ++k)
    if (layout.strides[k][last] != 0) return itemsize;
  while (unit > itemsize && layout.sizes[last] * itemsize % unit != 0) unit /= 2;
  if (unit <= itemsize) return itemsize;
  layout.sizes[last] /= unit / itemsize;
  layout.numel /= unit / itemsize;
  for (int k = 0; k < M; ++k) layout.strides[k][last] = unit;
  return unit;
}

}  // namespace minnow::detail::kernels
