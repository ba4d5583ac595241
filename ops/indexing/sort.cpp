#include <minnow/ops/indexing/sort.h>

#include <cmath>
#include <limits>
#include <string>
#include <utility>
#include <minnow/ops/detail/operation.h>
#include <minnow/ops/elementwise/arithmetic.h>
#include <minnow/ops/elementwise/unary.h>
#include <minnow/ops/indexing/index.h>
#include <minnow/ops/reductions/reduce.h>
#include <minnow/tensor/backend/tell.h>
#include <minnow/tensor/create.h>
#include <minnow/tensor/error.h>
#include <minnow/tensor/raw/copy.h>
#include <minnow/tensor/raw/create.h>
#include <minnow/tensor/raw/view.h>

namespace minnow {
namespace {

/// The first k elements along dim, which is counted from the front, or one of them, whose size there is 1.  Not
/// recorded.
Ordered first_of(const In& x, int dim, std::int64_t k, bool descending, SortPick pick = SortPick::first) {
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
  const std::int64_t taken = shape[last] = pick == SortPick::first ? k : 1;
  const Tensor values = raw::new_result(shape, x->dtype(), x->device());
  const Tensor indices = raw::new_result(shape, DType::int64, x->device());
  if (values.numel()) {
    const std::int64_t rows = values.numel() / taken;
    const auto matrix = [rows](const Tensor& t, std::int64_t columns) {
      return View(t.storage(), t.dtype(), {rows, columns}, {columns, 1}, t.storage_offset());
    };
    backend.run(calls::Sort{matrix(lines, n), matrix(values, taken), matrix(indices, taken), k, descending, pick});
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

/// The element that `pick` takes, of a dim with elements.
Ordered one_of(const char* name, const In& x, int dim, bool keepdim, SortPick pick) {
  dim = raw::wrap_dim(x, dim);
  require_elements(x, dim);
  return single(name, first_of(x, dim, size_along(x, dim), false, pick), x, dim, keepdim);
}

}  // namespace

Ordered sort(const In& x, int dim, bool descending) {
  const CallSite site("sort", x.where);
  dim = raw::wrap_dim(x, dim);
  const Ordered found = first_of(x, dim, size_along(x, dim), descending);
  if (is_heard()) [[unlikely]]
    tell("sort", {found.values, found.indices}, {{"x", *x}}, {{"dim", dim}, {"descending", descending}});
  return {recorded("sort", found.values, x, dim, found.indices), found.indices};
}

Tensor argsort(const In& x, int dim, bool descending) {
  const CallSite site("argsort", x.where);
  dim = raw::wrap_dim(x, dim);
  const Ordered found = first_of(x, dim, size_along(x, dim), descending);
  if (is_heard()) [[unlikely]]
    tell("sort", {found.values, found.indices}, {{"x", *x}}, {{"dim", dim}, {"descending", descending}});
  return found.indices;
}

Ordered topk(const In& x, std::int64_t k, int dim, bool largest) {
  const CallSite site("topk", x.where);
  dim = raw::wrap_dim(x, dim);
  if (k < 0 || k > size_along(x, dim))
    throw ValueError(message("k must be in [0, " + std::to_string(size_along(x, dim)) + "], got " + std::to_string(k),
                             {{"self", *x}}, "it is the number of elements to take along the dimension"));
  const Ordered first = first_of(x, dim, k, largest);
  if (is_heard()) [[unlikely]]
    tell("topk", {first.values, first.indices}, {{"x", *x}}, {{"k", k}, {"dim", dim}, {"largest", largest}});
  return {recorded("topk", first.values, x, dim, first.indices), first.indices};
}

Ordered kthvalue(const In& x, std::int64_t k, int dim, bool keepdim) {
  const CallSite site("kthvalue", x.where);
  dim = raw::wrap_dim(x, dim);
  require_elements(x, dim);
  if (k < 1 || k > size_along(x, dim))
    throw ValueError(message("k must be in [1, " + std::to_string(size_along(x, dim)) + "], got " + std::to_string(k),
                             {{"self", *x}}, "1 is the smallest element"));
  return single("kthvalue", first_of(x, dim, k, false, SortPick::kth), x, dim, keepdim);
}

Ordered median(const In& x, int dim, bool keepdim) {
  const CallSite site("median", x.where);
  return one_of("median", x, dim, keepdim, SortPick::median);
}

Ordered nanmedian(const In& x, int dim, bool keepdim) {
  const CallSite site("nanmedian", x.where);
  return one_of("nanmedian", x, dim, keepdim, SortPick::nanmedian);
}

namespace {

/// Of all elements, whose equal ones share the gradient.
Tensor median_of_all(const char* name, const In& x, SortPick pick) {
  x->require_defined();
  const Tensor elements = x->detach().reshape({-1});
  if (elements.numel() == 0 && x->is_floating_point())
    return full({}, std::numeric_limits<double>::quiet_NaN(), {x->dtype(), x->device()});
  const Tensor y = one_of(name, elements, 0, false, pick).values;
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
  return median_of_all("median", x, SortPick::median);
}

Tensor nanmedian(const In& x) {
  const CallSite site("nanmedian", x.where);
  return median_of_all("nanmedian", x, SortPick::nanmedian);
}

namespace {

/// What quantiles are taken of: x, or all its elements, in order along a dimension, and the last of each line.
struct OrderedLines {
  bool whole;
  int along;
  Tensor sorted, last;

  OrderedLines(const Tensor& x, std::optional<int> dim, Operands op)
      : whole(!dim || x.dim() == 0), along(whole ? 0 : raw::wrap_dim(x, *dim)) {
    if (x.dtype() != DType::float32 && x.dtype() != DType::float64)
      throw DTypeError(message("needs float32 or float64", op, "convert it: .to(float32)"));
    const Tensor values = whole ? x.reshape({-1}) : x;
    require_elements(values, along);
    sorted = sort(values, along).values;
    last = sorted.narrow(along, size() - 1, 1);
  }
  std::int64_t size() const { return sorted.size(along); }
};

}  // namespace

Tensor quantile(const In& x_, double q, std::optional<int> dim, bool keepdim, Quantile interpolation) {
  const Operation op("quantile", x_.where, {kWide, kKept}, {{"self", *x_}});
  const Tensor& x = op[0];
  if (!(q >= 0 && q <= 1))
    throw ValueError(message("q must be in [0, 1], got " + std::to_string(q), op, "0.5 is the median"));
  const OrderedLines lines(x, dim, op);
  double place = q * static_cast<double>(lines.size() - 1);
  if (interpolation == Quantile::higher) place = std::ceil(place);
  if (interpolation == Quantile::nearest) place = std::nearbyint(place);
  const double below = std::floor(place);
  const auto at = static_cast<std::int64_t>(below);
  Tensor y = lines.sorted.narrow(lines.along, at, 1);
  if (place > below && interpolation != Quantile::lower)
    y = lerp(y, lines.sorted.narrow(lines.along, at + 1, 1), interpolation == Quantile::midpoint ? 0.5 : place - below);
  y = where(isnan(lines.last), lines.last, y);
  if (lines.whole) return y.reshape(keepdim ? Shape::filled(x.dim(), 1) : Shape{});
  return keepdim ? y : y.squeeze(lines.along);
}

Tensor quantile(const In& x_, const In& q_, std::optional<int> dim, bool keepdim, Quantile interpolation) {
  const Operation op("quantile", x_.where, {kWide, kKept}, {{"self", *x_}, {"q", *q_}});
  const Tensor &x = op[0], &q = op[1];
  if (q.dtype() != x.dtype()) throw DTypeError(message("the dtypes differ", op, "convert q: .to(x.dtype())"));
  if (q.dim() > 1) throw ShapeError(message("q must have at most one dimension", op, "flatten it: .flatten()"));
  const OrderedLines lines(x, dim, op);
  if (q.device().is_cpu() && !all(logical_and(ge(q, 0), le(q, 1))).item<bool>())
    throw ValueError(message("q must be in [0, 1]", op, "0.5 is the median"));
  // In float64: float32 cannot hold each place beyond 2^24, and rounds that of 0.29f in 101 elements up to 29.
  Tensor place = mul(q.reshape({-1}).to(DType::float64), lines.size() - 1);
  if (interpolation == Quantile::lower) place = floor(place);
  if (interpolation == Quantile::higher) place = ceil(place);
  if (interpolation == Quantile::nearest) place = round(place);
  const Tensor below = floor(place.detach());
  const auto at = [&](const Tensor& i) { return index_select(lines.sorted, lines.along, i.to(DType::int64)); };
  Tensor y = at(below);
  if (interpolation == Quantile::linear || interpolation == Quantile::midpoint) {
    Shape along = Shape::filled(lines.sorted.dim(), 1);
    along[lines.along] = place.numel();
    Tensor weight = sub(place, below).to(x.dtype()).reshape(along);
    const Tensor exact = eq(weight.detach(), 0);  // lerp(inf, inf, 0) is NaN
    if (interpolation == Quantile::midpoint) weight = mul(logical_not(exact).to(x.dtype()), 0.5);
    y = where(exact, y, lerp(y, at(ceil(place.detach())), weight));
  }
  y = where(isnan(lines.last), lines.last, y);
  y = y.unsqueeze(0).transpose(0, lines.along + 1);  // [n, ..., 1, ...]
  if (lines.whole && keepdim)
    for (int d = 1; d < x.dim(); ++d) y = y.unsqueeze(-1);
  if (!keepdim || x.dim() == 0) y = y.squeeze(lines.along + 1);
  return q.dim() == 0 ? y.squeeze(0) : y;
}

Ordered mode(const In& x, int dim, bool keepdim) {
  const CallSite site("mode", x.where);
  return one_of("mode", x, dim, keepdim, SortPick::mode);
}

}  // namespace minnow
