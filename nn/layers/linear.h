#pragma once

#include <minnow/nn/module/module.h>
#include <minnow/tensor/activation.h>

namespace minnow::nn {

struct LinearOptions {
  bool bias = true;
  /// Applied to the result, in the same kernel where the device can.
  Activation activation = Activation::none;
};

/// y = activation(x Wᵀ + b).   x: [..., in_features]  ->  [..., out_features].
/// weight: [out_features, in_features]  bias: [out_features].  Both are initialized uniformly in ±1 / √in_features, as
/// in PyTorch.  float32; use to() for other dtypes.
class Linear : public Module {
 public:
  /// ValueError unless in_features and out_features are positive.
  Linear(std::int64_t in_features, std::int64_t out_features, LinearOptions options = {},
         SourceLocation where = SourceLocation::current());
  /// With a bias or without.
  template <std::same_as<bool> B>
  Linear(std::int64_t in_features, std::int64_t out_features, B with_bias,
         SourceLocation where = SourceLocation::current())
      : Linear(in_features, out_features, LinearOptions{.bias = with_bias}, where) {}

  Parameter weight, bias;

  Tensor forward(const Tensor& x) override;
  std::string describe() const override;

 private:
  Activation activation_;
};

}  // namespace minnow::nn
