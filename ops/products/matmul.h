#pragma once

#include <minnow/tensor/activation.h>
#include <minnow/tensor/in.h>
#include <minnow/tensor/scalar.h>

namespace minnow {

/// Matrix product by PyTorch's rules.   a: [..., M, K]  b: [..., K, N]  ->  [..., M, N]; leading dimensions
/// are broadcast; a vector is a row (a) or a column (b), whose dimension is removed from the result.  ShapeError if the
/// inner sizes differ, DTypeError if the dtypes do.   da = g bᵀ   db = aᵀ g.
[[nodiscard]] Tensor matmul(const In& a, const In& b);
/// Products of operands with a fixed number of dimensions: mm of two matrices, bmm of two batches of matrices, mv of a
/// matrix and a vector, dot of two vectors (a 0-dim tensor), outer of two vectors (the matrix a bᵀ).  ShapeError for
/// others.
[[nodiscard]] Tensor mm(const In& a, const In& b);
[[nodiscard]] Tensor bmm(const In& a, const In& b);
[[nodiscard]] Tensor mv(const In& a, const In& b);
[[nodiscard]] Tensor dot(const In& a, const In& b);
[[nodiscard]] Tensor outer(const In& a, const In& b);
/// Products of a and b, summed over the last `dims` dimensions of a and the first of b; or over those of two lists,
/// pair by pair.  ShapeError if their sizes differ.
[[nodiscard]] Tensor tensordot(const In& a, const In& b, int dims = 2);
[[nodiscard]] Tensor tensordot(const In& a, const In& b, const Dims& dims_a, const Dims& dims_b);
/// The Kronecker product: b times each element of a, block by block.   [..., M, N] and [..., P, Q]  ->  [..., M P, N
/// Q], for any number of dimensions.
[[nodiscard]] Tensor kron(const In& a, const In& b);
/// The vectors orthogonal to those of a and b along dim, of size 3: a[1] b[2] - a[2] b[1], ...  The others are
/// broadcast.
[[nodiscard]] Tensor cross(const In& a, const In& b, int dim = -1);
/// The sum of the diagonal of a matrix.
[[nodiscard]] Tensor trace(const In& x);
/// beta input + alpha (a b), for matrices and for batches of matrices; input is broadcast to the product.  With beta =
/// 0 input does not count, even where it is not finite, and its gradient is 0.  ShapeError and DTypeError as for mm and
/// bmm.
[[nodiscard]] Tensor addmm(const In& input, const In& a, const In& b, Scalar beta = 1, Scalar alpha = 1);
[[nodiscard]] Tensor baddbmm(const In& input, const In& a, const In& b, Scalar beta = 1, Scalar alpha = 1);
/// y = activation(x Wᵀ + b).   x: [..., in]  w: [out, in]  b: [out] or undefined  ->  [..., out]; without b, w may be a
/// vector [in]  ->  [...].  With relu the result
/// is stored once, on CUDA by one kernel where cuBLASLt's keeps NaN; so is gelu_tanh if nothing is recorded.
/// ShapeError and DTypeError as for matmul.
[[nodiscard]] Tensor linear(const In& x, const In& w, const Tensor& b = {}, Activation activation = Activation::none);

}  // namespace minnow
