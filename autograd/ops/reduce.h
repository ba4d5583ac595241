#pragma once

#include <minnow/tensor/in.h>

/// Reductions.  `dims` may be negative and in any order; empty: all dimensions.  keepdim leaves sizes of 1.
/// IndexError for a dimension out of range, ValueError for one named twice.
namespace minnow {

/// Integers and bool sum to int64.
Tensor sum(const In& x, const Shape& dims = {}, bool keepdim = false);
/// Sum over number; floating only; NaN for no elements.
Tensor mean(const In& x, const Shape& dims = {}, bool keepdim = false);
/// The mean squared distance from the mean, over n - correction (1: the unbiased estimate).
Tensor var(const In& x, const Shape& dims = {}, double correction = 1, bool keepdim = false);
/// √var; PyTorch's std, a name that C++ has taken.
Tensor stddev(const In& x, const Shape& dims = {}, double correction = 1, bool keepdim = false);
Tensor prod(const In& x, const Shape& dims = {}, bool keepdim = false);
/// Largest and smallest; NaN wins; equal ones share the gradient.  ShapeError for no elements.
Tensor amax(const In& x, const Shape& dims = {}, bool keepdim = false);
Tensor amin(const In& x, const Shape& dims = {}, bool keepdim = false);
/// Bool: an element, or all, are not zero.
Tensor any(const In& x, const Shape& dims = {}, bool keepdim = false);
Tensor all_of(const In& x, const Shape& dims = {}, bool keepdim = false);
/// (Σ|x|^p)^(1/p); p may be 0 (count), 1, 2, any number, or ±infinity.
Tensor norm(const In& x, double p = 2, const Shape& dims = {}, bool keepdim = false);
/// log Σ e^x without overflow; -infinity for no elements.
Tensor logsumexp(const In& x, const Shape& dims = {}, bool keepdim = false);

/// Of one dimension: the values and where they are (int64, the first of equal ones, which gets the gradient).
struct MinMax {
  Tensor values, indices;
};
MinMax max(const In& x, int dim, bool keepdim = false);
MinMax min(const In& x, int dim, bool keepdim = false);
Tensor max(const In& x);
Tensor min(const In& x);
/// Over all elements in row-major order, or one dimension.  int64.
Tensor argmax(const In& x);
Tensor argmin(const In& x);
Tensor argmax(const In& x, int dim, bool keepdim = false);
Tensor argmin(const In& x, int dim, bool keepdim = false);

/// Sums the dimensions in which `shape` was broadcast to x's shape.
Tensor sum_to(const In& x, const Shape& shape, const char* op = "sum_to");

}  // namespace minnow
