#pragma once

#include <memory>
#include <vector>
#include <minnow/tensor/in.h>
#include <minnow/tensor/random.h>

/// Probability distributions, as torch.distributions.  Parameters are tensors of one floating-point dtype, or numbers; they
/// are broadcast to the batch_shape.  Gradients flow to them from log_prob, entropy, rsample and kl_divergence.  The values
/// of parameters and of log_prob's argument are not checked, which would wait for the device: outside of their range the
/// results are NaN or -infinity.  DTypeError for other dtypes, DeviceError for several devices, ShapeError for shapes that
/// cannot be broadcast.
///
///     distributions::Normal q(mean, exp(log_variance * 0.5));
///     Tensor z = q.rsample();
///     Tensor kl = distributions::kl_divergence(q, distributions::Normal(0, 1));
namespace minnow::distributions {

class Distribution {
 public:
  virtual ~Distribution() = default;

  /// "Normal".
  virtual const char* name() const = 0;
  /// The shape of the parameters: as many distributions, each drawn and evaluated by itself.
  const Shape& batch_shape() const { return batch_shape_; }
  /// The shape of one value; [] unless it is a vector.
  const Shape& event_shape() const { return event_shape_; }

  /// Values without gradient, of shape [shape..., batch_shape..., event_shape...].  Numbers come from the given generator,
  /// or the default one, and are the same on every device.
  [[nodiscard]] Tensor sample(const Shape& shape = {}, RandomGenerator* generator = nullptr,
                              SourceLocation where = SourceLocation::current()) const;
  /// The same with gradients to the parameters (reparameterized).  ValueError if has_rsample() is false.
  [[nodiscard]] Tensor rsample(const Shape& shape = {}, RandomGenerator* generator = nullptr,
                               SourceLocation where = SourceLocation::current()) const;
  virtual bool has_rsample() const { return true; }
  /// The logarithm of the density, or of the probability, at a value: [..., batch_shape..., event_shape...]  ->  [...,
  /// batch_shape...].
  [[nodiscard]] Tensor log_prob(const TensorLike& value) const;
  /// In nats.   ->  batch_shape.
  [[nodiscard]] Tensor entropy(SourceLocation where = SourceLocation::current()) const;
  /// [batch_shape..., event_shape...].  ValueError for Categorical, whose values are names.
  [[nodiscard]] Tensor mean(SourceLocation where = SourceLocation::current()) const;
  [[nodiscard]] Tensor variance(SourceLocation where = SourceLocation::current()) const;
  [[nodiscard]] Tensor stddev(SourceLocation where = SourceLocation::current()) const;

 protected:
  Distribution(const Shape& batch_shape, const Shape& event_shape)
      : batch_shape_(batch_shape), event_shape_(event_shape) {}

  // What a distribution is, inside of an open CallSite.

  /// Values of a whole shape, with gradients if it has some.
  virtual Tensor draw(const Shape& shape, RandomGenerator* generator) const = 0;
  virtual Tensor log_density(const Tensor& value) const = 0;
  virtual Tensor find_entropy() const = 0;
  virtual Tensor find_mean() const = 0;
  virtual Tensor find_variance() const = 0;
  /// The divergence to a distribution of a class that it knows; otherwise undefined.
  virtual Tensor divergence(const Distribution& q) const = 0;
  /// The parameter that says dtype and device.
  virtual const Tensor& like() const = 0;

 private:
  friend class Independent;
  friend Tensor kl_divergence(const Distribution& p, const Distribution& q, SourceLocation where);

  Shape batch_shape_, event_shape_;
};

/// The Kullback-Leibler divergence ∫ p log(p / q), in nats.   ->  the broadcast batch_shape.  For two distributions of one
/// class; ValueError for others.
[[nodiscard]] Tensor kl_divergence(const Distribution& p, const Distribution& q,
                                   SourceLocation where = SourceLocation::current());

/// The last `dims` dimensions of the batch_shape as dimensions of the event: log_prob and entropy are summed over them.
///
///     distributions::Independent policy(distributions::Normal(mean, stddev), 1);
class Independent : public Distribution {
 public:
  /// ShapeError if the batch_shape has fewer dimensions, or dims is negative.
  template <std::derived_from<Distribution> D>
  Independent(const D& base, int dims, SourceLocation where = SourceLocation::current())
      : Independent(std::make_shared<const D>(base), dims, where) {}

  const char* name() const override { return "Independent"; }
  bool has_rsample() const override { return base_->has_rsample(); }
  const Distribution& base() const { return *base_; }

 protected:
  Tensor draw(const Shape& shape, RandomGenerator* generator) const override;
  Tensor log_density(const Tensor& value) const override;
  Tensor find_entropy() const override;
  Tensor find_mean() const override;
  Tensor find_variance() const override;
  Tensor divergence(const Distribution& q) const override;
  const Tensor& like() const override { return base_->like(); }

 private:
  Independent(std::shared_ptr<const Distribution> base, int dims, SourceLocation where);

  std::shared_ptr<const Distribution> base_;
  int dims_;
};

}  // namespace minnow::distributions
