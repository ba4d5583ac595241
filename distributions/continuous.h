#pragma once

#include <minnow/distributions/distribution.h>

namespace minnow::distributions {

/// log p = -((x - loc) / scale)² / 2 - log scale - log(2 π) / 2.
class Normal : public Distribution {
 public:
  Normal(const TensorLike& loc, const TensorLike& scale);
  const Tensor& loc() const { return parameter(0); }
  const Tensor& scale() const { return parameter(1); }
};

/// e^z of a Normal z.
class LogNormal : public Distribution {
 public:
  LogNormal(const TensorLike& loc, const TensorLike& scale);
  const Tensor& loc() const { return parameter(0); }
  const Tensor& scale() const { return parameter(1); }
};

/// log p = -|x - loc| / scale - log(2 scale).
class Laplace : public Distribution {
 public:
  Laplace(const TensorLike& loc, const TensorLike& scale);
  const Tensor& loc() const { return parameter(0); }
  const Tensor& scale() const { return parameter(1); }
};

/// log p = -log(high - low) in [low, high), else -infinity.
class Uniform : public Distribution {
 public:
  Uniform(const TensorLike& low, const TensorLike& high);
  const Tensor& low() const { return parameter(0); }
  const Tensor& high() const { return parameter(1); }
};

/// log p = log rate - rate x, for x of at least 0.
class Exponential : public Distribution {
 public:
  explicit Exponential(const TensorLike& rate);
  const Tensor& rate() const { return parameter(0); }
};

}  // namespace minnow::distributions
