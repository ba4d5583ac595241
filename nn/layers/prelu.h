#pragma once

#include <minnow/nn/module/module.h>

namespace minnow::nn {

/// x where x > 0, else weight x: minnow::prelu.   x: [N, C, ...]  ->  the same.
/// weight: [num_parameters], one number or one for each channel; all start as init, as in PyTorch.
class PReLU : public Module {
 public:
  /// ValueError unless num_parameters is positive.
  explicit PReLU(std::int64_t num_parameters = 1, double init = 0.25, SourceLocation where = SourceLocation::current());

  Parameter weight;

  Tensor forward(const Tensor& x) override;
  std::string describe() const override;
};

}  // namespace minnow::nn
