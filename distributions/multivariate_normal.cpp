#include <minnow/distributions/multivariate_normal.h>

#include <cmath>
#include <minnow/distributions/detail/parameters.h>
#include <minnow/ops/arithmetic.h>
#include <minnow/ops/index.h>
#include <minnow/ops/matmul.h>
#include <minnow/ops/rearrange.h>
#include <minnow/ops/reduce.h>
#include <minnow/ops/unary.h>
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

Shape leading(const Shape& shape, int without) {
  Shape result;
  for (int d = 0; d + without < static_cast<int>(shape.rank()); ++d) result.push_back(shape[d]);
  return result;
}

}  // namespace

MultivariateNormal::Both MultivariateNormal::both_of(const In& loc, const Spread& spread) {
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
  const Shape batch = minnow::detail::raw::broadcast_shape(empty(leading(loc->shape(), 1)),
                                                           empty(leading(matrix.shape(), 2)), "loc", name);
  const std::int64_t n = loc->size(-1);
  return {loc->expand(detail::join(batch, {n})),
          (factored ? matrix : cholesky(matrix)).expand(detail::join(batch, {n, n}))};
}

MultivariateNormal::MultivariateNormal(const Both& both)
    : Distribution(leading(both.loc.shape(), 1), {both.loc.size(-1)}), loc_(both.loc), scale_(both.scale) {}
MultivariateNormal::MultivariateNormal(const In& loc, const Spread& spread)
    : MultivariateNormal(both_of(loc, spread)) {}

Tensor MultivariateNormal::covariance_matrix(SourceLocation where) const {
  const CallSite site("covariance_matrix", where);
  return matmul(scale_, scale_.mT());
}
Tensor MultivariateNormal::draw(const Shape& shape, RandomGenerator* generator) const {
  const Tensor noise = detail::normal(shape, loc_, generator);
  return loc_ + matmul(scale_, noise.unsqueeze(-1)).squeeze(-1);
}
Tensor MultivariateNormal::log_density(const Tensor& value) const {
  const double constant = 0.5 * static_cast<double>(loc_.size(-1)) * std::log(2 * 3.14159265358979323846);
  return -0.5 * squared_distance(scale_, value - loc_) - half_log_determinant(scale_) - constant;
}
Tensor MultivariateNormal::find_entropy() const {
  const double constant = 0.5 * static_cast<double>(loc_.size(-1)) * (1 + std::log(2 * 3.14159265358979323846));
  return half_log_determinant(scale_) + constant;
}
Tensor MultivariateNormal::find_variance() const { return sum(square(scale_), -1); }
Tensor MultivariateNormal::divergence(const Distribution& q) const {
  const auto* other = dynamic_cast<const MultivariateNormal*>(&q);
  if (other == nullptr || !(event_shape() == other->event_shape())) return {};
  const Tensor spread = sum(square(solve_lower(other->scale_, scale_)), {-1, -2});
  return half_log_determinant(other->scale_) - half_log_determinant(scale_) +
         0.5 * (spread + squared_distance(other->scale_, other->loc_ - loc_) - static_cast<double>(loc_.size(-1)));
}

}  // namespace minnow::distributions
