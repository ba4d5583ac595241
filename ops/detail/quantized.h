#pragma once

#include <minnow/tensor/activation.h>
#include <minnow/tensor/backend/dispatch.h>
#include <minnow/tensor/internal.h>

// Linear maps with 8-bit weights, for inference.

namespace minnow::detail {

/// A matrix in 8 bits: row i is values[i] * scale[i].
struct QuantizedRows {
  Tensor values, scale;  ///< int8 [O, I], float32 [O]
};
/// Rounds a float32 matrix, symmetrically about 0: scale = the largest magnitude of the row / 127.5, as PyTorch's
/// default_per_channel_weight_observer.
QuantizedRows quantize_rows(const Tensor& w);

/// The most inputs of a quantized map: sums of 32 bits hold them.
inline constexpr std::int64_t kMaxQuantizedInputs = 1 << 16;

/// Of operands x, weight and others: DTypeError for other floats than float32, ShapeError if x and weight do not match,
/// AutogradError if one of them records.
void check_quantized(Operands operands);

/// y = activation(x Wᵀ + b), x rounded to 8 bits with one scale for each row.   x: float32 [..., in]  w: int8 [out, in]
/// scale: float32 [out]  bias: float32 [out] or undefined.   The errors of check_quantized().
Tensor quantized_linear(const In& x, const Tensor& w, const Tensor& scale, const Tensor& bias,
                        Activation activation = Activation::none);
/// y += x Wᵀ.   x: [N, in]  y: [N, out], contiguous.
void quantized_linear_add_(const Tensor& y, const Tensor& x, const Tensor& w, const Tensor& scale);

}  // namespace minnow::detail
