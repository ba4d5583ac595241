#include <minnow/distributions/distribution.h>

#include <limits>
#include <minnow/autograd/grad_mode.h>
#include <minnow/distributions/detail/parameters.h>
#include <minnow/ops/elementwise/arithmetic.h>
#include <minnow/ops/elementwise/unary.h>
#include <minnow/ops/reductions/reduce.h>
#include <minnow/tensor/backend/dispatch.h>
#include <minnow/tensor/create.h>
#include <minnow/tensor/error.h>
#include <minnow/tensor/raw/elementwise.h>

namespace minnow::distributions {

namespace detail {

std::vector<Tensor> broadcast(const char* owner, std::initializer_list<NamedParameter> parameters) {
  const SourceLocation where = parameters.begin()->value.where;
  const CallSite site(owner, where);
  TensorOptions options{.dtype = DType::float32};
  const Tensor* first = nullptr;
  for (const auto& [name, value, range] : parameters)
    if (!value.is_number()) {
      require_floating_point(owner, name, *value.tensor, where);
      if (first == nullptr) options = {value.tensor->dtype(), value.tensor->device()};
      if (first == nullptr) first = value.tensor;
      else if (value.tensor->dtype() != first->dtype())
        throw DTypeError(message("the parameters have different dtypes", {{"first", *first}, {name, *value.tensor}},
                                 "convert one of them"));
      else minnow::detail::dispatch({{"first", *first}, {name, *value.tensor}});
    }
  std::vector<Tensor> list;
  Shape shape;
  for (const auto& [name, value, range] : parameters) {
    list.push_back(value.is_number() ? full({}, value.number, options, where) : *value.tensor);
    require_in(range, name, value.is_number() ? full({}, value.number, {options.dtype}) : list.back());
    shape = list.size() == 1 ? list[0].shape() : minnow::detail::raw::broadcast_shape(empty(shape), list.back());
  }
  for (Tensor& t : list)
    if (!(t.shape() == shape)) t = t.expand(shape);
  return list;
}

void require_floating_point(const char* owner, const char* name, const Tensor& parameter, SourceLocation where) {
  const CallSite site(owner, where);
  if (!parameter.defined())
    throw ValueError(message("a parameter is undefined", {{name, parameter}}, "give it a value"));
  if (!parameter.is_floating_point())
    throw DTypeError(message("parameters must be floating-point", {{name, parameter}}, "convert it: .to(float32)"));
}

void require_in(const Range& range, const char* name, const Tensor& parameter) {
  minnow::detail::require_in(
      range, name, parameter,
      "exp() and softplus() give what is above 0, sigmoid() probabilities; DetectAnomalyGuard finds the origin of NaN");
}

Shape part(const Shape& shape, int from, int to) {
  Shape result;
  for (int d = from; d < to; ++d) result.push_back(shape[d]);
  return result;
}

Shape join(const Shape& shape, const Shape& rest) {
  Shape all = shape;
  for (const std::int64_t size : rest) all.push_back(size);
  return all;
}

Tensor uniform(const Shape& shape, const Tensor& like, RandomGenerator* generator) {
  return rand(shape, {is_half(like.dtype()) ? DType::float32 : like.dtype(), like.device(), generator});
}
Tensor normal(const Shape& shape, const Tensor& like, RandomGenerator* generator) {
  return randn(shape, {like.dtype(), like.device(), generator});
}

double precision(DType dtype) {
  switch (dtype) {
    case DType::float64: return std::numeric_limits<double>::epsilon();
    case DType::float16: return 0x1p-10;
    case DType::bfloat16: return 0x1p-7;
    default: return static_cast<double>(std::numeric_limits<float>::epsilon());
  }
}
double tiny(DType dtype) {
  if (dtype == DType::float64) return std::numeric_limits<double>::min();
  return dtype == DType::float16 ? 0x1p-14 : static_cast<double>(std::numeric_limits<float>::min());
}

Tensor xlogy(const Tensor& a, const Tensor& x) {
  return a * log(where(logical_and(eq(a, 0), le(x, 0)), ones_like(x), x));
}

}  // namespace detail

namespace {

Tensor sum_last(const Tensor& x, int dims) {
  std::vector<std::int64_t> list;
  list.reserve(static_cast<std::size_t>(dims));
  for (int d = 0; d < dims; ++d) list.push_back(-1 - d);
  return list.empty() ? x : sum(x, Dims(list));
}

}  // namespace

Distribution::Distribution(const detail::Family& family, std::vector<Tensor> parameters)
    : family_(&family), name_(family.name), parameters_(std::move(parameters)) {
  const Shape& shape = parameters_[0].shape();
  const int rank = static_cast<int>(shape.rank());
  batch_shape_ = detail::part(shape, 0, rank - family.parameter_dims);
  event_shape_ = detail::part(shape, rank - family.event_dims, rank);
}

Distribution::Distribution(const Distribution& base, int dims, SourceLocation where) : Distribution(base) {
  const Shape& batch = base.batch_shape_;
  const int rank = static_cast<int>(batch.rank());
  if (dims < 0 || dims > rank)
    throw ShapeError("Independent: the batch_shape " + batch.str() + " of " + base.name() + " has no " +
                         std::to_string(dims) + " dimensions\ngive 0 to " + std::to_string(rank),
                     where);
  name_ = "Independent";
  summed_ += dims;
  batch_shape_ = detail::part(batch, 0, rank - dims);
  event_shape_ = detail::join(detail::part(batch, rank - dims, rank), base.event_shape_);
}

Tensor Distribution::sample(const Shape& shape, RandomGenerator* generator, SourceLocation where) const {
  const CallSite site("sample", where);
  const NoGradGuard guard;
  return family_->draw(parameters_, detail::join(detail::join(shape, batch_shape_), event_shape_), generator);
}

Tensor Distribution::rsample(const Shape& shape, RandomGenerator* generator, SourceLocation where) const {
  const CallSite site("rsample", where);
  if (!has_rsample())
    throw ValueError(message(std::string(name()) + " is discrete: its values have no gradients", {},
                             "use sample(), and log_prob() for the score function (REINFORCE)"));
  return family_->draw(parameters_, detail::join(detail::join(shape, batch_shape_), event_shape_), generator);
}

Tensor Distribution::log_prob(const TensorLike& value) const {
  const CallSite site("log_prob", value.where);
  const Tensor& like = parameters_[0];
  if (!value.is_number()) minnow::detail::dispatch({{"value", *value.tensor}, {"parameter", like}});
  const Tensor x = value.is_number() ? full({}, value.number, {like.dtype(), like.device()}) : *value.tensor;
  return sum_last(family_->log_density(parameters_, x), summed_);
}

Tensor Distribution::entropy(SourceLocation where) const {
  const CallSite site("entropy", where);
  return sum_last(family_->entropy(parameters_), summed_);
}
Tensor Distribution::mean(SourceLocation where) const {
  const CallSite site("mean", where);
  return family_->mean(parameters_);
}
Tensor Distribution::variance(SourceLocation where) const {
  const CallSite site("variance", where);
  return family_->variance(parameters_);
}
Tensor Distribution::stddev(SourceLocation where) const {
  const CallSite site("stddev", where);
  return sqrt(family_->variance(parameters_));
}

Tensor kl_divergence(const Distribution& p, const Distribution& q, SourceLocation where) {
  const CallSite site("kl_divergence", where);
  minnow::detail::dispatch({{"p", p.parameters_[0]}, {"q", q.parameters_[0]}}, minnow::detail::HostScalars::allowed);
  const bool same = p.family_ == q.family_ && p.summed_ == q.summed_;
  const Tensor result = same ? p.family_->divergence(p.parameters_, q.parameters_) : Tensor();
  if (!result.defined())
    throw ValueError(message(std::string("there is no formula for ") + p.name() + " and " + q.name(), {},
                             "estimate it: mean(p.log_prob(x) - q.log_prob(x)) of samples x of p"));
  return sum_last(result, p.summed_);
}

}  // namespace minnow::distributions
