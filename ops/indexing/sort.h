#pragma once

#include <cstdint>
#include <optional>
#include <minnow/tensor/in.h>

// Order along a dimension.  Equal elements keep their order, and NaN is larger than all numbers.  All dtypes.
// IndexError for a dimension out of range.
namespace minnow {

/// Elements and where they were along the dimension (int64): auto [values, indices] = sort(x).  The gradient goes to
/// the elements at these indices.
struct Ordered {
  Tensor values, indices;
};

/// x in ascending or descending order along dim.
[[nodiscard]] Ordered sort(const In& x, int dim = -1, bool descending = false);
/// The indices of sort().  No gradient.
[[nodiscard]] Tensor argsort(const In& x, int dim = -1, bool descending = false);
/// The k largest (or smallest) elements along dim, in order.  ValueError for k below 0 or above the dimension's size.
[[nodiscard]] Ordered topk(const In& x, std::int64_t k, int dim = -1, bool largest = true);
/// The k-th smallest element along dim, counted from 1.  ValueError for another k than 1 ... size.
[[nodiscard]] Ordered kthvalue(const In& x, std::int64_t k, int dim = -1, bool keepdim = false);
/// The median of all elements: of an even number the lower one of the two in the middle; NaN if there is a NaN, or no
/// element.  Elements equal to it share the gradient.  ShapeError for an empty integer tensor.
[[nodiscard]] Tensor median(const In& x);
/// The median along dim; of a NaN if there is one.  ShapeError for no elements.
[[nodiscard]] Ordered median(const In& x, int dim, bool keepdim = false);
/// The median of the elements that are not NaN; NaN if there is none.  Otherwise as median.
[[nodiscard]] Tensor nanmedian(const In& x);
/// The same along dim.  ShapeError for no elements.
[[nodiscard]] Ordered nanmedian(const In& x, int dim, bool keepdim = false);
/// What a quantile between two elements in order is: on the line between them, the one below, the one above, their
/// mean, or the nearer one (of the even place, if both are as near).
enum class Quantile : std::uint8_t { linear, lower, higher, midpoint, nearest };
/// The q-quantile of all elements, or along dim: the element at q (n - 1) of those in order, interpolated between
/// neighbours. NaN if there is a NaN.  DTypeError unless float32 or float64; ValueError for q outside of [0, 1],
/// ShapeError for no elements.
[[nodiscard]] Tensor quantile(const In& x, double q, std::optional<int> dim = {}, bool keepdim = false,
                              Quantile interpolation = {});
/// The same for each element of q: [n] or 0-dim, of x's dtype, which is checked on a CPU alone.   -> [n, ...].  It has
/// a gradient too: that of the line.
[[nodiscard]] Tensor quantile(const In& x, const In& q, std::optional<int> dim = {}, bool keepdim = false,
                              Quantile interpolation = {});
/// The most frequent element along dim, the smallest of several, and the index of its last occurrence.  ShapeError for
/// no elements.
[[nodiscard]] Ordered mode(const In& x, int dim = -1, bool keepdim = false);

}  // namespace minnow
