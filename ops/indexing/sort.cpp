#include <minnow/ops/indexing/sort.h>

#include <cmath>
#include <limits>
#include <string>
#include <utility>
#include <minnow/ops/detail/operation.h>
#include <minnow/ops/elementwise/arithmetic.h>
#include <minnow/ops/elementwise/unary.h>
#include <minnow/ops/indexing/index.h>
#include <minnow/ops/indexing/masked.h>
#include <minnow/ops/reductions/reduce.h>
#include <minnow/ops/reductions/scan.h>
#include <minnow/tensor/create.h>
#include <minnow/tensor/error.h>
#include <minnow/tensor/raw/copy.h>
#include <minnow/tensor/raw/create.h>
#include <minnow/tensor/raw/view.h>

namespace minnow {
namespace {

/// The first k elements along dim, which is counted from the front; `only_last`: the k-th of them.  Not recorded.
Ordered first_of(const In& x, int dim, std::int64_t k, bool descending, bool only_last = false) {
  Backend& backend = dispatch({{"self", *x}});
  if (x->dim() == 0) {
    const Ordered one = first_of(raw::reshape(x, {1}), 0, k, descending);
    const Shape shape = k == 1 ? Shape{} : Shape{0};
    return {raw::reshape(one.values, shape), raw::reshape(one.indices, shape)};
  }
  const int last = x->dim() - 1;
  const Tensor lines = raw::contiguous(dim == last ? *x : raw::transpose(x, dim, last));
  Shape shape = lines.shape();
  const std::int64_t n = shape[last];
  shape[last] = k;
  const Tensor values = raw::new_result(shape, x->dtype(), x->device());
  const Tensor indices = raw::new_result(shape, DType::int64, x->device());
  if (values.numel()) {
    const std::int64_t rows = values.numel() / k;
    const auto matrix = [rows](const Tensor& t, std::int64_t columns) {
      return View(t.storage(), t.dtype(), {rows, columns}, {columns, 1}, t.storage_offset());
    };
    backend.run(calls::Sort{matrix(lines, n), matrix(values, k), matrix(indices, k), descending, only_last});
  }
  if (dim == last) return {values, indices};
  return {raw::transpose(values, dim, last), raw::transpose(indices, dim, last)};
}

/// Records that values are the elements of x at the indices, which have x's number of dimensions.
Tensor recorded(const char* name, Tensor values, const In& x, int dim, const Tensor& indices) {
  if (!records(*x)) return values;
  return record(name, std::move(values), {x}, [dim, indices = Saved(indices), shape = x->shape()](const Tensor& g) {
    const Tensor at = indices();
    return scatter_add(zeros(shape, {g.dtype(), g.device()}), dim, at, g.reshape(at.shape()));
  });
}

/// Elements along dim, of size 1 there; without it unless keepdim.
Ordered single(const char* name, const Ordered& kept, const In& x, int dim, bool keepdim) {
  Ordered out = kept;
  if (!keepdim && x->dim() > 0) out = {kept.values.squeeze(dim), kept.indices.squeeze(dim)};
  return {recorded(name, out.values, x, dim, kept.indices), out.indices};
}

std::int64_t size_along(const In& x, int dim) { return x->dim() == 0 ? 1 : x->shape()[dim]; }

void require_elements(const In& x, int dim) {
  if (size_along(x, dim) == 0)
    throw ShapeError(message("dimension " + std::to_string(dim) + " has no elements", {{"self", *x}},
                             "there is nothing to choose from"));
}

/// The last of the first k elements, with size 1 along dim.
Ordered last_of(const In& x, int dim, std::int64_t k) {
  const Ordered first = first_of(x, dim, k, false, true);
  if (x->dim() == 0) return first;
  return {first.values.narrow(dim, k - 1, 1), first.indices.narrow(dim, k - 1, 1)};
}

}  // namespace

Ordered sort(const In& x, int dim, bool descending) {
  const CallSite site("sort", x.where);
  dim = raw::wrap_dim(x, dim);
  const Ordered found = first_of(x, dim, size_along(x, dim), descending);
  return {recorded("sort", found.values, x, dim, found.indices), found.indices};
}

Tensor argsort(const In& x, int dim, bool descending) {
  const CallSite site("argsort", x.where);
  dim = raw::wrap_dim(x, dim);
  return first_of(x, dim, size_along(x, dim), descending).indices;
}

Ordered topk(const In& x, std::int64_t k, int dim, bool largest) {
  const CallSite site("topk", x.where);
  dim = raw::wrap_dim(x, dim);
  if (k < 0 || k > size_along(x, dim))
    throw ValueError(message("k must be in [0, " + std::to_string(size_along(x, dim)) + "], got " + std::to_string(k),
                             {{"self", *x}}, "it is the number of elements to take along the dimension"));
  const Ordered first = first_of(x, dim, k, largest);
  return {recorded("topk", first.values, x, dim, first.indices), first.indices};
}

Ordered kthvalue(const In& x, std::int64_t k, int dim, bool keepdim) {
  const CallSite site("kthvalue", x.where);
  dim = raw::wrap_dim(x, dim);
  require_elements(x, dim);
  if (k < 1 || k > size_along(x, dim))
    throw ValueError(message("k must be in [1, " + std::to_string(size_along(x, dim)) + "], got " + std::to_string(k),
                             {{"self", *x}}, "1 is the smallest element"));
  return single("kthvalue", last_of(x, dim, k), x, dim, keepdim);
}

Ordered median(const In& x, int dim, bool keepdim) {
  const CallSite site("median", x.where);
  dim = raw::wrap_dim(x, dim);
  require_elements(x, dim);
  Ordered found = last_of(x, dim, (size_along(x, dim) + 1) / 2);
  if (x->is_floating_point()) {
    const MinMax largest = max(x->detach(), dim, true);  // NaN if there is one
    const Tensor none = isnan(largest.values);
    found = {where(none, largest.values, found.values), where(none, largest.indices, found.indices)};
  }
  return single("median", found, x, dim, keepdim);
}

Ordered nanmedian(const In& x, int dim, bool keepdim) {
  const CallSite site("nanmedian", x.where);
  dim = raw::wrap_dim(x, dim);
  require_elements(x, dim);
  if (!x->is_floating_point() || x->dim() == 0) return median(x, dim, keepdim);
  const Ordered sorted = first_of(x, dim, size_along(x, dim), false);  // NaN comes last
  const Tensor numbers = sum(logical_not(isnan(sorted.values)), dim, true);
  const Tensor middle = floor_divide(sub(clamp_min(numbers, 1), 1), 2);
  return single("nanmedian", {gather(sorted.values, dim, middle), gather(sorted.indices, dim, middle)}, x, dim,
                keepdim);
}

namespace {

/// Of all elements, whose equal ones share the gradient.
Tensor median_of_all(const char* name, const In& x, bool skip_nan) {
  x->require_defined();
  const Tensor elements = x->detach().reshape({-1});
  if (elements.numel() == 0 && x->is_floating_point())
    return full({}, std::numeric_limits<double>::quiet_NaN(), {x->dtype(), x->device()});
  Tensor y;
  if (skip_nan && x->is_floating_point())
    if (const Tensor numbers = masked_select(elements, logical_not(isnan(elements))); numbers.numel())
      y = last_of(numbers, 0, (numbers.numel() + 1) / 2).values.squeeze(0);
  if (!y.defined()) y = median(elements, 0, false).values;
  return record(name, y, {x}, [x = Saved(*x), y = y.detach()](const Tensor& g) {
    const Tensor value = x();
    Tensor share;
    {
      const NoGradGuard constant;
      const Tensor is_median = logical_or(eq(value, y), logical_and(isnan(value), isnan(y))).to(g.dtype());
      share = div(is_median, sum(is_median));
    }
    return mul(g, share);
  });
}

}  // namespace

Tensor median(const In& x) {
  const CallSite site("median", x.where);
  return median_of_all("median", x, false);
}

Tensor nanmedian(const In& x) {
  const CallSite site("nanmedian", x.where);
  return median_of_all("nanmedian", x, true);
}

Tensor quantile(const In& x_, double q, std::optional<int> dim, bool keepdim) {
  const Operation op("quantile", x_.where, {kWide, kKept}, {{"self", *x_}});
  const Tensor& x = op[0];
  if (x.dtype() != DType::float32 && x.dtype() != DType::float64)
    throw DTypeError(message("needs float32 or float64", op, "convert it: .to(float32)"));
  if (!(q >= 0 && q <= 1))
    throw ValueError(message("q must be in [0, 1], got " + std::to_string(q), op, "0.5 is the median"));
  const bool whole = !dim || x.dim() == 0;
  const Tensor values = whole ? x.reshape({-1}) : x;
  const int along = whole ? 0 : raw::wrap_dim(x, *dim);
  require_elements(values, along);
  const Tensor sorted = sort(values, along).values;
  const double place = q * static_cast<double>(values.size(along) - 1), below = std::floor(place);
  const auto at = static_cast<std::int64_t>(below);
  Tensor y = sorted.narrow(along, at, 1);
  if (place > below) y = lerp(y, sorted.narrow(along, at + 1, 1), place - below);
  const Tensor last = sorted.narrow(along, values.size(along) - 1, 1);
  y = where(isnan(last), last, y);
  if (whole) return y.reshape(keepdim ? Shape::filled(x.dim(), 1) : Shape{});
  return keepdim ? y : y.squeeze(along);
}

Ordered mode(const In& x, int dim, bool keepdim) {
  const CallSite site("mode", x.where);
  dim = raw::wrap_dim(x, dim);
  require_elements(x, dim);
  const std::int64_t n = size_along(x, dim);
  const Ordered sorted = first_of(x, dim, n, false);
  if (x->dim() == 0) return single("mode", sorted, x, dim, keepdim);
  const Tensor later = sorted.values.narrow(dim, 1, n - 1), earlier = sorted.values.narrow(dim, 0, n - 1);
  Shape along = Shape::filled(x->dim(), 1), one = x->shape();
  along[dim] = n, one[dim] = 1;
  const Tensor place = arange(n, {DType::int64, x->device()}).reshape(along);
  const Tensor begins = cat({ones(one, {DType::bool_, x->device()}), ne(later, earlier)}, dim);
  // How many elements equal to this one come before it, in order.
  const Tensor length = place - cummax(where(begins, place, 0), dim).values;
  const Tensor longest = argmax(length, dim, true);
  return single("mode", {gather(sorted.values, dim, longest), gather(sorted.indices, dim, longest)}, x, dim, keepdim);
}

}  // namespace minnow
