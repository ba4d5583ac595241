#pragma once

#include <minnow/tensor/in.h>

namespace minnow::raw {

/// PyTorch's rules: vectors become rows or columns for the product, leading dimensions are broadcast.
Tensor matmul(const In& a, const In& b);
/// y = x Wᵀ + b.   x: [..., in]  w: [out, in]  b: [out] or undefined  ->  [..., out].
Tensor linear(const In& x, const In& w, const Tensor& b);

}  // namespace minnow::raw
