#pragma once

#include <minnow/distributions/distribution.h>

namespace minnow::distributions {

/// One of the two.
struct Spread {
  Tensor covariance_matrix{};  ///< symmetric and positive definite
  Tensor scale_tril{};         ///< its Cholesky factor: lower triangular, with a positive diagonal
};

/// log p = -|L⁻¹ (x - loc)|² / 2 - Σ log L_ii - D log(2 π) / 2, with the covariance L Lᵀ.   loc: [..., D]  spread:
/// [..., D, D]; leading dimensions are broadcast.  A covariance that is not positive definite is a ValueError on the
/// cpu, and gives NaN elsewhere.
///
///     distributions::MultivariateNormal p(loc, {.scale_tril = l});
class MultivariateNormal : public Distribution {
 public:
  /// ValueError unless one of the spreads is defined, ShapeError unless its matrices are D x D.
  MultivariateNormal(const In& loc, const Spread& spread);
  const Tensor& loc() const { return parameter(0); }
  const Tensor& scale_tril() const { return parameter(1); }
  Tensor covariance_matrix(SourceLocation where = SourceLocation::current()) const;
};

}  // namespace minnow::distributions
