#pragma once

#include <algorithm>
#include <cstddef>
#include <minnow/tensor/create.h>

namespace minnow::data::detail {

/// A contiguous, uninitialized tensor on the host.
inline Tensor host_tensor(DType dtype, const Shape& shape, SourceLocation where) {
  return empty(shape, {.dtype = dtype}, where);
}

/// Copies the elements in row-major order.  `to` is contiguous; both are on the host and have one dtype and shape.
void copy_host(const Tensor& from, const Tensor& to);

/// Prefetches the beginning of a row that will be read soon; the processor prefetches the rest of a long row by itself.
/// Force-inlined: GCC 12 removes calls of functions that only prefetch.
[[gnu::always_inline]] inline void prefetch_row(const void* row, std::size_t bytes) {
  constexpr std::size_t kLine = 64, kMaxBytes = 4096;
  const auto* at = static_cast<const char*>(row);
  for (std::size_t i = 0; i < std::min(bytes, kMaxBytes); i += kLine) __builtin_prefetch(at + i);
}

/// How many rows ahead prefetch_row() is called.
inline constexpr std::size_t kRowsAhead = 2;

/// `shape` without its first dimension.
inline Shape row_shape(const Shape& shape) { return Shape(shape.span().subspan(1)); }

}  // namespace minnow::data::detail
