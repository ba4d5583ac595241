#pragma once

#include <minnow/distributions/distribution.h>

namespace minnow::distributions {

/// One of the two.
struct Spread {
  Tensor covariance_matrix{};  ///< symmetric and positive definite
  Tensor scale_tril{};         ///< its Cholesky factor: lower triangular, with a positive diagonal
};

/// log p = -|L⁻¹ (x - loc)|² / 2 - Σ log L_ii - D log(2 π) / 2, with the covariance L Lᵀ.   loc: [..., D]  spread: [..., D, D];
/// leading dimensions are broadcast.  A covariance that is not positive definite gives NaN.
///
///     distributions::MultivariateNormal p(loc, {.scale_tril = l});
class MultivariateNormal : public Distribution {
 public:
  /// ValueError unless one of the spreads is defined, ShapeError unless its matrices are D x D.
  MultivariateNormal(const In& loc, const Spread& spread);
  const char* name() const override { return "MultivariateNormal"; }
  const Tensor& loc() const { return loc_; }
  const Tensor& scale_tril() const { return scale_; }
  Tensor covariance_matrix(SourceLocation where = SourceLocation::current()) const;

 protected:
  Tensor draw(const Shape& shape, RandomGenerator* generator) const override;
  Tensor log_density(const Tensor& value) const override;
  Tensor find_entropy() const override;
  Tensor find_mean() const override { return loc_; }
  Tensor find_variance() const override;
  Tensor divergence(const Distribution& q) const override;
  const Tensor& like() const override { return loc_; }

 private:
  struct Both {
    Tensor loc, scale;
  };
  explicit MultivariateNormal(const Both& both);
  static Both both_of(const In& loc, const Spread& spread);
  Tensor loc_, scale_;
};

}  // namespace minnow::distributions
