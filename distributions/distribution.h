#pragma once

#include <memory>
#include <vector>
#include <minnow/tensor/in.h>
#include <minnow/tensor/random.h>

/// Probability distributions, as torch.distributions.  Parameters are tensors of one floating-point dtype, or numbers;
/// they are broadcast to the batch_shape.  Gradients flow to them from log_prob, entropy, rsample and kl_divergence.
/// ValueError of the constructor for numbers, and tensors on the cpu, outside of the parameters' range.  Tensors on
/// other devices and log_prob's argument are not checked, which would wait for the device: outside of their range the
/// results are NaN or -infinity, and samples any numbers.  DTypeError for other dtypes, DeviceError for several
/// devices, ShapeError for shapes that cannot be broadcast.
///
///     distributions::Normal q(mean, exp(log_variance * 0.5));
///     Tensor z = q.rsample();
///     Tensor kl = distributions::kl_divergence(q, distributions::Normal(0, 1));
namespace minnow::distributions {

namespace detail {

/// What a family of distributions is: functions of its parameters, which are broadcast, inside of an open CallSite.
struct Family {
  using Parameters = std::vector<Tensor>;

  const char* name;
  /// Values of a whole shape, with gradients if has_rsample.
  Tensor (*draw)(const Parameters& p, const Shape& shape, RandomGenerator* generator);
  Tensor (*log_density)(const Parameters& p, const Tensor& value);
  Tensor (*entropy)(const Parameters& p);
  Tensor (*mean)(const Parameters& p);
  Tensor (*variance)(const Parameters& p);
  /// Undefined where there is no formula.
  Tensor (*divergence)(const Parameters& p, const Parameters& q);
  bool has_rsample = true;
  int parameter_dims = 0;  ///< dimensions of the first parameter that are not the batch's
  int event_dims = 0;
};

}  // namespace detail

class Distribution {
 public:
  virtual ~Distribution() = default;

  /// "Normal".
  const char* name() const { return name_; }
  /// The shape of the parameters: as many distributions, each drawn and evaluated by itself.
  const Shape& batch_shape() const { return batch_shape_; }
  /// The shape of one value; [] unless it is a vector.
  const Shape& event_shape() const { return event_shape_; }

  /// Values without gradient, of shape [shape..., batch_shape..., event_shape...].  Numbers come from the given
  /// generator, or the default one, and are the same on every device.
  [[nodiscard]] Tensor sample(const Shape& shape = {}, RandomGenerator* generator = nullptr,
                              SourceLocation where = SourceLocation::current()) const;
  /// The same with gradients to the parameters (reparameterized).  ValueError if has_rsample() is false.
  [[nodiscard]] Tensor rsample(const Shape& shape = {}, RandomGenerator* generator = nullptr,
                               SourceLocation where = SourceLocation::current()) const;
  bool has_rsample() const { return family_->has_rsample; }
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
  /// `family` outlives it.
  Distribution(const detail::Family& family, std::vector<Tensor> parameters);
  /// The last `dims` dimensions of the batch_shape become the event's.
  Distribution(const Distribution& base, int dims, SourceLocation where);
  const Tensor& parameter(std::size_t i) const { return parameters_[i]; }

 private:
  friend Tensor kl_divergence(const Distribution& p, const Distribution& q, SourceLocation where);

  const detail::Family* family_;
  const char* name_;
  std::vector<Tensor> parameters_;
  int summed_ = 0;  // dimensions of the family's batch that are the event's
  Shape batch_shape_, event_shape_;
};

/// The Kullback-Leibler divergence ∫ p log(p / q), in nats.   ->  the broadcast batch_shape.  For two distributions of
/// one class; ValueError for others.
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
      : Distribution(base, dims, where), base_(std::make_shared<const D>(base)) {}

  const Distribution& base() const { return *base_; }

 private:
  std::shared_ptr<const Distribution> base_;
};

}  // namespace minnow::distributions
