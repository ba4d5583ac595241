#pragma once

#include <minnow/distributions/continuous.h>

namespace minnow::distributions {

/// log p = concentration log rate + (concentration - 1) log x - rate x - log Γ(concentration).  Samples by Marsaglia and Tsang
/// 2000; their gradient is implicit (Figurnov et al. 2018), by the approximation of torch._standard_gamma_grad.  Of first
/// order.
class Gamma : public detail::OfTwo {
 public:
  Gamma(const TensorLike& concentration, const TensorLike& rate);
  const char* name() const override { return "Gamma"; }
  const Tensor& concentration() const { return first; }
  const Tensor& rate() const { return second; }

 protected:
  Tensor draw(const Shape& shape, RandomGenerator* generator) const override;
  Tensor log_density(const Tensor& value) const override;
  Tensor find_entropy() const override;
  Tensor find_mean() const override;
  Tensor find_variance() const override;
  Tensor divergence(const Distribution& q) const override;
};

/// log p = (a - 1) log x + (b - 1) log(1 - x) - log B(a, b).  Samples and their gradients are those of a / (a + b) of two
/// Gammas.
class Beta : public detail::OfTwo {
 public:
  Beta(const TensorLike& concentration1, const TensorLike& concentration0);
  const char* name() const override { return "Beta"; }
  const Tensor& concentration1() const { return first; }
  const Tensor& concentration0() const { return second; }

 protected:
  Tensor draw(const Shape& shape, RandomGenerator* generator) const override;
  Tensor log_density(const Tensor& value) const override;
  Tensor find_entropy() const override;
  Tensor find_mean() const override;
  Tensor find_variance() const override;
  Tensor divergence(const Distribution& q) const override;
};

/// log p = Σ (c - 1) log x - Σ log Γ(c) + log Γ(Σ c), of a vector x with sum 1.   concentration: [batch_shape..., K].
/// Samples and their gradients are those of Gammas, divided by their sum.
class Dirichlet : public Distribution {
 public:
  /// ShapeError for a number.
  explicit Dirichlet(const In& concentration);
  const char* name() const override { return "Dirichlet"; }
  const Tensor& concentration() const { return concentration_; }

 protected:
  Tensor draw(const Shape& shape, RandomGenerator* generator) const override;
  Tensor log_density(const Tensor& value) const override;
  Tensor find_entropy() const override;
  Tensor find_mean() const override;
  Tensor find_variance() const override;
  Tensor divergence(const Distribution& q) const override;
  const Tensor& like() const override { return concentration_; }

 private:
  Tensor concentration_;
};

}  // namespace minnow::distributions
