#include <minnow/distributions/multivariate_normal.h>

#include <minnow/distributions/detail/parameters.h>
#include <minnow/ops/elementwise/arithmetic.h>
#include <minnow/ops/elementwise/unary.h>
#include <minnow/ops/indexing/index.h>
#include <minnow/ops/products/matmul.h>
#include <minnow/ops/reductions/reduce.h>
#include <minnow/ops/shape/rearrange.h>
#include <minnow/tensor/backend/dispatch.h>
#include <minnow/tensor/create.h>
#include <minnow/tensor/error.h>
#include <minnow/tensor/raw/elementwise.h>

namespace minnow::distributions {
namespace {

/// Of each matrix of a batch, column by column, by recorded operations: for the small matrices of distributions.
Tensor cholesky(const Tensor& a) {
  const std::int64_t n = a.size(-1);
  std::vector<Tensor> columns;
  for (std::int64_t j = 0; j < n; ++j) {
    Tensor rest = a.select(-1, j).narrow(-1, j, n - j);
    if (j > 0) {
      const Tensor left = stack(columns, -1).narrow(-2, j, n - j);  // [..., n - j, j]
      rest = rest - sum(left * left.narrow(-2, 0, 1), -1);
    }
    const Tensor column = rest / sqrt(rest.narrow(-1, 0, 1));
    columns.push_back(j == 0 ? column : cat({zeros_like(a.select(-1, j).narrow(-1, 0, j)), column}, -1));
  }
  return stack(columns, -1);
}

/// L⁻¹ b by forward substitution.   l: [..., D, D]  b: [..., D, K].
Tensor solve_lower(const Tensor& l, const Tensor& b) {
  const std::int64_t n = l.size(-1);
  std::vector<Tensor> rows;
  for (std::int64_t i = 0; i < n; ++i) {
    Tensor rest = b.select(-2, i);
    if (i > 0) rest = rest - sum(l.select(-2, i).narrow(-1, 0, i).unsqueeze(-1) * stack(rows, -2), -2);
    rows.push_back(rest / l.select(-2, i).narrow(-1, i, 1));
  }
  return stack(rows, -2);
}

Tensor half_log_determinant(const Tensor& l) { return sum(log(diagonal(l, 0, -2, -1)), -1); }

/// |L⁻¹ x|².
Tensor squared_distance(const Tensor& l, const Tensor& x) {
  return sum(square(solve_lower(l, x.unsqueeze(-1))), {-1, -2});
}

std::vector<Tensor> parameters_of(const In& loc, const Spread& spread) {
  const char* owner = "MultivariateNormal";
  detail::require_floating_point(owner, "loc", *loc, loc.where);
  const CallSite site(owner, loc.where);
  const bool factored = spread.scale_tril.defined();
  if (factored == spread.covariance_matrix.defined())
    throw ValueError(message("one of covariance_matrix and scale_tril must be given, and one alone", {},
                             "MultivariateNormal(loc, {.scale_tril = l})"));
  const Tensor& matrix = factored ? spread.scale_tril : spread.covariance_matrix;
  const char* name = factored ? "scale_tril" : "covariance_matrix";
  minnow::detail::dispatch({{"loc", *loc}, {name, matrix}});
  if (loc->dim() < 1 || matrix.dim() < 2 || matrix.size(-1) != matrix.size(-2) || matrix.size(-1) != loc->size(-1) ||
      loc->size(-1) == 0)
    throw ShapeError(
        message("loc must be [..., D] and its spread [..., D, D]", {{"loc", *loc}, {name, matrix}}, "D is 1 or more"));
  if (matrix.dtype() != loc->dtype())
    throw DTypeError(message("the parameters have different dtypes", {{"loc", *loc}, {name, matrix}}, "convert one"));
  const Shape batch = minnow::detail::raw::broadcast_shape(
      empty(detail::leading(loc->shape())), empty(detail::leading(detail::leading(matrix.shape()))), "loc", name);
  const std::int64_t n = loc->size(-1);
  detail::require_in(detail::kAnyNumber, "loc", *loc);
  const Tensor factor = factored ? matrix : cholesky((matrix + matrix.mT()) / 2);  // a symmetric gradient
  minnow::detail::require_in(detail::kAboveZero,
                             factored ? "the diagonal of scale_tril" : "the diagonal of cholesky(covariance_matrix)",
                             factor.detach().diagonal(0, -2, -1),
                             "a covariance is symmetric and positive definite, and its factor has a positive diagonal");
  return {loc->expand(detail::join(batch, {n})), factor.expand(detail::join(batch, {n, n}))};
}

using P = const detail::Family::Parameters&;  // loc, Cholesky factor

/// D times a number.
double per_dimension(P p, double number) { return static_cast<double>(p[0].size(-1)) * number; }

constexpr detail::Family kMultivariateNormal{
    .name = "MultivariateNormal",
    .draw =
        [](P p, const Shape& shape, RandomGenerator* generator) {
          return p[0] + matmul(p[1], detail::normal(shape, p[0], generator).unsqueeze(-1)).squeeze(-1);
        },
    .log_density =
        [](P p, const Tensor& x) {
          return -0.5 * squared_distance(p[1], x - p[0]) - half_log_determinant(p[1]) -
                 per_dimension(p, detail::kHalfLog2Pi);
        },
    .entropy = [](P p) { return half_log_determinant(p[1]) + per_dimension(p, 0.5 + detail::kHalfLog2Pi); },
    .mean = [](P p) { return p[0]; },
    .variance = [](P p) { return sum(square(p[1]), -1); },
    .divergence =
        [](P p, P q) {
          if (p[0].size(-1) != q[0].size(-1)) return Tensor();
          const Tensor spread = sum(square(solve_lower(q[1], p[1])), {-1, -2});
          return half_log_determinant(q[1]) - half_log_determinant(p[1]) +
                 0.5 * (spread + squared_distance(q[1], q[0] - p[0]) - per_dimension(p, 1));
        },
    .parameter_dims = 1,
    .event_dims = 1};

}  // namespace

MultivariateNormal::MultivariateNormal(const In& loc, const Spread& spread)
    : Distribution(kMultivariateNormal, parameters_of(loc, spread)) {}

Tensor MultivariateNormal::covariance_matrix(SourceLocation where) const {
  const CallSite site("covariance_matrix", where);
  return matmul(scale_tril(), scale_tril().mT());
}

}  // namespace minnow::distributions
