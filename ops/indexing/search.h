#pragma once

#include <cstdint>
#include <optional>
#include <minnow/tensor/in.h>

// Positions among sorted elements, bins, and the different elements of a tensor.
namespace minnow {

/// Where each value is to be put among the sorted elements of its row, so that their order is kept: before equal
/// elements, or after them if `right`.   sorted: [n], or [..., n] with the leading sizes of values   values: any shape
/// -> int64, the same shape.  NaN comes last.  sorter (int64, of the shape of sorted): the indices that sort its rows,
/// as of argsort(); without it they are in order.  DTypeError unless both have one dtype, ShapeError if the leading
/// sizes differ.  No gradient.
[[nodiscard]] Tensor searchsorted(const In& sorted, const In& values, bool right = false, const Tensor& sorter = {});
/// searchsorted(boundaries, x): the bin of each element, between boundaries [n] in ascending order   ->  int64 of x's
/// shape.  No gradient.
[[nodiscard]] Tensor bucketize(const In& x, const In& boundaries, bool right = false);
/// How many elements are in each of `bins` bins of one width between min and max, both included   ->  [bins].  Others
/// are left out.  The range is that of the elements if min = max.  The dtype of x.  DTypeError unless x is
/// floating-point; ValueError for no bins, or a range that is not finite.  No gradient.
[[nodiscard]] Tensor histc(const In& x, std::int64_t bins = 100, double min = 0, double max = 0);

/// The different elements; for each element of x the place of its value (of x's shape); how often each value occurs.
/// The last two are int64, and undefined unless asked for.
struct Unique {
  Tensor values, inverse, counts;
};
/// The different elements of x in ascending order.  Each NaN is another.  The host waits for the device.  No gradient.
/// With dim the different slices x(dim = i), in ascending order of their first elements, then their second ones, ...;
/// inverse is then int64 [size of dim].  One sort for each element of a slice.  ShapeError for slices without elements.
[[nodiscard]] Unique unique(const In& x, bool return_inverse = false, bool return_counts = false,
                            std::optional<int> dim = {});
/// The elements of x.flatten() that differ from the one before   ->  values [n], inverse of x's shape, counts [n].  No
/// gradient.
[[nodiscard]] Unique unique_consecutive(const In& x, bool return_inverse = false, bool return_counts = false);
/// Whether each element of x is in `elements`, of any shape: bool.  NaN is in nothing.  No gradient.
[[nodiscard]] Tensor isin(const In& x, const In& elements);

}  // namespace minnow
