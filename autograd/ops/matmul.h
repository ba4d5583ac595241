#pragma once

#include <minnow/tensor/in.h>

namespace minnow {

/// Matrix product by PyTorch's rules.   a: [..., M, K]  b: [..., K, N]  ->  [..., M, N]; leading dimensions
/// are broadcast; a vector is a row (a) or column (b) that disappears again.  ShapeError when the inner sizes
/// differ, DTypeError when the dtypes do.   da = g bᵀ   db = aᵀ g.
Tensor matmul(const In& a, const In& b);
/// y = x Wᵀ + b.   x: [..., in]  w: [out, in]  b: [out] or undefined  ->  [..., out].
Tensor linear(const In& x, const In& w, const Tensor& b = {});

}  // namespace minnow
