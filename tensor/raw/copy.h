#pragma once

#include <minnow/tensor/in.h>
#include <minnow/tensor/internal.h>

namespace minnow::detail::raw {

/// x itself if its memory is in that order already, otherwise a copy.  channels_last: ShapeError unless x is 4-d.
Tensor contiguous(const In& x, MemoryFormat format = MemoryFormat::contiguous);
/// A dense copy with its own storage, in x's order of dimensions.
Tensor clone(const In& x);
/// x itself if it has that dtype already, otherwise a converted copy (floating-point to integer truncates).
Tensor cast(const In& x, DType dtype);
/// Writes `from`, broadcast and converted, into `to`, on any device.  ShapeError if it does not
/// broadcast.  Returns `to`.
Tensor copy_to(const Tensor& from, const Tensor& to, SourceLocation where = {});
/// Waits for the copies and the work that use the two tensors.  This part of a copy can fail; overwrite() cannot.
void wait_for(const Tensor& to, const Tensor& from);
/// Writes `from` into a tensor of the same shape, dtype and device, without allocating.  Call wait_for() for both
/// first; copy_to() must be allowed.
void overwrite(const Tensor& from, const Tensor& to);
/// Sets every element of x to value.
void fill_(const In& x, Scalar value);

/// Whether a loop that reads x and writes `out` would read elements that it has written: they share memory with
/// different layouts.
bool overlaps(const Tensor& out, const Tensor& x);
/// ShapeError if elements of x share memory (it was expanded), so that it cannot be written.
void require_writable(const In& x);

}  // namespace minnow::detail::raw
