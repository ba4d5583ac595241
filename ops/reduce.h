#pragma once

#include <minnow/tensor/in.h>

/// Reductions.  `dims` is one dimension or a list, may be negative and in any order; none: all dimensions.  keepdim leaves sizes of 1.
/// IndexError for a dimension out of range, ValueError for one named twice.
namespace minnow {

/// Integers and bool sum to int64.
[[nodiscard]] Tensor sum(const In& x, const Dims& dims = {}, bool keepdim = false);
/// Sum over number; floating only; NaN for no elements.
[[nodiscard]] Tensor mean(const In& x, const Dims& dims = {}, bool keepdim = false);
/// The mean squared distance from the mean, over n - correction (1: the unbiased estimate).
[[nodiscard]] Tensor var(const In& x, const Dims& dims = {}, double correction = 1, bool keepdim = false);
/// √var; x.std() as a member.  (As a free function std is the name of a namespace.)
[[nodiscard]] Tensor stddev(const In& x, const Dims& dims = {}, double correction = 1, bool keepdim = false);
[[nodiscard]] Tensor prod(const In& x, const Dims& dims = {}, bool keepdim = false);
/// Largest and smallest; NaN wins; equal ones share the gradient, and so do NaNs (with PyTorch's amax all elements get a
/// gradient of NaN then).  ShapeError for no elements.
[[nodiscard]] Tensor amax(const In& x, const Dims& dims = {}, bool keepdim = false);
[[nodiscard]] Tensor amin(const In& x, const Dims& dims = {}, bool keepdim = false);
/// Bool: an element is not zero.  all(x) is in tensor/index.h, where `all` is an index as well.
[[nodiscard]] Tensor any(const In& x, const Dims& dims = {}, bool keepdim = false);
/// (Σ|x|^p)^(1/p); p may be 0 (count), 1, 2, any number, or ±infinity.
[[nodiscard]] Tensor norm(const In& x, double p = 2, const Dims& dims = {}, bool keepdim = false);
/// log Σ e^x without overflow; -infinity for no elements.
[[nodiscard]] Tensor logsumexp(const In& x, const Dims& dims = {}, bool keepdim = false);
/// Running sums: y[i] = x[0] + ... + x[i] along dim.  Integers and bool give int64.  float32 is summed in float64, on every
/// device.  The gradient is the running sum from the end.
[[nodiscard]] Tensor cumsum(const In& x, int dim);

/// Of one dimension: the values and where they are (int64, the first of equal ones, which gets the gradient).
struct MinMax {
  Tensor values, indices;
};
[[nodiscard]] MinMax max(const In& x, int dim, bool keepdim = false);
[[nodiscard]] MinMax min(const In& x, int dim, bool keepdim = false);
[[nodiscard]] Tensor max(const In& x);
[[nodiscard]] Tensor min(const In& x);
/// The same as maximum and minimum.
[[nodiscard]] Tensor max(const In& a, const In& b);
[[nodiscard]] Tensor min(const In& a, const In& b);
/// Over all elements in row-major order, or one dimension.  int64.
[[nodiscard]] Tensor argmax(const In& x);
[[nodiscard]] Tensor argmin(const In& x);
[[nodiscard]] Tensor argmax(const In& x, int dim, bool keepdim = false);
[[nodiscard]] Tensor argmin(const In& x, int dim, bool keepdim = false);

/// Sums the dimensions in which `shape` was broadcast to x's shape.
[[nodiscard]] Tensor sum_to(const In& x, const Shape& shape);

}  // namespace minnow
