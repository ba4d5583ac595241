#pragma once

#include <cstdint>
#include <optional>
#include <minnow/ops/indexing/scatter.h>

// Reductions over segments of a dimension, and over the elements of a group.
namespace minnow {

struct SegmentOptions {
  int axis = 0;                        ///< of data: the last dimension of lengths
  bool unsafe = false;                 ///< lengths are not checked, and the host does not wait for the device
  std::optional<double> initial = {};  ///< what a segment begins with, which a mean does not count
};
/// The sum (product, mean, largest or smallest element) of each segment of data: the first lengths[0] elements along
/// axis, the next lengths[1], and so on.   data: [..., N, *], floating-point  lengths: int64 or int32 [..., S]  ->
/// [..., S, *].  Where there are offsets, lengths = diff(offsets).  An empty segment has the initial value: 0, 1,
/// -infinity or infinity by default, and NaN as its mean.  ValueError unless the lengths are not negative and add up to
/// N.  Equal largest elements share the gradient.
[[nodiscard]] Tensor segment_reduce(const In& data, Scatter reduce, const In& lengths,
                                    const SegmentOptions& options = {});
/// softmax over the elements along dim that have the same index, as torch_scatter's.   x: any shape, floating-point
/// index: int64 or int32 of a shape that broadcasts to x's, from 0 on, below dim_size, which is read from it by
/// default.
[[nodiscard]] Tensor scatter_softmax(const In& x, const In& index, int dim = -1,
                                     std::optional<std::int64_t> dim_size = {});

}  // namespace minnow
