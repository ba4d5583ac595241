#pragma once

#include <minnow/tensor/in.h>
#include <minnow/tensor/internal.h>

namespace minnow::detail::raw {

/// x itself if its memory is in that order already, else a copy.  channels_last: ShapeError unless x is 4-d.
Tensor contiguous(const In& x, MemoryFormat format = MemoryFormat::contiguous);
/// A copy with its own storage: dense, in x's order of dimensions.
Tensor clone(const In& x);
/// x itself if it is of that dtype already, else a converted copy (floating to integer truncates).
Tensor cast(const In& x, DType dtype);
/// Writes `from`, broadcast and converted, into `to`, on any device.  ShapeError when it does not fit.
/// Returns `to`.
Tensor copy_to(const Tensor& from, const Tensor& to, SourceLocation where = {});
/// Does what may fail of overwrite(): waits for copies and work that use the two.
void wait_for(const Tensor& to, const Tensor& from);
/// Writes `from` into a tensor of the same shape, dtype and device, where wait_for() was called for both and copy_to()
/// would be allowed: takes no memory.
void overwrite(const Tensor& from, const Tensor& to);
/// Every element of x becomes value.
void fill_(const In& x, Scalar value);

/// Whether writing to `out` while reading `x` would read elements already written: they share memory, and do not lie
/// there in the same way.
bool overlaps(const Tensor& out, const Tensor& x);
/// Refuses to write through a tensor whose elements share memory (an expanded one).
void require_writable(const In& x);

}  // namespace minnow::detail::raw
