#pragma once

#include <optional>
#include <minnow/tensor/activation.h>
#include <minnow/tensor/in.h>
#include <minnow/tensor/internal.h>

namespace minnow::detail::raw {

/// The product by PyTorch's rules: a vector is a row or a column, leading dimensions are broadcast.   out: its dtype,
/// if that is another one: float32 of halves, on devices that compute on the host.   alpha: a factor
Tensor matmul(const In& a, const In& b, std::optional<DType> out = {}, double alpha = 1);
/// out += a b.   a: [M, K]  b: [K, N], or [P, K, N / P]: panels of adjacent columns  out: [M, N], contiguous; or
/// matrices [B, M, K], [B, K, N] and [B, M, N], with contiguous rows; one dtype, none empty.
void matmul_add_(const Tensor& out, const Tensor& a, const Tensor& b);
/// y = activation(x Wᵀ + b).   x: [..., in]  w: [out, in]  b: [out] or undefined  ->  [..., out].
Tensor linear(const In& x, const In& w, const Tensor& b, Activation activation = Activation::none);
struct LinearGradients {
  Tensor weight, bias;
};
/// The gradients of w and b for y = x Wᵀ + b, in one kernel if the library has one.   grad: [N, out]  x: [N, in],
/// neither empty.   weight: the dtype of its gradient, as for matmul   transposed: whether the memory of w's gradient
/// is that of its transpose, which devices that compute on the host do not take
LinearGradients linear_backward_weight(const In& grad, const In& x, DType weight, bool transposed);

}  // namespace minnow::detail::raw
