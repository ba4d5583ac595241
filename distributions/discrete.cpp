#include <minnow/distributions/discrete.h>

#include <limits>
#include <minnow/distributions/detail/parameters.h>
#include <minnow/ops/arithmetic.h>
#include <minnow/ops/index.h>
#include <minnow/ops/reduce.h>
#include <minnow/ops/softmax.h>
#include <minnow/ops/unary.h>
#include <minnow/tensor/backend/dispatch.h>
#include <minnow/tensor/create.h>
#include <minnow/tensor/error.h>
#include <minnow/tensor/raw/elementwise.h>

namespace minnow::distributions {
namespace {

/// Away from 0 and 1, where logarithms are infinite.
Tensor clamped(const Tensor& probs) {
  const double eps = detail::precision(probs.dtype());
  return clamp(probs, eps, 1 - eps);
}

const Tensor& only_one(const char* owner, const ProbsOrLogits& parameter, SourceLocation where) {
  if (parameter.probs.defined() == parameter.logits.defined())
    throw ValueError(std::string(owner) + ": one of probs and logits must be given, and one alone\n" + owner +
                         "({.logits = x}) or " + owner + "({.probs = p})",
                     where);
  const Tensor& given = parameter.probs.defined() ? parameter.probs : parameter.logits;
  detail::require_floating_point(owner, parameter.probs.defined() ? "probs" : "logits", given, where);
  return given;
}

Tensor logits_of(const Tensor& probs) {
  const Tensor p = clamped(probs);
  return log(p) - log1p(-p);
}

/// log(1 + e^x).
Tensor softplus_of(const Tensor& x) { return -log_sigmoid(-x); }

/// x, with `value` where a condition holds, without gradient there.
Tensor replaced(const Tensor& x, const Tensor& condition, double value) { return where(condition, value, x); }

}  // namespace

Bernoulli::Bernoulli(const Tensor& probs, const Tensor& logits)
    : Distribution(probs.shape(), {}), probs_(probs), logits_(logits) {}
Bernoulli::Bernoulli(const TensorLike& probs)
    : Bernoulli(ProbsOrLogits{.probs = detail::broadcast("Bernoulli", {{"probs", probs}})[0]}, probs.where) {}
Bernoulli::Bernoulli(const ProbsOrLogits& parameter, SourceLocation where)
    : Bernoulli(parameter.probs.defined() ? only_one("Bernoulli", parameter, where)
                                          : sigmoid({only_one("Bernoulli", parameter, where), where}),
                parameter.probs.defined() ? logits_of(parameter.probs) : parameter.logits) {}

Tensor Bernoulli::draw(const Shape& shape, RandomGenerator* generator) const {
  const Tensor u = detail::uniform(shape, probs_, generator);
  return lt(u, probs_.to(u.dtype())).to(probs_.dtype());
}
Tensor Bernoulli::log_density(const Tensor& value) const {
  const Tensor possible = logical_and(ge(value, 0), le(value, 1));
  return where(possible, logits_ * value + log_sigmoid(-logits_), -kInfinity);
}
Tensor Bernoulli::find_entropy() const { return -(logits_ * probs_ + log_sigmoid(-logits_)); }
Tensor Bernoulli::find_variance() const { return probs_ * (1 - probs_); }
Tensor Bernoulli::divergence(const Distribution& q) const {
  const auto* other = dynamic_cast<const Bernoulli*>(&q);
  if (other == nullptr) return {};
  const Tensor &p = probs_, &r = other->probs_;
  const Tensor ones = p * (softplus_of(-other->logits_) - softplus_of(-logits_)),
               zeros = (1 - p) * (softplus_of(other->logits_) - softplus_of(logits_));
  return replaced(replaced(ones, eq(r, 0), kInfinity), eq(p, 0), 0) +
         replaced(replaced(zeros, eq(r, 1), kInfinity), eq(p, 1), 0);
}

Categorical::Both Categorical::both_of(const ProbsOrLogits& parameter, SourceLocation where) {
  const Tensor& given = only_one("Categorical", parameter, where);
  const CallSite site("Categorical", where);
  if (given.dim() < 1)
    throw ShapeError(message("there are no categories", {{"parameter", given}}, "the last dimension is that of the K"));
  if (parameter.logits.defined()) return {softmax(given, -1), log_softmax(given, -1)};
  const Tensor probs = given / sum(given, -1, true);
  return {probs, log(clamped(probs))};
}

namespace {

Shape without_last(const Shape& shape) {
  Shape result;
  for (int d = 0; d + 1 < static_cast<int>(shape.rank()); ++d) result.push_back(shape[d]);
  return result;
}

}  // namespace

Categorical::Categorical(const Both& both)
    : Distribution(without_last(both.p.shape()), {}), probs_(both.p), logits_(both.log_p) {}
Categorical::Categorical(const In& probs) : Categorical(both_of({.probs = *probs}, probs.where)) {}
Categorical::Categorical(const ProbsOrLogits& parameter, SourceLocation where)
    : Categorical(both_of(parameter, where)) {}

/// The largest of the logits with noise -log(-log u) is distributed as the categories are (Gumbel 1954).
Tensor Categorical::draw(const Shape& shape, RandomGenerator* generator) const {
  const Tensor u = detail::uniform(detail::join(shape, {probs_.size(-1)}), probs_, generator);
  return argmax(log(probs_.to(u.dtype())) - log(-log(u)), -1);
}
Tensor Categorical::log_density(const Tensor& value) const {
  if (value.is_floating_point())
    throw DTypeError(message("values of a Categorical are indices", {{"value", value}}, "convert them: .to(int64)"));
  const Shape shape = minnow::detail::raw::broadcast_shape(value, empty(batch_shape()), "value", "parameters");
  const Tensor index = value.to(int64).expand(shape).unsqueeze(-1);
  return gather(logits_.expand(detail::join(shape, {probs_.size(-1)})), -1, index).squeeze(-1);
}
Tensor Categorical::find_entropy() const {
  const double lowest = probs_.dtype() == DType::float64 ? -std::numeric_limits<double>::max() : -3e4;
  return -sum(clamp_min(logits_, lowest) * probs_, -1);
}
Tensor Categorical::find_mean() const {
  throw ValueError(message("the values of a Categorical are names, which have no mean", {},
                           "use probs(), or a distribution of numbers"));
}
Tensor Categorical::find_variance() const {
  throw ValueError(message("the values of a Categorical are names, which have no variance", {},
                           "use probs(), or a distribution of numbers"));
}
Tensor Categorical::divergence(const Distribution& q) const {
  const auto* other = dynamic_cast<const Categorical*>(&q);
  if (other == nullptr) return {};
  const Tensor each = probs_ * (logits_ - other->logits_);
  return sum(replaced(replaced(each, eq(other->probs_, 0), kInfinity), eq(probs_, 0), 0), -1);
}

}  // namespace minnow::distributions
