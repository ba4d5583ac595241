#pragma once

#include <cstdint>
#include <string>
#include <minnow/nn/module/module.h>

namespace minnow::llm {

/// y = x Wᵀ + b, as nn::Linear.   x: [..., in_features]  ->  [..., out_features].
class Linear : public nn::Module {
 public:
  /// ValueError unless in_features and out_features are positive.
  Linear(std::int64_t in_features, std::int64_t out_features, bool bias = true,
         SourceLocation where = SourceLocation::current());

  nn::Parameter weight, bias;

  std::int64_t in_features() const { return in_; }
  std::int64_t out_features() const { return out_; }
  Device device() const { return weight.device(); }

  Tensor forward(const Tensor& x) override;
  std::string describe() const override;

 private:
  std::int64_t in_, out_;
};

}  // namespace minnow::llm
