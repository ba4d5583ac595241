#pragma once

#include <minnow/tensor/in.h>

namespace minnow {

struct BatchNormFuncOptions {
  bool training = false;  ///< normalize by the statistics of x, and move the running ones to them
  double momentum = 0.1;  ///< running += momentum (of x - running)
  double eps = 1e-5;      ///< added to the variance
};

/// Batch normalization (Ioffe and Szegedy 2015, "Batch Normalization"), as torch.nn.functional.batch_norm:
/// y = (x - mean) / √(variance + eps) weight + bias for each channel.  In training mean and variance (Σ (x - mean)² /
/// n) are those of x, and running_mean and running_var, if defined, move to them (the variance with n - 1); otherwise
/// they are the running ones.
/// x: floating-point [N, C, ...]  weight, bias, running_mean, running_var: [C], or undefined for 1, 0 and none  ->  as
/// x. One dtype, or float32 beside an x of halves, which are computed in float32; sums are in double.
/// With g = dy weight and h = (x - mean) / √(variance + eps):  dx = (g - mean(g) - h mean(g h)) / √(variance + eps) in
/// training, else g / √(variance + eps);  dweight = Σ dy h,  dbias = Σ dy.  Any order of gradient.
/// ShapeError for x of fewer than two dimensions and for other shapes of the rest, DTypeError for other dtypes,
/// ValueError in training with one element per channel, without training and running statistics, and for eps or
/// momentum out of range, AutogradError in training for running statistics that require a gradient.
[[nodiscard]] Tensor batch_norm(const In& x, const Tensor& running_mean, const Tensor& running_var,
                                const Tensor& weight = {}, const Tensor& bias = {},
                                const BatchNormFuncOptions& options = {});
/// The same for each sample by itself (Ulyanov et al. 2016, "Instance Normalization"), always by the statistics of x,
/// as torch.nn.functional.instance_norm.   x: [N, C, L...]  ->  the same.
[[nodiscard]] Tensor instance_norm(const In& x, const Tensor& weight = {}, const Tensor& bias = {}, double eps = 1e-5);
/// The same for groups of channels of each sample (Wu and He 2018, "Group Normalization"), as
/// torch.nn.functional.group_norm.   x: [N, C, ...] with C divisible by num_groups, else ValueError.
[[nodiscard]] Tensor group_norm(const In& x, std::int64_t num_groups, const Tensor& weight = {},
                                const Tensor& bias = {}, double eps = 1e-5);

}  // namespace minnow
