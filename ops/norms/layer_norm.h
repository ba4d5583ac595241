#pragma once

#include <optional>
#include <minnow/tensor/in.h>

namespace minnow {

/// Layer normalization (Ba, Kiros and Hinton 2016, "Layer Normalization"), as torch.nn.functional.layer_norm:
/// y = (x - mean) / √(variance + eps) weight + bias.  Mean and variance (Σ (x - mean)² / n) are of the last dimensions,
/// whose sizes normalized_shape gives: layer_norm(x, 768), layer_norm(x, {28, 28}).
/// x: floating-point [..., normalized_shape]  weight, bias: normalized_shape, or undefined for 1 and 0  ->  as x.  One
/// dtype, or float32 beside an x of halves, which are computed in float32; float32 sums are in double.
/// With g = dy weight and h = (x - mean) / √(variance + eps):  dx = (g - mean(g) - h mean(g h)) / √(variance + eps),
/// dweight = Σ dy h,  dbias = Σ dy.  Any order of gradient.
/// ShapeError when x does not end with normalized_shape or weight and bias have another one, DTypeError for other or
/// different dtypes, ValueError when eps is negative.
[[nodiscard]] Tensor layer_norm(const In& x, const Shape& normalized_shape, const Tensor& weight = {},
                                const Tensor& bias = {}, double eps = 1e-5);

/// The same without a mean (Zhang and Sennrich 2019, "Root Mean Square Layer Normalization"), as
/// torch.nn.functional.rms_norm:  y = x / √(mean(x²) + eps) weight.  eps: that of float32 (2^-23), or for float64 of
/// float64 (2^-52), if none is given.
/// With g = dy weight and h = x / √(mean(x²) + eps):  dx = (g - h mean(g h)) / √(mean(x²) + eps),  dweight = Σ dy h.
/// Any order of gradient; shapes and errors as of layer_norm.
[[nodiscard]] Tensor rms_norm(const In& x, const Shape& normalized_shape, const Tensor& weight = {},
                              std::optional<double> eps = {});

}  // namespace minnow
