#pragma once

#include <minnow/nn/module/module.h>

namespace minnow::nn {

/// The cosine of the angle between a and b along a dimension: minnow::cosine_similarity.
class CosineSimilarity : public Module {
 public:
  explicit CosineSimilarity(int dim = 1, double eps = 1e-8) : dim_(dim), eps_(eps) {}
  Tensor forward(const Tensor& a, const Tensor& b) override;
  std::string describe() const override;

 private:
  int dim_;
  double eps_;
};

/// The norm of a - b + eps along the last dimension: minnow::pairwise_distance.
class PairwiseDistance : public Module {
 public:
  explicit PairwiseDistance(double p = 2, double eps = 1e-6, bool keepdim = false)
      : p_(p), eps_(eps), keepdim_(keepdim) {}
  Tensor forward(const Tensor& a, const Tensor& b) override;
  std::string describe() const override;

 private:
  double p_, eps_;
  bool keepdim_;
};

/// y_k = aᵀ W_k b + bias_k.   a: [..., in1_features]  b: [..., in2_features]  ->  [..., out_features].
/// weight: [out_features, in1_features, in2_features]  bias: [out_features].  Both are initialized uniformly in
/// ±1 / √in1_features, as in PyTorch.
class Bilinear : public Module {
 public:
  /// ValueError unless the sizes are positive.
  Bilinear(std::int64_t in1_features, std::int64_t in2_features, std::int64_t out_features, bool with_bias = true,
           SourceLocation where = SourceLocation::current());

  Parameter weight, bias;

  /// ShapeError for other sizes.
  Tensor forward(const Tensor& a, const Tensor& b) override;
  std::string describe() const override;
};

}  // namespace minnow::nn
