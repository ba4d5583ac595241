#pragma once

#include <minnow/nn/module.h>

namespace minnow::nn {

/// y = x.
class Identity : public Module {
 public:
  Tensor forward(const Tensor& x) override { return x; }
  std::string describe() const override { return "Identity"; }
};

/// Joins the dimensions from start to end; by default all but the first.
class Flatten : public Module {
 public:
  explicit Flatten(int start = 1, int end = -1) : start_(start), end_(end) {}
  Tensor forward(const Tensor& x) override {
    const auto site = called();
    return x.flatten(start_, end_);
  }
  std::string describe() const override;

 private:
  int start_, end_;
};

/// While training, zeroes elements with probability p and scales the others by 1 / (1 - p); otherwise y = x.
class Dropout : public Module {
 public:
  /// ValueError unless p is in [0, 1].
  explicit Dropout(double p = 0.5, SourceLocation where = SourceLocation::current());
  Tensor forward(const Tensor& x) override;
  std::string describe() const override;

 private:
  double p_;
};

}  // namespace minnow::nn
