#include <minnow/distributions/gamma.h>

#include <minnow/autograd/record.h>
#include <minnow/distributions/detail/parameters.h>
#include <minnow/ops/elementwise/arithmetic.h>
#include <minnow/ops/elementwise/unary.h>
#include <minnow/ops/reductions/reduce.h>
#include <minnow/tensor/backend/dispatch.h>
#include <minnow/tensor/create.h>
#include <minnow/tensor/error.h>

namespace minnow::distributions {
namespace {

/// For small x: the derivative of a Taylor series of the distribution function.
Tensor gradient_of_small(const Tensor& a, const Tensor& x) {
  Tensor factor = ones_like(x), denominator = a, series = reciprocal(a), squares = reciprocal(square(a));
  for (int i = 1; i <= 5; ++i) {
    factor = factor * x * (-1.0 / i);
    denominator = denominator + 1;
    series = series + factor / denominator;
    squares = squares + factor / square(denominator);
  }
  // The powers of x of numerator and density cancel but for one.
  const Tensor result = -x * exp(x) * ((log(x) - digamma(a)) * series - squares);
  return where(isnan(result), 0, result);
}

/// For large a: Rice's saddle point expansion.
Tensor gradient_of_large(const Tensor& a, const Tensor& x) {
  const Tensor a2 = square(a), near = (1 + 24 * a * (1 + 12 * a)) *
                                      (1440 * a2 + 6 * x * (53 - 120 * x) - 65 * square(x) / a + a * (107 + 3600 * x)) /
                                      (1244160 * square(a2));
  const Tensor ratio = log(x / a), root = sqrt(8 * a), second = root / (a - x), third = pow(x - a - a * ratio, -1.5);
  const Tensor first = ratio * where(lt(x, a), second - third, second + third) - sqrt(2 / a) * (a + x) / square(a - x);
  const Tensor far = -(1 + 1 / (12 * a) * (1 + 1 / (24 * a))) * x * first / root;
  return where(logical_and(le(0.9 * a, x), le(x, 1.1 * a)), near, far);
}

/// Otherwise: e to a rational approximation in log(x / a) and log a.
Tensor gradient_of_others(const Tensor& a, const Tensor& x) {
  static constexpr double kOfX[8][3] = {{0.16009398, 0.53487893, 0.040121004},
                                        {-0.094634809, 0.1298071, -0.0065914022},
                                        {0.025146376, 0.065735949, -0.0026286047},
                                        {-0.0030648343, -0.0015649758, -0.0013441777},
                                        {1, 0.16639465, 0.017050642},
                                        {0.32668115, 0.020070113, -0.0021309326},
                                        {0.10406089, -0.0035938915, 0.00085092367},
                                        {0.0014179084, -0.00058392623, -1.5247877e-07}};
  const Tensor u = log(x / a), v = log(a);
  std::vector<Tensor> c;
  for (const auto& row : kOfX) c.push_back(row[0] + u * (row[1] + u * row[2]));
  const auto cubic = [&](std::size_t i) { return c[i] + v * (c[i + 1] + v * (c[i + 2] + v * c[i + 3])); };
  return exp(cubic(0) / cubic(4));
}

}  // namespace

Tensor detail::standard_gamma_gradient(const Tensor& a, const Tensor& x) {
  return where(lt(x, 0.8), gradient_of_small(a, x), where(gt(a, 8), gradient_of_large(a, x), gradient_of_others(a, x)));
}

/// Marsaglia and Tsang 2000.  A proposal is taken with a probability of 0.95 or more; eight are made for each value, so that
/// nothing waits for the device, and one value in 3e10 is the proposal's center.
Tensor detail::standard_gamma(const Tensor& concentration, RandomGenerator* generator) {
  constexpr int kProposals = 8;
  Tensor value;
  {
    const NoGradGuard guard;
    const bool half = concentration.itemsize() < 4;
    const Tensor a = half ? concentration.to(DType::float32) : concentration.detach();
    const Tensor small = lt(a, 1), d = where(small, a + 1, a) - 1.0 / 3, c = rsqrt(9 * d);
    value = d;
    Tensor open = ones_like(a, DType::bool_);
    for (int i = 0; i < kProposals; ++i) {
      const Tensor x = normal(a.shape(), a, generator), u = uniform(a.shape(), a, generator).to(a.dtype());
      const Tensor root = 1 + c * x, v = root * square(root);
      const Tensor taken =
          logical_and(gt(v, 0), lt(log(u), 0.5 * square(x) + d * (1 - v + log(clamp_min(v, tiny(a.dtype()))))));
      value = where(logical_and(open, taken), d * v, value);
      open = logical_and(open, logical_not(taken));
    }
    const Tensor u = clamp_min(uniform(a.shape(), a, generator).to(a.dtype()), tiny(a.dtype()));
    value = clamp_min(where(small, value * pow(u, reciprocal(a)), value), tiny(concentration.dtype()));
    value = value.to(concentration.dtype());
  }
  if (!records(concentration)) return value;
  return record("gamma", value, {concentration}, [a = Saved(concentration), x = value.detach()](const Tensor& grad) {
    if (is_grad_enabled())
      throw AutogradError(
          message("the gradient of samples has no derivative", {}, "call backward without create_graph"));
    return grad * detail::standard_gamma_gradient(a(), x);
  });
}

namespace {

using detail::Family;
using P = const Family::Parameters&;  // in the order of the constructor

constexpr Family kGamma{.name = "Gamma",
                        .draw =
                            [](P p, const Shape& shape, RandomGenerator* generator) {
                              const Tensor x = detail::standard_gamma(p[0].expand(shape), generator);
                              return clamp_min(x / p[1], detail::tiny(p[1].dtype()));
                            },
                        .log_density =
                            [](P p, const Tensor& x) {
                              return detail::xlogy(p[0], p[1]) + detail::xlogy(p[0] - 1, x) - p[1] * x - lgamma(p[0]);
                            },
                        .entropy = [](P p) { return p[0] - log(p[1]) + lgamma(p[0]) + (1 - p[0]) * digamma(p[0]); },
                        .mean = [](P p) { return p[0] / p[1]; },
                        .variance = [](P p) { return p[0] / square(p[1]); },
                        .divergence =
                            [](P p, P q) {
                              return q[0] * log(p[1] / q[1]) + lgamma(q[0]) - lgamma(p[0]) +
                                     (p[0] - q[0]) * digamma(p[0]) + (q[1] - p[1]) * (p[0] / p[1]);
                            }};

constexpr Family kBeta{.name = "Beta",
                       .draw =
                           [](P p, const Shape& shape, RandomGenerator* generator) {
                             const Tensor x = detail::standard_gamma(p[0].expand(shape), generator),
                                          y = detail::standard_gamma(p[1].expand(shape), generator);
                             return clamp(x / (x + y), detail::tiny(x.dtype()), 1 - detail::precision(x.dtype()) / 2);
                           },
                       .log_density =
                           [](P p, const Tensor& x) {
                             const Tensor density = detail::xlogy(p[0] - 1, x) + detail::xlogy(p[1] - 1, 1 - x) +
                                                    lgamma(p[0] + p[1]) - lgamma(p[0]) - lgamma(p[1]);
                             return where(logical_and(ge(x, 0), le(x, 1)), density, -kInfinity);
                           },
                       .entropy =
                           [](P p) {
                             const Tensor total = p[0] + p[1];
                             return lgamma(p[0]) + lgamma(p[1]) - lgamma(total) - (2 - total) * digamma(total) -
                                    (p[0] - 1) * digamma(p[0]) - (p[1] - 1) * digamma(p[1]);
                           },
                       .mean = [](P p) { return p[0] / (p[0] + p[1]); },
                       .variance =
                           [](P p) {
                             const Tensor total = p[0] + p[1];
                             return p[0] * p[1] / (square(total) * (total + 1));
                           },
                       .divergence =
                           [](P p, P q) {
                             const Tensor total = p[0] + p[1], others = q[0] + q[1];
                             return lgamma(q[0]) + lgamma(q[1]) + lgamma(total) - lgamma(p[0]) - lgamma(p[1]) -
                                    lgamma(others) + (p[0] - q[0]) * digamma(p[0]) + (p[1] - q[1]) * digamma(p[1]) +
                                    (others - total) * digamma(total);
                           }};

constexpr Family kDirichlet{
    .name = "Dirichlet",
    .draw =
        [](P p, const Shape& shape, RandomGenerator* generator) {
          const Tensor x = detail::standard_gamma(p[0].expand(shape), generator);
          return clamp(x / sum(x, -1, true), detail::tiny(x.dtype()), 1 - detail::precision(x.dtype()) / 2);
        },
    .log_density =
        [](P p, const Tensor& x) { return sum(detail::xlogy(p[0] - 1, x) - lgamma(p[0]), -1) + lgamma(sum(p[0], -1)); },
    .entropy =
        [](P p) {
          const Tensor &c = p[0], total = sum(c, -1);
          const auto k = static_cast<double>(c.size(-1));
          return sum(lgamma(c) - (c - 1) * digamma(c), -1) - lgamma(total) - (k - total) * digamma(total);
        },
    .mean = [](P p) { return p[0] / sum(p[0], -1, true); },
    .variance =
        [](P p) {
          const Tensor &c = p[0], total = sum(c, -1, true);
          return c * (total - c) / (square(total) * (total + 1));
        },
    .divergence =
        [](P p, P q) {
          const Tensor total = sum(p[0], -1, true);
          return lgamma(total.squeeze(-1)) - lgamma(sum(q[0], -1)) +
                 sum(lgamma(q[0]) - lgamma(p[0]) + (p[0] - q[0]) * (digamma(p[0]) - digamma(total)), -1);
        },
    .parameter_dims = 1,
    .event_dims = 1};

const Tensor& checked(const In& concentration) {
  detail::require_floating_point("Dirichlet", "concentration", *concentration, concentration.where);
  const CallSite site("Dirichlet", concentration.where);
  if (concentration->dim() < 1)
    throw ShapeError(message("the concentration is a number", {{"concentration", *concentration}},
                             "the last dimension is that of the vectors"));
  detail::require_in(detail::kAboveZero, "concentration", *concentration);
  return *concentration;
}

}  // namespace

Gamma::Gamma(const TensorLike& concentration, const TensorLike& rate)
    : Distribution(kGamma, detail::broadcast("Gamma", {{"concentration", concentration, detail::kAboveZero},
                                                       {"rate", rate, detail::kAboveZero}})) {}
Beta::Beta(const TensorLike& concentration1, const TensorLike& concentration0)
    : Distribution(kBeta, detail::broadcast("Beta", {{"concentration1", concentration1, detail::kAboveZero},
                                                     {"concentration0", concentration0, detail::kAboveZero}})) {}
Dirichlet::Dirichlet(const In& concentration) : Distribution(kDirichlet, {checked(concentration)}) {}

}  // namespace minnow::distributions
