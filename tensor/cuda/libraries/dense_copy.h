#pragma once

#include <minnow/tensor/cuda/runtime/call.h>
#include <minnow/tensor/internal.h>

namespace minnow::cuda {

/// A new, uninitialized tensor on the call's device.
View scratch(const Call& call, const Shape& shape, DType dtype, MemoryFormat format = MemoryFormat::contiguous);

/// Copies elements between any strides and dtypes of one shape.
void convert(const View& from, const View& to);

/// A dense view in this format with the values of `from`: `from` itself if it is one.
View packed(const Call& call, const View& from, MemoryFormat format = MemoryFormat::contiguous);

}  // namespace minnow::cuda
