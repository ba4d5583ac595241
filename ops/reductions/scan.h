#pragma once

#include <minnow/ops/indexing/sort.h>

// Running results along a dimension, as cumsum (ops/reductions/reduce.h): y[i] is of x[0] ... x[i].  float32 is
// computed in float64, on every device.
namespace minnow {

/// Running products.  int64 for integers and bool.   dx[i] = y[i - 1] s[i] with s[i] = g[i] + x[i + 1] s[i + 1],
/// without a quotient, so that zeros have gradients.
[[nodiscard]] Tensor cumprod(const In& x, int dim);
/// log(e^x[0] + ... + e^x[i]) without overflow.  DTypeError unless x is floating-point.
[[nodiscard]] Tensor logcumsumexp(const In& x, int dim);
/// Differences of neighbours along dim, n times: x[i + 1] - x[i].  ValueError for n below 0, or no dimension.
[[nodiscard]] Tensor diff(const In& x, std::int64_t n = 1, int dim = -1);
/// The largest or smallest element so far, and the index (int64) of the last of equal ones; NaN from the first NaN on.
[[nodiscard]] Ordered cummax(const In& x, int dim);
[[nodiscard]] Ordered cummin(const In& x, int dim);

}  // namespace minnow
