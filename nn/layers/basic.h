#pragma once

#include <minnow/nn/module/module.h>

namespace minnow::nn {

/// y = x.
class Identity : public Module {
 public:
  Tensor forward(const Tensor& x) override { return x; }
  std::string describe() const override { return "Identity"; }
};

/// Joins the dimensions from start_dim to end_dim (inclusive); by default all but the first.
class Flatten : public Module {
 public:
  explicit Flatten(int start_dim = 1, int end_dim = -1) : start_dim_(start_dim), end_dim_(end_dim) {}
  Tensor forward(const Tensor& x) override {
    const auto site = called();
    return x.flatten(start_dim_, end_dim_);
  }
  std::string describe() const override;

 private:
  int start_dim_, end_dim_;
};

/// Splits a dimension into several: x.unflatten(dim, sizes).  One size may be -1.  ShapeError if they do not fit.
class Unflatten : public Module {
 public:
  Unflatten(int dim, const Shape& sizes) : dim_(dim), sizes_(sizes) {}
  Tensor forward(const Tensor& x) override;
  std::string describe() const override;

 private:
  int dim_;
  Shape sizes_;
};

/// In train mode zeroes elements with probability p and scales the others by 1 / (1 - p); in eval mode y = x.
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
