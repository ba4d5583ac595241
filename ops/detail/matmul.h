#pragma once

#include <minnow/tensor/activation.h>
#include <minnow/tensor/in.h>
#include <minnow/tensor/internal.h>

namespace minnow::detail::raw {

/// PyTorch's rules: vectors become rows or columns for the product, leading dimensions are broadcast.
Tensor matmul(const In& a, const In& b);
/// y = activation(x Wᵀ + b).   x: [..., in]  w: [out, in]  b: [out] or undefined  ->  [..., out].
Tensor linear(const In& x, const In& w, const Tensor& b, Activation activation = Activation::none);
struct LinearGradients {
  Tensor weight, bias;
};
/// Of y = x Wᵀ + b, in one kernel where a library can.   grad: [N, out]  x: [N, in], none empty.
LinearGradients linear_backward_weight(const In& grad, const In& x);

}  // namespace minnow::detail::raw
