#include <minnow/distributions/discrete.h>

#include <limits>
#include <minnow/distributions/detail/parameters.h>
#include <minnow/ops/elementwise/arithmetic.h>
#include <minnow/ops/elementwise/unary.h>
#include <minnow/ops/indexing/index.h>
#include <minnow/ops/norms/softmax.h>
#include <minnow/ops/reductions/reduce.h>
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

std::vector<Tensor> bernoulli_of(const ProbsOrLogits& parameter, SourceLocation where) {
  const Tensor& given = only_one("Bernoulli", parameter, where);
  const CallSite site("Bernoulli", where);
  const bool is_probs = parameter.probs.defined();
  detail::require_in(is_probs ? detail::kProbability : detail::kAnyNumber, is_probs ? "probs" : "logits", given);
  if (is_probs) return {given, logits_of(given)};
  return {sigmoid({given, where}), given};
}

std::vector<Tensor> categorical_of(const ProbsOrLogits& parameter, SourceLocation where) {
  const Tensor& given = only_one("Categorical", parameter, where);
  const CallSite site("Categorical", where);
  if (given.dim() < 1)
    throw ShapeError(message("there are no categories", {{"parameter", given}}, "the last dimension is that of the K"));
  if (parameter.logits.defined()) {
    const Tensor probs = softmax(given, -1);
    minnow::detail::require_in(detail::kAnyNumber, "softmax(logits)", probs,
                               "the logits of each row need a finite largest one, and no NaN");
    return {probs, log_softmax(given, -1)};
  }
  detail::require_in(detail::kFromZero, "probs", given);
  const Tensor sums = sum(given, -1, true);
  minnow::detail::require_in({"above 0 and finite", 0, std::numeric_limits<double>::max(), true}, "sum(probs)", sums,
                             "each row needs a positive probability");
  const Tensor probs = given / sums;
  return {probs, log(clamped(probs))};
}

[[noreturn]] Tensor refuse(const std::string& what) {
  throw ValueError(message("the values of a Categorical are names, which have no " + what, {},
                           "use probs(), or a distribution of numbers"));
}

using P = const detail::Family::Parameters&;  // probabilities, logits

constexpr detail::Family kBernoulli{.name = "Bernoulli",
                                    .draw =
                                        [](P p, const Shape& shape, RandomGenerator* generator) {
                                          const Tensor u = detail::uniform(shape, p[0], generator);
                                          return lt(u, p[0].to(u.dtype())).to(p[0].dtype());
                                        },
                                    .log_density =
                                        [](P p, const Tensor& x) {
                                          return where(logical_and(ge(x, 0), le(x, 1)), p[1] * x + log_sigmoid(-p[1]),
                                                       -kInfinity);
                                        },
                                    .entropy = [](P p) { return -(p[1] * p[0] + log_sigmoid(-p[1])); },
                                    .mean = [](P p) { return p[0]; },
                                    .variance = [](P p) { return p[0] * (1 - p[0]); },
                                    .divergence =
                                        [](P p, P q) {
                                          const Tensor ones = p[0] * (softplus_of(-q[1]) - softplus_of(-p[1])),
                                                       zeros = (1 - p[0]) * (softplus_of(q[1]) - softplus_of(p[1]));
                                          return replaced(replaced(ones, eq(q[0], 0), kInfinity), eq(p[0], 0), 0) +
                                                 replaced(replaced(zeros, eq(q[0], 1), kInfinity), eq(p[0], 1), 0);
                                        },
                                    .has_rsample = false};

constexpr detail::Family kCategorical{
    .name = "Categorical",
    // The largest of the logits with noise -log(-log u) is distributed as the categories are (Gumbel 1954).
    .draw =
        [](P p, const Shape& shape, RandomGenerator* generator) {
          const Tensor u = detail::uniform(detail::join(shape, {p[0].size(-1)}), p[0], generator);
          return argmax(log(p[0].to(u.dtype())) - log(-log(u)), -1);
        },
    .log_density =
        [](P p, const Tensor& x) {
          if (x.is_floating_point())
            throw DTypeError(message("the value of a Categorical must be integer indices", {{"value", x}},
                                     "convert them: .to(int64)"));
          const Tensor batch = empty(detail::leading(p[0].shape()));
          const Shape shape = minnow::detail::raw::broadcast_shape(x, batch, "value", "parameters");
          const Tensor index = x.to(int64).expand(shape).unsqueeze(-1);
          return gather(p[1].expand(detail::join(shape, {p[0].size(-1)})), -1, index).squeeze(-1);
        },
    .entropy =
        [](P p) {
          const double lowest = p[0].dtype() == DType::float64 ? -std::numeric_limits<double>::max() : -3e4;
          return -sum(clamp_min(p[1], lowest) * p[0], -1);
        },
    .mean = [](P) { return refuse("mean"); },
    .variance = [](P) { return refuse("variance"); },
    .divergence =
        [](P p, P q) {
          const Tensor each = p[0] * (p[1] - q[1]);
          return sum(replaced(replaced(each, eq(q[0], 0), kInfinity), eq(p[0], 0), 0), -1);
        },
    .has_rsample = false,
    .parameter_dims = 1};

}  // namespace

Bernoulli::Bernoulli(const TensorLike& probs)
    : Bernoulli(ProbsOrLogits{.probs = detail::broadcast("Bernoulli", {{"probs", probs, detail::kProbability}})[0]},
                probs.where) {}
Bernoulli::Bernoulli(const ProbsOrLogits& parameter, SourceLocation where)
    : Distribution(kBernoulli, bernoulli_of(parameter, where)) {}

Categorical::Categorical(const In& probs) : Categorical(ProbsOrLogits{.probs = *probs}, probs.where) {}
Categorical::Categorical(const ProbsOrLogits& parameter, SourceLocation where)
    : Distribution(kCategorical, categorical_of(parameter, where)) {}

}  // namespace minnow::distributions
