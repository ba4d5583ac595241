#include <minnow/distributions/continuous.h>

#include <cmath>
#include <minnow/distributions/detail/parameters.h>
#include <minnow/ops/arithmetic.h>
#include <minnow/ops/reduce.h>
#include <minnow/ops/unary.h>
#include <minnow/tensor/create.h>

namespace minnow::distributions {
namespace {

const double kHalfLog2Pi = 0.5 * std::log(2 * 3.14159265358979323846);

Tensor normal_divergence(const Tensor& loc, const Tensor& scale, const Tensor& q_loc, const Tensor& q_scale) {
  const Tensor ratio = square(scale / q_scale);
  return 0.5 * (ratio + square((loc - q_loc) / q_scale) - 1 - log(ratio));
}

}  // namespace

Normal::Normal(const TensorLike& loc, const TensorLike& scale)
    : OfTwo(detail::broadcast("Normal", {{"loc", loc}, {"scale", scale}})) {}
Tensor Normal::draw(const Shape& shape, RandomGenerator* generator) const {
  return loc() + scale() * detail::normal(shape, loc(), generator);
}
Tensor Normal::log_density(const Tensor& value) const {
  return -0.5 * square((value - loc()) / scale()) - log(scale()) - kHalfLog2Pi;
}
Tensor Normal::find_entropy() const { return log(scale()) + (0.5 + kHalfLog2Pi); }
Tensor Normal::find_variance() const { return square(scale()); }
Tensor Normal::divergence(const Distribution& q) const {
  const auto* other = dynamic_cast<const Normal*>(&q);
  return other ? normal_divergence(loc(), scale(), other->loc(), other->scale()) : Tensor();
}

LogNormal::LogNormal(const TensorLike& loc, const TensorLike& scale)
    : OfTwo(detail::broadcast("LogNormal", {{"loc", loc}, {"scale", scale}})) {}
Tensor LogNormal::draw(const Shape& shape, RandomGenerator* generator) const {
  return exp(loc() + scale() * detail::normal(shape, loc(), generator));
}
Tensor LogNormal::log_density(const Tensor& value) const {
  const Tensor z = log(value);
  return -0.5 * square((z - loc()) / scale()) - log(scale()) - kHalfLog2Pi - z;
}
Tensor LogNormal::find_entropy() const { return log(scale()) + (0.5 + kHalfLog2Pi) + loc(); }
Tensor LogNormal::find_mean() const { return exp(loc() + square(scale()) / 2); }
Tensor LogNormal::find_variance() const {
  const Tensor variance = square(scale());
  return expm1(variance) * exp(2 * loc() + variance);
}
Tensor LogNormal::divergence(const Distribution& q) const {
  const auto* other = dynamic_cast<const LogNormal*>(&q);
  return other ? normal_divergence(loc(), scale(), other->loc(), other->scale()) : Tensor();
}

Laplace::Laplace(const TensorLike& loc, const TensorLike& scale)
    : OfTwo(detail::broadcast("Laplace", {{"loc", loc}, {"scale", scale}})) {}
Tensor Laplace::draw(const Shape& shape, RandomGenerator* generator) const {
  const Tensor drawn = detail::uniform(shape, loc(), generator);
  const double limit = 1 - detail::precision(drawn.dtype()) / 2;
  const Tensor u = clamp(drawn * 2 - 1, -limit, limit);
  return (loc() - scale() * (sign(u) * log1p(-abs(u)))).to(loc().dtype());
}
Tensor Laplace::log_density(const Tensor& value) const { return -log(2 * scale()) - abs(value - loc()) / scale(); }
Tensor Laplace::find_entropy() const { return 1 + log(2 * scale()); }
Tensor Laplace::find_variance() const { return 2 * square(scale()); }
Tensor Laplace::divergence(const Distribution& q) const {
  const auto* other = dynamic_cast<const Laplace*>(&q);
  if (other == nullptr) return {};
  const Tensor ratio = scale() / other->scale(), distance = abs(loc() - other->loc());
  return distance / other->scale() + ratio * exp(-distance / scale()) - log(ratio) - 1;
}

Uniform::Uniform(const TensorLike& low, const TensorLike& high)
    : OfTwo(detail::broadcast("Uniform", {{"low", low}, {"high", high}})) {}
Tensor Uniform::draw(const Shape& shape, RandomGenerator* generator) const {
  return (low() + (high() - low()) * detail::uniform(shape, low(), generator)).to(low().dtype());
}
Tensor Uniform::log_density(const Tensor& value) const {
  const Tensor inside = logical_and(le(low(), value), gt(high(), value));
  return where(inside, -log(high() - low()), -kInfinity);
}
Tensor Uniform::find_entropy() const { return log(high() - low()); }
Tensor Uniform::find_mean() const { return (high() + low()) / 2; }
Tensor Uniform::find_variance() const { return square(high() - low()) / 12; }
Tensor Uniform::divergence(const Distribution& q) const {
  const auto* other = dynamic_cast<const Uniform*>(&q);
  if (other == nullptr) return {};
  const Tensor outside = logical_or(gt(other->low(), low()), lt(other->high(), high()));
  return where(outside, kInfinity, log((other->high() - other->low()) / (high() - low())));
}

Exponential::Exponential(const TensorLike& rate) : Exponential(detail::broadcast("Exponential", {{"rate", rate}})) {}
Exponential::Exponential(std::vector<Tensor> parameters)
    : Distribution(parameters[0].shape(), {}), rate_(std::move(parameters[0])) {}
Tensor Exponential::draw(const Shape& shape, RandomGenerator* generator) const {
  return (-log1p(-detail::uniform(shape, rate_, generator)) / rate_).to(rate_.dtype());
}
Tensor Exponential::log_density(const Tensor& value) const {
  return where(ge(value, 0), log(rate_) - rate_ * value, -kInfinity);
}
Tensor Exponential::find_entropy() const { return 1 - log(rate_); }
Tensor Exponential::find_mean() const { return reciprocal(rate_); }
Tensor Exponential::find_variance() const { return reciprocal(square(rate_)); }
Tensor Exponential::divergence(const Distribution& q) const {
  const auto* other = dynamic_cast<const Exponential*>(&q);
  if (other == nullptr) return {};
  const Tensor ratio = other->rate_ / rate_;
  return ratio - log(ratio) - 1;
}

}  // namespace minnow::distributions
