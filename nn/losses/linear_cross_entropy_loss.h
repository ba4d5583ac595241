#pragma once

#include <minnow/nn/layers/linear.h>
#include <minnow/nn/losses/loss.h>

namespace minnow::nn {

/// cross_entropy of a linear map.   x: [N, F] or [F]  linear_weight: [C, F], or [C, d..., F] for logits [N, C, d...]
/// linear_bias: [C, d...], or undefined  target: as of cross_entropy.  ShapeError, and the errors of cross_entropy.
Tensor linear_cross_entropy(const In& x, const In& linear_weight, const In& target, const Tensor& linear_bias = {},
                            const CrossEntropyLossOptions& options = {});

struct LinearCrossEntropyLossOptions {
  Shape out_features{};  ///< d: further dimensions of the logits
  bool bias = false;     ///< of the linear map
  CrossEntropyLossOptions loss{};
};
/// linear_cross_entropy with a Linear of its own, as torch.nn.LinearCrossEntropyLoss without chunks.
class LinearCrossEntropyLoss : public Module {
 public:
  /// ValueError unless the sizes are positive.
  LinearCrossEntropyLoss(std::int64_t in_features, std::int64_t num_classes, LinearCrossEntropyLossOptions options = {},
                         SourceLocation where = SourceLocation::current());

  Buffer weight;  ///< of the loss, if it has one
  Linear linear;  ///< of num_classes times the product of out_features outputs

  Tensor forward(const Tensor& x, const Tensor& target) override;
  std::string describe() const override;

 private:
  std::int64_t num_classes_;
  LinearCrossEntropyLossOptions options_;
};

}  // namespace minnow::nn
