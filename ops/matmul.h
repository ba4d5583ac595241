#pragma once

#include <minnow/tensor/activation.h>
#include <minnow/tensor/in.h>

namespace minnow {

/// Matrix product by PyTorch's rules.   a: [..., M, K]  b: [..., K, N]  ->  [..., M, N]; leading dimensions
/// are broadcast; a vector is a row (a) or column (b) that disappears again.  ShapeError when the inner sizes
/// differ, DTypeError when the dtypes do.   da = g bᵀ   db = aᵀ g.
[[nodiscard]] Tensor matmul(const In& a, const In& b);
/// Matrix products that take one number of dimensions only: two matrices, two batches of matrices, a matrix and a vector,
/// two vectors (to a 0-dim tensor), two vectors to the matrix a bᵀ.  ShapeError for others.
[[nodiscard]] Tensor mm(const In& a, const In& b);
[[nodiscard]] Tensor bmm(const In& a, const In& b);
[[nodiscard]] Tensor mv(const In& a, const In& b);
[[nodiscard]] Tensor dot(const In& a, const In& b);
[[nodiscard]] Tensor outer(const In& a, const In& b);
/// y = activation(x Wᵀ + b).   x: [..., in]  w: [out, in]  b: [out] or undefined  ->  [..., out].  With relu the result
/// is stored once, on CUDA by one kernel (which may make a NaN 0); so it is with gelu_tanh where no gradient is wanted.
[[nodiscard]] Tensor linear(const In& x, const In& w, const Tensor& b = {}, Activation activation = Activation::none);

}  // namespace minnow
