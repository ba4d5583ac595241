#pragma once

#include <cstdint>
#include <minnow/tensor/in.h>

// Counts and moments.  `dims` and keepdim as in ops/reductions/reduce.h: without dims one element, 0-dim; else the
// shape of x without dims.  IndexError for a dimension out of range.
namespace minnow {

/// What std_mean gives: auto [deviation, mean] = std_mean(x).
struct StdMean {
  Tensor std, mean;
};
/// What var_mean gives: auto [variance, mean] = var_mean(x).
struct VarMean {
  Tensor var, mean;
};
/// The standard deviation and the mean, which is computed once.  DTypeError unless x is floating-point.
[[nodiscard]] StdMean std_mean(const In& x, const Dims& dims = {}, double correction = 1, bool keepdim = false);
/// The variance and the mean.
[[nodiscard]] VarMean var_mean(const In& x, const Dims& dims = {}, double correction = 1, bool keepdim = false);

/// The sum of the elements that are not NaN; int64 for integers and bool.  NaNs get a gradient of 0.
[[nodiscard]] Tensor nansum(const In& x, const Dims& dims = {}, bool keepdim = false);
/// The mean of the elements that are not NaN; NaN where there are none.  DTypeError unless x is floating-point.
[[nodiscard]] Tensor nanmean(const In& x, const Dims& dims = {}, bool keepdim = false);
/// The number of elements that are not zero (NaN is not): int64.  No gradient.
[[nodiscard]] Tensor count_nonzero(const In& x, const Dims& dims = {});

/// How often each number occurs.   x: integers [n], 0 or more  ->  int64 [max(largest + 1, minlength)].  The host waits
/// for the device.  ValueError for a negative element or minlength.  No gradient.
[[nodiscard]] Tensor bincount(const In& x, std::int64_t minlength = 0);
/// The sums of the weights [n] of each number: float32 if the weights are, otherwise float64.
[[nodiscard]] Tensor bincount(const In& x, const In& weights, std::int64_t minlength = 0);

}  // namespace minnow
