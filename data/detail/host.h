#pragma once

#include <algorithm>
#include <cstddef>
#include <minnow/tensor/create.h>

namespace minnow::data::detail {

/// A contiguous host tensor of unspecified content.
inline Tensor host_tensor(DType dtype, const Shape& shape, SourceLocation where) {
  return empty(shape, {.dtype = dtype}, where);
}

/// Copies the elements in row-major order; any strides, one dtype and shape, both on the host, `to`
/// contiguous.
void copy_host(const Tensor& from, const Tensor& to);

/// Asks for the first bytes of a row that will be read soon: in random order, the wait for memory is most of what a row
/// costs, and the processor fetches the rest of a long row by itself.  Inlined, and not to be wrapped in a function of its own: GCC 12 takes a
/// function that only prefetches for one without effect and drops its calls.
[[gnu::always_inline]] inline void prefetch_row(const void* row, std::size_t bytes) {
  constexpr std::size_t kLine = 64, kMost = 4096;
  const auto* at = static_cast<const char*>(row);
  for (std::size_t i = 0; i < std::min(bytes, kMost); i += kLine) __builtin_prefetch(at + i);
}

/// Rows that are asked for before they are read.
inline constexpr std::size_t kRowsAhead = 2;

/// `shape` without its first dimension.
inline Shape row_shape(const Shape& shape) { return Shape(shape.span().subspan(1)); }

}  // namespace minnow::data::detail
