#pragma once

#include <minnow/distributions/distribution.h>

namespace minnow::distributions {

/// log p = concentration log rate + (concentration - 1) log x - rate x - log Γ(concentration).  Samples by Marsaglia
/// and Tsang 2000; their gradient is implicit (Figurnov et al. 2018), by the approximation of
/// torch._standard_gamma_grad.  Of first order.
class Gamma : public Distribution {
 public:
  Gamma(const TensorLike& concentration, const TensorLike& rate);
  const Tensor& concentration() const { return parameter(0); }
  const Tensor& rate() const { return parameter(1); }
};

/// log p = (a - 1) log x + (b - 1) log(1 - x) - log B(a, b).  Samples and their gradients are those of a / (a + b) of
/// two Gammas, of their logarithms: also for concentrations far below 1, whose Gammas are 0 in floating point.
class Beta : public Distribution {
 public:
  Beta(const TensorLike& concentration1, const TensorLike& concentration0);
  const Tensor& concentration1() const { return parameter(0); }
  const Tensor& concentration0() const { return parameter(1); }
};

/// log p = Σ (c - 1) log x - Σ log Γ(c) + log Γ(Σ c), of a vector x with sum 1.   concentration: [batch_shape..., K].
/// Samples and their gradients are those of Gammas, divided by their sum, as Beta's.
class Dirichlet : public Distribution {
 public:
  /// ShapeError for a number.
  explicit Dirichlet(const In& concentration);
  const Tensor& concentration() const { return parameter(0); }
};

}  // namespace minnow::distributions
