#pragma once

#include <minnow/tensor/tensor.h>

namespace minnow::cpu {

/// A new, uninitialised tensor in host memory.
Tensor scratch(const Shape& shape, DType dtype, MemoryFormat format = MemoryFormat::contiguous);

/// Copies elements between any strides and dtypes of one shape.
void convert(const Tensor& from, const Tensor& to);

/// A dense tensor of this dtype and format with from's values: from itself where it is one.
Tensor packed(const Tensor& from, DType dtype, MemoryFormat format = MemoryFormat::contiguous);

}  // namespace minnow::cpu
