#include <minnow/ops/reductions/statistics.h>

#include <algorithm>
#include <string>
#include <vector>
#include <minnow/ops/detail/operation.h>
#include <minnow/ops/elementwise/arithmetic.h>
#include <minnow/ops/elementwise/unary.h>
#include <minnow/ops/indexing/index.h>
#include <minnow/ops/reductions/reduce.h>
#include <minnow/tensor/create.h>
#include <minnow/tensor/error.h>
#include <minnow/tensor/raw/reduce.h>

namespace minnow {

VarMean var_mean(const In& x, const Dims& dims, double correction, bool keepdim) {
  const CallSite site("var_mean", x.where);
  x->require_defined("var_mean", x.where);
  if (is_half(x->dtype())) {  // rounds once
    const auto [variance, center] = var_mean(x->to(DType::float32), dims, correction, keepdim);
    return {variance.to(x->dtype()), center.to(x->dtype())};
  }
  const auto n = static_cast<double>(raw::reduced_count(x, dims));
  const Tensor center = mean(x, dims, true);
  const Tensor variance = sum(square(sub(x, center)), dims, keepdim) / std::max(n - correction, 0.0);
  return {variance, keepdim ? center : center.reshape(variance.shape())};
}

StdMean std_mean(const In& x, const Dims& dims, double correction, bool keepdim) {
  const CallSite site("std_mean", x.where);
  x->require_defined("std_mean", x.where);
  if (is_half(x->dtype())) {
    const auto [deviation, center] = std_mean(x->to(DType::float32), dims, correction, keepdim);
    return {deviation.to(x->dtype()), center.to(x->dtype())};
  }
  const auto [variance, center] = var_mean(x, dims, correction, keepdim);
  if (!records(variance)) return {sqrt(variance), center};
  const Tensor zero = eq(variance, 0);  // where the gradient is 0, as that of stddev
  return {where(zero, 0.0, sqrt(where(zero, 1.0, variance))), center};
}

Tensor nanmean(const In& x, const Dims& dims, bool keepdim) {
  const CallSite site("nanmean", x.where);
  x->require_defined("nanmean", x.where);
  if (!x->is_floating_point())
    throw DTypeError(message("needs a floating-point tensor", {{"self", *x}}, "convert first: .to(float32)"));
  if (is_half(x->dtype())) return nanmean(x->to(DType::float32), dims, keepdim).to(x->dtype());
  return div(nansum(x, dims, keepdim), sum(logical_not(isnan(x)), dims, keepdim));
}

Tensor count_nonzero(const In& x, const Dims& dims) {
  const CallSite site("count_nonzero", x.where);
  x->require_defined("count_nonzero", x.where);
  return sum(x->dtype() == DType::bool_ ? x->detach() : ne(x->detach(), 0), dims);
}

namespace {

/// The sums of `counted` [n], or of ones if it is undefined, for each number of x.
Tensor sums_by_number(const In& x, const Tensor& counted, DType dtype, std::int64_t minlength) {
  const Operand operands[] = {{"self", *x}, {"weights", counted, kOptional}};
  if (x->is_floating_point() || x->dtype() == DType::bool_)
    throw DTypeError(message("needs integers", operands, "convert first: .to(int64)"));
  if (x->dim() != 1) throw ShapeError(message("takes a vector", operands, "flatten it: .flatten()"));
  if (counted.defined() && counted.shape() != x->shape())
    throw ShapeError(message("weights does not match", operands, "it needs a weight for each element"));
  if (minlength < 0)
    throw ValueError(message("minlength must be 0 or more, got " + std::to_string(minlength), operands,
                             "pass the least number of results"));
  const NoGradGuard no_grad;
  std::int64_t bins = minlength;
  const Tensor numbers = x->to(DType::int64);
  if (numbers.numel()) {
    const std::vector<std::int64_t> range = stack({amin(numbers), amax(numbers)}).to_vector<std::int64_t>();
    if (range[0] < 0)
      throw ValueError(
          message("element " + std::to_string(range[0]) + " is negative", operands, "numbers are counted from 0"));
    if (range[1] == INT64_MAX)
      throw ValueError(message("element " + std::to_string(range[1]) + " is too large", operands,
                               "there is a result for each number from 0 to the largest"));
    bins = std::max(bins, range[1] + 1);
  }
  const TensorOptions options{dtype, x->device()};
  const Tensor source = counted.defined() ? counted.to(dtype) : ones({1}, options).expand(x->shape());
  return index_add(zeros({bins}, options), 0, numbers, source);
}

}  // namespace

Tensor bincount(const In& x, std::int64_t minlength) {
  const Operation op("bincount", x.where, {{"self", *x}});
  return sums_by_number(x, {}, DType::int64, minlength);
}

Tensor bincount(const In& x, const In& weights, std::int64_t minlength) {
  const Operation op("bincount", x.where, {{"self", *x}, {"weights", *weights}});
  return sums_by_number(x, *weights, weights->dtype() == DType::float32 ? DType::float32 : DType::float64, minlength);
}

}  // namespace minnow
