#pragma once

#include <minnow/tensor/in.h>

/// Reductions.  `dims` may be negative and in any order; empty: all dimensions.  keepdim leaves sizes of 1.
/// IndexError for a dimension out of range, ValueError for one named twice.
namespace minnow {

/// Integers and bool sum to int64.
Tensor sum(In x, const Shape& dims = {}, bool keepdim = false);
/// Sum over number; floating only; NaN for no elements.
Tensor mean(In x, const Shape& dims = {}, bool keepdim = false);
/// The mean squared distance from the mean, over n - correction (1: the unbiased estimate).
Tensor var(In x, const Shape& dims = {}, double correction = 1, bool keepdim = false);
/// √var; PyTorch's std, a name that C++ has taken.
Tensor stddev(In x, const Shape& dims = {}, double correction = 1, bool keepdim = false);
Tensor prod(In x, const Shape& dims = {}, bool keepdim = false);
/// Largest and smallest; NaN wins; equal ones share the gradient.  ShapeError for no elements.
Tensor amax(In x, const Shape& dims = {}, bool keepdim = false);
Tensor amin(In x, const Shape& dims = {}, bool keepdim = false);
/// Bool: an element, or all, are not zero.
Tensor any(In x, const Shape& dims = {}, bool keepdim = false);
Tensor all_of(In x, const Shape& dims = {}, bool keepdim = false);
/// (Σ|x|^p)^(1/p); p may be 0 (count), 1, 2, any number, or ±infinity.
Tensor norm(In x, double p = 2, const Shape& dims = {}, bool keepdim = false);
/// log Σ e^x without overflow.
Tensor logsumexp(In x, const Shape& dims = {}, bool keepdim = false);

/// Of one dimension: the values and where they are (int64, the first of equal ones, which gets the gradient).
struct MinMax {
  Tensor values, indices;
};
MinMax max(In x, int dim, bool keepdim = false);
MinMax min(In x, int dim, bool keepdim = false);
inline Tensor max(In x) { return amax(x); }
inline Tensor min(In x) { return amin(x); }
/// Over all elements in row-major order, or one dimension.  int64.
Tensor argmax(In x);
Tensor argmin(In x);
Tensor argmax(In x, int dim, bool keepdim = false);
Tensor argmin(In x, int dim, bool keepdim = false);

/// Sums the dimensions in which `shape` was broadcast to x's shape.
Tensor sum_to(In x, const Shape& shape, const char* op = "sum_to");

}  // namespace minnow
