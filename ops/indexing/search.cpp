#include <minnow/ops/indexing/search.h>

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <limits>
#include <minnow/autograd/grad_mode.h>
#include <minnow/ops/detail/index.h>
#include <minnow/ops/detail/operation.h>
#include <minnow/ops/elementwise/arithmetic.h>
#include <minnow/ops/elementwise/unary.h>
#include <minnow/ops/indexing/index.h>
#include <minnow/ops/indexing/masked.h>
#include <minnow/ops/indexing/sort.h>
#include <minnow/ops/reductions/reduce.h>
#include <minnow/tensor/create.h>
#include <minnow/tensor/error.h>
#include <minnow/tensor/kernels/compute.h>
#include <minnow/tensor/raw/copy.h>
#include <minnow/tensor/raw/create.h>
#include <minnow/tensor/raw/view.h>

namespace minnow {
namespace {

Tensor places(const char* name, const Tensor& sorted, const char* values_name, const Tensor& values, bool right) {
  const Operand operands[] = {{name, sorted}, {values_name, values}};
  Backend& backend = dispatch(operands);
  if (sorted.dtype() != values.dtype())
    throw DTypeError(message("the dtypes differ", operands,
                             "convert one of them: .to(" + std::string(name_of(sorted.dtype())) + ")"));
  bool same = sorted.dim() == 1 || (sorted.dim() > 1 && sorted.dim() == values.dim());
  for (int d = 0; same && d < sorted.dim() - 1; ++d) same = sorted.size(d) == values.size(d);
  if (!same)
    throw ShapeError(message("the leading sizes differ", operands,
                             std::string(name) + " needs one dimension, or all sizes of the values but the last"));
  const Tensor out = raw::new_result(values.shape(), DType::int64, values.device());
  if (values.numel() == 0) return out;
  const DType dtype = kernels::compute_type(sorted.dtype());
  const Tensor from = raw::contiguous(raw::cast(sorted.detach(), dtype)),
               x = raw::contiguous(raw::cast(values.detach(), dtype));
  const std::int64_t n = sorted.size(-1), m = sorted.dim() == 1 ? x.numel() : x.size(-1), rows = x.numel() / m;
  const auto matrix = [](const Tensor& t, std::int64_t r, std::int64_t columns) {
    return View(t.storage(), t.dtype(), {r, columns}, {columns, 1}, t.storage_offset());
  };
  backend.run(calls::SearchSorted{matrix(from, sorted.dim() == 1 ? 1 : rows, n), matrix(x, rows, m),
                                  matrix(out, rows, m), right});
  return out;
}

/// The different elements, or rows, of `values`, of which equal ones are adjacent.  order: where they were in x;
/// undefined if they are in its order.
Unique different(const In& x, const Tensor& values, const Tensor& order, bool return_inverse, bool return_counts) {
  const TensorOptions options{DType::int64, x->device()};
  const std::int64_t n = values.size(0);
  const Shape places = values.dim() == 2 ? Shape{n} : x->shape();
  Unique out;
  if (n == 0) {
    out.values = values;
    if (return_inverse) out.inverse = zeros(places, options);
    if (return_counts) out.counts = zeros({0}, options);
    return out;
  }
  const Tensor first = ones({1}, {DType::bool_, x->device()});
  Tensor differs = ne(values.narrow(0, 1, n - 1), values.narrow(0, 0, n - 1));
  if (values.dim() == 2) differs = any(differs, 1);
  const Tensor begins = cat({first, differs}, 0);
  if (values.dim() == 1) out.values = masked_select(values, begins);
  const Tensor starts = values.dim() == 1 && !return_counts ? Tensor() : nonzero(begins).reshape({-1});
  if (values.dim() == 2) out.values = index_select(values, 0, starts);
  if (return_inverse) {
    const Tensor number = cumsum(begins, 0) - 1;
    out.inverse = (order.defined() ? scatter_add(zeros({n}, options), 0, order, number) : number).reshape(places);
  }
  if (return_counts) out.counts = cat({starts.narrow(0, 1, starts.numel() - 1), full({1}, n, options)}, 0) - starts;
  return out;
}

}  // namespace

Tensor searchsorted(const In& sorted, const In& values, bool right, const Tensor& sorter) {
  const CallSite site("searchsorted", sorted.where);
  if (sorter.defined()) {
    const Operand operands[] = {{"sorted", *sorted}, {"sorter", sorter}};
    require_same_device(operands);
    if (sorter.shape() != sorted->shape() || sorter.dtype() != DType::int64)
      throw ShapeError(message("sorter must be int64, of the shape of sorted", operands, "argsort(sorted)"));
    return places("sorted", gather(sorted->detach(), -1, sorter), "values", *values, right);
  }
  return places("sorted", *sorted, "values", *values, right);
}

Tensor bucketize(const In& x, const In& boundaries, bool right) {
  const Operation op("bucketize", x.where, {{"x", *x}, {"boundaries", *boundaries}});
  if (boundaries->dim() != 1) throw ShapeError(message("boundaries is not a vector", op, "searchsorted takes rows"));
  return places("boundaries", *boundaries, "x", *x, right);
}

Tensor histc(const In& x, std::int64_t bins, double min, double max) {
  const CallSite site("histc", x.where);
  x->require_defined();
  if (!x->is_floating_point())
    throw DTypeError(message("needs a floating-point tensor", {{"self", *x}},
                             "convert first: .to(float32); bincount counts integers"));
  if (bins < 1)
    throw ValueError(
        message(fmt::format("bins must be at least 1, got {}", bins), {{"self", *x}}, "pass the number of bins"));
  const NoGradGuard no_grad;
  const Tensor elements = x->detach().reshape({-1});
  if (min == max && elements.numel()) {
    const std::vector<double> range = stack({amin(elements), amax(elements)}).to_vector<double>();
    min = range[0], max = range[1];
  }
  if (min == max) min -= 1, max += 1;
  if (!(min < max) || !std::isfinite(max - min))
    throw ValueError(message(fmt::format("the range from {} to {} is not finite and ascending", min, max),
                             {{"self", *x}}, "pass min below max"));
  const bool large = (max - min) * static_cast<double>(bins) > static_cast<double>(std::numeric_limits<float>::max());
  const DType wide = x->dtype() == DType::float64 || large ? DType::float64 : DType::float32;
  const Tensor counts = zeros({bins}, {DType::int64, x->device()});
  const std::int64_t n = elements.numel(), most = x->device().is_cpu() ? 1 << 15 : n;  // as many as stay in a cache
  for (std::int64_t at = 0; at < n; at += most) {
    const Tensor some = elements.narrow(0, at, std::min(most, n - at));
    const Tensor inside = logical_and(ge(some, min), le(some, max));
    const Tensor distance = where(inside, some, min).to(wide) - min, share = distance * static_cast<double>(bins);
    // The largest element, and what is rounded up to a further bin, count for the last one.
    const Tensor bin = clamp(share / (max - min), 0, static_cast<double>(bins)).to(DType::int64);
    raw::index_add_(counts, 0, clamp_max(bin, static_cast<double>(bins - 1)), inside.to(DType::int64));
  }
  return counts.to(x->dtype());
}

Unique unique(const In& x, bool return_inverse, bool return_counts, std::optional<int> dim) {
  const CallSite site("unique", x.where);
  x->require_defined();
  const NoGradGuard no_grad;
  if (dim && x->dim() > 0) {
    const int d = raw::wrap_dim(x, *dim);
    Shape to_front{d}, back;
    for (int i = 0; i < x->dim(); ++i) {
      if (i != d) to_front.push_back(i);
      back.push_back(i == d ? 0 : i < d ? i + 1 : i);
    }
    const Tensor first = x->detach().permute(to_front);
    const std::int64_t n = first.size(0), m = n ? first.numel() / n : 1;
    if (m == 0)
      throw ShapeError(message("its slices have no elements", {{"self", *x}}, "choose the dimension of size 0"));
    const Tensor rows = first.reshape({n, m});
    Tensor order = arange(n, {DType::int64, x->device()});
    for (std::int64_t column = n ? m - 1 : -1; column >= 0; --column)  // stable: the first column decides last
      order = index_select(order, 0, argsort(index_select(rows.narrow(1, column, 1).reshape({n}), 0, order), 0));
    Unique found = different(x, index_select(rows, 0, order), order, return_inverse, return_counts);
    Shape shape = first.shape();
    shape[0] = found.values.size(0);
    found.values = found.values.reshape(shape).permute(back).contiguous();
    return found;
  }
  const Ordered sorted = sort(x->detach().reshape({-1}), 0);
  return different(x, sorted.values, sorted.indices, return_inverse, return_counts);
}

Tensor isin(const In& x, const In& elements) {
  const Operation op("isin", x.where, {{"self", *x}, {"elements", *elements}});
  const NoGradGuard no_grad;
  if (elements->numel() == 0) return zeros(x->shape(), {DType::bool_, x->device()});
  const DType dtype = promote_types(x->dtype(), elements->dtype());
  const Tensor values = x->detach().to(dtype), choices = elements->detach().to(dtype).reshape({-1});
  constexpr std::int64_t kFew = 256;  // comparisons that take less time than the calls of a search
  if (values.numel() <= kFew / choices.numel()) return any(eq(values.unsqueeze(-1), choices), -1);
  const Tensor sorted = sort(choices).values;
  // The search takes a NaN for less than its value: one that stands in the way must count as the largest number.
  const Tensor from = is_floating_point(dtype) ? masked_fill(sorted, isnan(sorted), kInfinity) : sorted;
  const Tensor at = clamp(places("elements", from, "self", values, false), 0, static_cast<double>(sorted.numel() - 1));
  return eq(index_select(sorted, 0, at.reshape({-1})).reshape(x->shape()), values);
}

Unique unique_consecutive(const In& x, bool return_inverse, bool return_counts) {
  const CallSite site("unique_consecutive", x.where);
  x->require_defined();
  const NoGradGuard no_grad;
  return different(x, x->detach().reshape({-1}), {}, return_inverse, return_counts);
}

}  // namespace minnow
