#include <minnow/distributions/gamma.h>

#include <minnow/autograd/record.h>
#include <minnow/distributions/detail/parameters.h>
#include <minnow/ops/elementwise/arithmetic.h>
#include <minnow/ops/elementwise/unary.h>
#include <minnow/ops/norms/softmax.h>
#include <minnow/ops/reductions/reduce.h>
#include <minnow/tensor/backend/dispatch.h>
#include <minnow/tensor/create.h>
#include <minnow/tensor/error.h>

namespace minnow::distributions {
namespace {

/// d log x / da for small x: the derivative of a Taylor series of the distribution function.  From log x, since x
/// itself is 0 in floating point for small a.
Tensor log_gradient_of_small(const Tensor& a, const Tensor& log_x) {
  const Tensor x = exp(log_x);
  Tensor factor = ones_like(x), denominator = a, series = zeros_like(x), squares = series;  // but for the first, 1 / a
  for (int i = 1; i <= 5; ++i) {
    factor = factor * x * (-1.0 / i);
    denominator = denominator + 1;
    series = series + factor / denominator;
    squares = squares + factor / square(denominator);
  }
  // The powers of x of numerator and density cancel; the pole of digamma(a) = digamma(a + 1) - 1 / a cancels 1 / a^2.
  const Tensor first = reciprocal(a);
  const Tensor result = -exp(x) * ((log_x - digamma(a + 1)) * (first + series) + first * series - squares);
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

/// For a from 1 on the value of a gamma distribution; below, x u^(1 / a) is one.
struct Draw {
  Tensor is_small, x, u;
};

/// Marsaglia and Tsang 2000.  A proposal is taken with a probability of 0.95 or more; eight are made for each value, so
/// that nothing waits for the device, and one value in 3e10 is the proposal's center.
Draw draw(const Tensor& a, RandomGenerator* generator) {
  constexpr int kProposals = 8;
  const Tensor small = lt(a, 1), d = where(small, a + 1, a) - 1.0 / 3, c = rsqrt(9 * d);
  Tensor value = d, open = ones_like(a, DType::bool_);
  for (int i = 0; i < kProposals; ++i) {
    const Tensor x = detail::normal(a.shape(), a, generator),
                 u = detail::uniform(a.shape(), a, generator).to(a.dtype());
    const Tensor root = 1 + c * x, v = root * square(root);
    const Tensor taken =
        logical_and(gt(v, 0), lt(log(u), 0.5 * square(x) + d * (1 - v + log(clamp_min(v, detail::tiny(a.dtype()))))));
    value = where(logical_and(open, taken), d * v, value);
    open = logical_and(open, logical_not(taken));
  }
  return {small, value, clamp_min(detail::uniform(a.shape(), a, generator).to(a.dtype()), detail::tiny(a.dtype()))};
}

/// `gradient(a, value)` is that of samples, of first order.
Tensor recorded(Tensor value, const Tensor& concentration, Tensor (*gradient)(const Tensor&, const Tensor&)) {
  if (!records(concentration)) return value;
  return record("gamma", value, {concentration},
                [a = Saved(concentration), x = value.detach(), gradient](const Tensor& grad) {
                  if (is_grad_enabled())
                    throw AutogradError(
                        message("the gradient of samples has no derivative", {}, "call backward without create_graph"));
                  return grad * gradient(a(), x);
                });
}

}  // namespace

Tensor detail::standard_gamma_gradient(const Tensor& concentration, const Tensor& value) {
  const Tensor a = concentration.to(DType::float64), x = value.to(DType::float64);  // terms for large a nearly cancel
  return where(lt(x, 0.8), x * log_gradient_of_small(a, log(x)),
               where(gt(a, 8), gradient_of_large(a, x), gradient_of_others(a, x)))
      .to(concentration.dtype());
}

Tensor detail::log_standard_gamma_gradient(const Tensor& concentration, const Tensor& log_value) {
  const Tensor a = concentration.to(DType::float64), log_x = log_value.to(DType::float64), x = exp(log_x);
  return where(lt(x, 0.8), log_gradient_of_small(a, log_x),
               where(gt(a, 8), gradient_of_large(a, x), gradient_of_others(a, x)) / x)
      .to(concentration.dtype());
}

Tensor detail::standard_gamma(const Tensor& concentration, RandomGenerator* generator) {
  Tensor value;
  {
    const NoGradGuard guard;
    const bool half = is_half(concentration.dtype());
    const Tensor a = half ? concentration.to(DType::float32) : concentration.detach();
    const auto [small, x, u] = draw(a, generator);
    value = clamp_min(where(small, x * pow(u, reciprocal(a)), x), tiny(concentration.dtype()));
    value = value.to(concentration.dtype());
  }
  return recorded(std::move(value), concentration, standard_gamma_gradient);
}

Tensor detail::log_standard_gamma(const Tensor& concentration, RandomGenerator* generator) {
  if (is_half(concentration.dtype())) return log_standard_gamma(concentration.to(DType::float32), generator);
  Tensor value;
  {
    const NoGradGuard guard;
    const Tensor a = concentration.detach();
    const auto [small, x, u] = draw(a, generator);
    constexpr double kLowest = -1e38;  // -infinity of two values would have no difference
    value = clamp_min(log(x) + where(small, log(u) / a, 0), kLowest);
  }
  return recorded(std::move(value), concentration, log_standard_gamma_gradient);
}

namespace {

using detail::Family;
using P = const Family::Parameters&;  // in the order of the constructor

/// Away from 0 and 1, where densities are infinite.
Tensor inside(const Tensor& x, DType dtype) {
  return clamp(x.to(dtype), detail::tiny(dtype), 1 - detail::precision(dtype) / 2);
}

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
                             const Tensor x = detail::log_standard_gamma(p[0].expand(shape), generator),
                                          y = detail::log_standard_gamma(p[1].expand(shape), generator);
                             return inside(sigmoid(x - y), p[0].dtype());
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
          const Tensor x = detail::log_standard_gamma(p[0].expand(shape), generator);
          return inside(softmax(x, -1), p[0].dtype());
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
