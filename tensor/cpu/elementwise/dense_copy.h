#pragma once

#include <minnow/tensor/internal.h>
#include <minnow/tensor/view.h>

namespace minnow::cpu {

/// A new, uninitialized tensor in host memory.
View scratch(const Shape& shape, DType dtype, MemoryFormat format = MemoryFormat::contiguous);

/// Copies elements between any strides and dtypes of one shape.
void convert(const View& from, const View& to);

/// A dense view of this dtype and format with the values of `from`: `from` itself if it is one.
View packed(const View& from, DType dtype, MemoryFormat format = MemoryFormat::contiguous);

/// Whether the dense dimensions of two tensors of one shape differ, so that a copy goes by tiles.  Not of elements that
/// are broadcast along that of `to`.
bool is_transpose(const View& from, const View& to);

/// `t`, or a copy with the strides of `like` where that is a transpose: it and dense reads are faster than strided
/// ones.
View laid_out_as(const View& like, const View& t);

}  // namespace minnow::cpu
