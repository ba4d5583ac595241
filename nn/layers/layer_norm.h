#pragma once

#include <optional>
#include <minnow/nn/module/module.h>

namespace minnow::nn {

struct LayerNormOptions {
  double eps = 1e-5;               ///< added to the variance
  bool elementwise_affine = true;  ///< whether there is a weight
  bool bias = true;                ///< and, beside it, a bias
};

/// Layer normalization: y = (x - mean) / √(variance + eps) weight + bias, of the last dimensions of x (see
/// minnow::layer_norm).   x: [..., normalized_shape]  ->  the same.  weight and bias have normalized_shape and start as
/// ones and zeros, as in PyTorch.
class LayerNorm : public Module {
 public:
  /// ValueError unless there are sizes, all positive, and eps is 0 or more.
  explicit LayerNorm(const Shape& normalized_shape, LayerNormOptions options = {},
                     SourceLocation where = SourceLocation::current());
  /// LayerNorm({4}), which could be a copy of LayerNorm(4) as well.
  explicit LayerNorm(std::initializer_list<std::int64_t> normalized_shape, LayerNormOptions options = {},
                     SourceLocation where = SourceLocation::current())
      : LayerNorm(Shape(normalized_shape, where), options, where) {}

  Parameter weight, bias;

  Tensor forward(const Tensor& x) override;
  std::string describe() const override;

 private:
  Shape normalized_shape_;
  double eps_;
};

struct RMSNormOptions {
  std::optional<double> eps = {};  ///< added to the mean of the squares; none: as of rms_norm
  bool elementwise_affine = true;  ///< whether there is a weight
};

/// Root mean square layer normalization: y = x / √(mean(x²) + eps) weight, of the last dimensions of x (see
/// minnow::rms_norm).   x: [..., normalized_shape]  ->  the same.  weight has normalized_shape and starts as ones.
class RMSNorm : public Module {
 public:
  /// ValueError unless there are sizes, all positive, and eps is 0 or more.
  explicit RMSNorm(const Shape& normalized_shape, RMSNormOptions options = {},
                   SourceLocation where = SourceLocation::current());
  /// RMSNorm({4}), which could be a copy of RMSNorm(4) as well.
  explicit RMSNorm(std::initializer_list<std::int64_t> normalized_shape, RMSNormOptions options = {},
                   SourceLocation where = SourceLocation::current())
      : RMSNorm(Shape(normalized_shape, where), options, where) {}

  Parameter weight;

  Tensor forward(const Tensor& x) override;
  std::string describe() const override;

 private:
  Shape normalized_shape_;
  std::optional<double> eps_;
};

}  // namespace minnow::nn
