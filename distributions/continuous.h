#pragma once

#include <minnow/distributions/distribution.h>

namespace minnow::distributions {

namespace detail {

/// A distribution of numbers with two parameters of one shape.
class OfTwo : public Distribution {
 protected:
  explicit OfTwo(std::vector<Tensor> parameters)
      : Distribution(parameters[0].shape(), {}), first(std::move(parameters[0])), second(std::move(parameters[1])) {}
  const Tensor& like() const override { return first; }

  Tensor first, second;
};

}  // namespace detail

/// log p = -((x - loc) / scale)² / 2 - log scale - log(2 π) / 2.
class Normal : public detail::OfTwo {
 public:
  Normal(const TensorLike& loc, const TensorLike& scale);
  const char* name() const override { return "Normal"; }
  const Tensor& loc() const { return first; }
  const Tensor& scale() const { return second; }

 protected:
  Tensor draw(const Shape& shape, RandomGenerator* generator) const override;
  Tensor log_density(const Tensor& value) const override;
  Tensor find_entropy() const override;
  Tensor find_mean() const override { return first; }
  Tensor find_variance() const override;
  Tensor divergence(const Distribution& q) const override;
};

/// e^z of a Normal z.
class LogNormal : public detail::OfTwo {
 public:
  LogNormal(const TensorLike& loc, const TensorLike& scale);
  const char* name() const override { return "LogNormal"; }
  const Tensor& loc() const { return first; }
  const Tensor& scale() const { return second; }

 protected:
  Tensor draw(const Shape& shape, RandomGenerator* generator) const override;
  Tensor log_density(const Tensor& value) const override;
  Tensor find_entropy() const override;
  Tensor find_mean() const override;
  Tensor find_variance() const override;
  Tensor divergence(const Distribution& q) const override;
};

/// log p = -|x - loc| / scale - log(2 scale).
class Laplace : public detail::OfTwo {
 public:
  Laplace(const TensorLike& loc, const TensorLike& scale);
  const char* name() const override { return "Laplace"; }
  const Tensor& loc() const { return first; }
  const Tensor& scale() const { return second; }

 protected:
  Tensor draw(const Shape& shape, RandomGenerator* generator) const override;
  Tensor log_density(const Tensor& value) const override;
  Tensor find_entropy() const override;
  Tensor find_mean() const override { return first; }
  Tensor find_variance() const override;
  Tensor divergence(const Distribution& q) const override;
};

/// log p = -log(high - low) in [low, high), else -infinity.
class Uniform : public detail::OfTwo {
 public:
  Uniform(const TensorLike& low, const TensorLike& high);
  const char* name() const override { return "Uniform"; }
  const Tensor& low() const { return first; }
  const Tensor& high() const { return second; }

 protected:
  Tensor draw(const Shape& shape, RandomGenerator* generator) const override;
  Tensor log_density(const Tensor& value) const override;
  Tensor find_entropy() const override;
  Tensor find_mean() const override;
  Tensor find_variance() const override;
  Tensor divergence(const Distribution& q) const override;
};

/// log p = log rate - rate x, for x of at least 0.
class Exponential : public Distribution {
 public:
  explicit Exponential(const TensorLike& rate);
  const char* name() const override { return "Exponential"; }
  const Tensor& rate() const { return rate_; }

 protected:
  Tensor draw(const Shape& shape, RandomGenerator* generator) const override;
  Tensor log_density(const Tensor& value) const override;
  Tensor find_entropy() const override;
  Tensor find_mean() const override;
  Tensor find_variance() const override;
  Tensor divergence(const Distribution& q) const override;
  const Tensor& like() const override { return rate_; }

 private:
  explicit Exponential(std::vector<Tensor> parameters);
  Tensor rate_;
};

}  // namespace minnow::distributions
