#pragma once

#include <minnow/nn/module.h>
#include <minnow/tensor/activation.h>

namespace minnow::nn {

struct LinearOptions {
  bool bias = true;
  /// Applied to the result, in the same kernel where the device can.
  minnow::Activation activation = minnow::Activation::none;
};

/// y = activation(x Wᵀ + b).   x: [..., in]  ->  [..., out].  weight: [out, in]  bias: [out]; both start uniform in
/// ±1 / sqrt(in), as in PyTorch.
class Linear : public Module {
 public:
  /// ValueError unless both sizes are positive.
  Linear(std::int64_t in, std::int64_t out, LinearOptions options = {},
         SourceLocation where = SourceLocation::current());
  /// With a bias or without.
  template <std::same_as<bool> B>
  Linear(std::int64_t in, std::int64_t out, B with_bias, SourceLocation where = SourceLocation::current())
      : Linear(in, out, LinearOptions{.bias = with_bias}, where) {}

  Parameter weight, bias;

  Tensor forward(const Tensor& x) override;
  std::string describe() const override;

 private:
  minnow::Activation activation_;
};

}  // namespace minnow::nn
