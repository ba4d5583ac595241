#pragma once

#include <minnow/tensor/in.h>

// Reductions.  `dims` is one dimension or a list, negative ones count from the end; empty: all dimensions.  keepdim
// keeps them with size 1; else the result has the shape of x without them.  IndexError for a dimension out of range,
// ValueError for one that is given twice.
namespace minnow {

/// Σ x; 0 for no elements.  int64 for integers and bool.
[[nodiscard]] Tensor sum(const In& x, const Dims& dims = {}, bool keepdim = false);
/// Σ x / n; NaN for no elements.  DTypeError unless x is floating-point.
[[nodiscard]] Tensor mean(const In& x, const Dims& dims = {}, bool keepdim = false);
/// Σ (x - mean)² / (n - correction); 1 gives the unbiased estimate.  DTypeError unless x is floating-point.
[[nodiscard]] Tensor var(const In& x, const Dims& dims = {}, double correction = 1, bool keepdim = false);
/// √var; as a method x.std().  The gradient is 0 where var is 0.  (A free function cannot be called std.)
[[nodiscard]] Tensor stddev(const In& x, const Dims& dims = {}, double correction = 1, bool keepdim = false);
/// Π x; 1 for no elements.  int64 for integers and bool.
[[nodiscard]] Tensor prod(const In& x, const Dims& dims = {}, bool keepdim = false);
/// The largest and the smallest element; NaN if there is one.  Equal elements share the gradient, and so do NaNs (in
/// PyTorch all elements then get a gradient of NaN).  ShapeError for no elements.
[[nodiscard]] Tensor amax(const In& x, const Dims& dims = {}, bool keepdim = false);
[[nodiscard]] Tensor amin(const In& x, const Dims& dims = {}, bool keepdim = false);
/// Whether any element is not zero: bool.  all(x) is in tensor/index.h, where `all` is also an index.
[[nodiscard]] Tensor any(const In& x, const Dims& dims = {}, bool keepdim = false);
/// (Σ|x|^p)^(1/p); p may be 0 (the number of elements that are not 0), 1, 2, any number, or
/// ±infinity.  DTypeError unless x is floating-point.
[[nodiscard]] Tensor norm(const In& x, double p = 2, const Dims& dims = {}, bool keepdim = false);
/// log Σ e^x without overflow; -infinity for no elements.   dx = g softmax(x).
[[nodiscard]] Tensor logsumexp(const In& x, const Dims& dims = {}, bool keepdim = false);
/// Running sums, of the shape of x: y[i] = x[0] + ... + x[i] along dim.  int64 for integers and bool.  float32 is
/// summed in float64, on every device.  dx is the running sum of g from the end.
[[nodiscard]] Tensor cumsum(const In& x, int dim);

/// The largest or smallest elements along a dimension, and their indices (int64).  Of equal elements the first counts,
/// and gets the gradient.
struct MinMax {
  Tensor values, indices;
};
[[nodiscard]] MinMax max(const In& x, int dim, bool keepdim = false);
[[nodiscard]] MinMax min(const In& x, int dim, bool keepdim = false);
/// Of all elements; the same as amax(x) and amin(x).
[[nodiscard]] Tensor max(const In& x);
[[nodiscard]] Tensor min(const In& x);
/// Elementwise; the same as maximum(a, b) and minimum(a, b).
[[nodiscard]] Tensor max(const In& a, const In& b);
[[nodiscard]] Tensor min(const In& a, const In& b);
/// The index (int64) of the largest or smallest element: of all elements in row-major order, or along dim.  The first
/// of equal elements; of a NaN if there is one.
[[nodiscard]] Tensor argmax(const In& x);
[[nodiscard]] Tensor argmin(const In& x);
[[nodiscard]] Tensor argmax(const In& x, int dim, bool keepdim = false);
[[nodiscard]] Tensor argmin(const In& x, int dim, bool keepdim = false);

/// x summed to `shape`, which must broadcast to x's shape (ShapeError): the gradient of expand().
[[nodiscard]] Tensor sum_to(const In& x, const Shape& shape);

}  // namespace minnow
