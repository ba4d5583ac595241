#include <minnow/distributions/continuous.h>

#include <minnow/autograd/grad_mode.h>
#include <minnow/distributions/detail/parameters.h>
#include <minnow/ops/elementwise/arithmetic.h>
#include <minnow/ops/elementwise/unary.h>
#include <minnow/ops/reductions/reduce.h>
#include <minnow/tensor/create.h>

namespace minnow::distributions {
namespace {

using detail::Family;
using P = const Family::Parameters&;  // in the order of the constructor

Tensor normal_divergence(P p, P q) {
  const Tensor ratio = square(p[1] / q[1]);
  return 0.5 * (ratio + square((p[0] - q[0]) / q[1]) - 1 - log(ratio));
}

constexpr Family kNormal{
    .name = "Normal",
    .draw = [](P p, const Shape& shape,
               RandomGenerator* generator) { return p[0] + p[1] * detail::normal(shape, p[0], generator); },
    .log_density = [](P p,
                      const Tensor& x) { return -0.5 * square((x - p[0]) / p[1]) - log(p[1]) - detail::kHalfLog2Pi; },
    .entropy = [](P p) { return log(p[1]) + (0.5 + detail::kHalfLog2Pi); },
    .mean = [](P p) { return p[0]; },
    .variance = [](P p) { return square(p[1]); },
    .divergence = normal_divergence};

constexpr Family kLogNormal{
    .name = "LogNormal",
    .draw = [](P p, const Shape& shape, RandomGenerator* generator) { return exp(kNormal.draw(p, shape, generator)); },
    .log_density =
        [](P p, const Tensor& x) {
          const Tensor z = log(x);
          return kNormal.log_density(p, z) - z;
        },
    .entropy = [](P p) { return kNormal.entropy(p) + p[0]; },
    .mean = [](P p) { return exp(p[0] + square(p[1]) / 2); },
    .variance =
        [](P p) {
          const Tensor variance = square(p[1]);
          return expm1(variance) * exp(2 * p[0] + variance);
        },
    .divergence = normal_divergence};

constexpr Family kLaplace{.name = "Laplace",
                          .draw =
                              [](P p, const Shape& shape, RandomGenerator* generator) {
                                const Tensor drawn = detail::uniform(shape, p[0], generator);
                                const double limit = 1 - detail::precision(drawn.dtype()) / 2;
                                const Tensor u = clamp(drawn * 2 - 1, -limit, limit);
                                return (p[0] - p[1] * (sign(u) * log1p(-abs(u)))).to(p[0].dtype());
                              },
                          .log_density = [](P p, const Tensor& x) { return -log(2 * p[1]) - abs(x - p[0]) / p[1]; },
                          .entropy = [](P p) { return 1 + log(2 * p[1]); },
                          .mean = [](P p) { return p[0]; },
                          .variance = [](P p) { return 2 * square(p[1]); },
                          .divergence =
                              [](P p, P q) {
                                const Tensor ratio = p[1] / q[1], distance = abs(p[0] - q[0]);
                                return distance / q[1] + ratio * exp(-distance / p[1]) - log(ratio) - 1;
                              }};

constexpr Family kUniform{
    .name = "Uniform",
    .draw =
        [](P p, const Shape& shape, RandomGenerator* generator) {
          return (p[0] + (p[1] - p[0]) * detail::uniform(shape, p[0], generator)).to(p[0].dtype());
        },
    .log_density =
        [](P p, const Tensor& x) {
          return where(logical_and(le(p[0], x), gt(p[1], x)), -log(p[1] - p[0]), -kInfinity);
        },
    .entropy = [](P p) { return log(p[1] - p[0]); },
    .mean = [](P p) { return (p[1] + p[0]) / 2; },
    .variance = [](P p) { return square(p[1] - p[0]) / 12; },
    .divergence =
        [](P p, P q) {
          const Tensor outside = logical_or(gt(q[0], p[0]), lt(q[1], p[1]));
          return where(outside, kInfinity, log((q[1] - q[0]) / (p[1] - p[0])));
        }};

constexpr Family kExponential{
    .name = "Exponential",
    .draw =
        [](P p, const Shape& shape, RandomGenerator* generator) {
          return (-log1p(-detail::uniform(shape, p[0], generator)) / p[0]).to(p[0].dtype());
        },
    .log_density = [](P p, const Tensor& x) { return where(ge(x, 0), log(p[0]) - p[0] * x, -kInfinity); },
    .entropy = [](P p) { return 1 - log(p[0]); },
    .mean = [](P p) { return reciprocal(p[0]); },
    .variance = [](P p) { return reciprocal(square(p[0])); },
    .divergence =
        [](P p, P q) {
          const Tensor ratio = q[0] / p[0];
          return ratio - log(ratio) - 1;
        }};

/// Of [low, high).
std::vector<Tensor> ordered(std::vector<Tensor> ends, SourceLocation where) {
  const CallSite site("Uniform", where);
  const NoGradGuard guard;
  if (ends[0].device().is_cpu()) detail::require_in(detail::kAboveZero, "high - low", ends[1] - ends[0]);
  return ends;
}

}  // namespace

Normal::Normal(const TensorLike& loc, const TensorLike& scale)
    : Distribution(kNormal, detail::broadcast(
                                "Normal", {{"loc", loc, detail::kAnyNumber}, {"scale", scale, detail::kAboveZero}})) {}
LogNormal::LogNormal(const TensorLike& loc, const TensorLike& scale)
    : Distribution(kLogNormal, detail::broadcast("LogNormal", {{"loc", loc, detail::kAnyNumber},
                                                               {"scale", scale, detail::kAboveZero}})) {}
Laplace::Laplace(const TensorLike& loc, const TensorLike& scale)
    : Distribution(kLaplace, detail::broadcast(
                                 "Laplace", {{"loc", loc, detail::kAnyNumber}, {"scale", scale, detail::kAboveZero}})) {
}
Uniform::Uniform(const TensorLike& low, const TensorLike& high)
    : Distribution(
          kUniform,
          ordered(detail::broadcast("Uniform", {{"low", low, detail::kAnyNumber}, {"high", high, detail::kAnyNumber}}),
                  low.where)) {}
Exponential::Exponential(const TensorLike& rate)
    : Distribution(kExponential, detail::broadcast("Exponential", {{"rate", rate, detail::kAboveZero}})) {}

}  // namespace minnow::distributions
