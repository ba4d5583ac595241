#pragma once

#include <memory>
#include <minnow/tensor/allocator.h>
#include <minnow/tensor/tensor.h>

namespace minnow::data::detail {

/// A contiguous host tensor of unspecified content.
inline Tensor host_tensor(DType dtype, const Shape& shape) {
  const auto bytes = static_cast<std::size_t>(shape.numel()) * size_of(dtype);
  auto storage = std::make_shared<Storage>(cpu_allocator(), Device(), bytes);
  return Tensor(std::move(storage), dtype, shape, contiguous_strides(shape));
}

/// Copies the elements in row-major order; any strides, one dtype and shape, both on the host, `to`
/// contiguous.
void copy_host(const Tensor& from, const Tensor& to);

/// `shape` without its first dimension.
inline Shape row_shape(const Shape& shape) { return Shape(shape.span().subspan(1)); }

}  // namespace minnow::data::detail
