#include <minnow/ops/reductions/reduce.h>

#include <cmath>
#include <minnow/ops/detail/operation.h>
#include <minnow/ops/elementwise/arithmetic.h>
#include <minnow/ops/elementwise/unary.h>
#include <minnow/ops/indexing/index.h>
#include <minnow/ops/reductions/statistics.h>
#include <minnow/tensor/backend/tell.h>
#include <minnow/tensor/create.h>
#include <minnow/tensor/error.h>
#include <minnow/tensor/raw/copy.h>
#include <minnow/tensor/raw/create.h>
#include <minnow/tensor/raw/reduce.h>
#include <minnow/tensor/raw/view.h>

namespace minnow {
namespace {

/// Aligns a result with the input: reshaped to the keepdim shape, then repeated.
struct Geometry {
  Shape input, kept;

  Geometry(const In& x, const Shape& dims) : input(x->shape()), kept(raw::reduced_shape(x, dims, true)) {}
  Tensor aligned(const Tensor& t) const { return t.reshape(kept); }
  Tensor repeated(const Tensor& t) const { return t.reshape(kept).expand(input); }
};

void tell_of(const char* name, const Tensor& y, const Tensor& x, const Shape& dims, bool keepdim, double p = 0) {
  tell(name, {y}, {{"x", x}}, {{"dims", list_of(dims)}, {"keepdim", keepdim}, {"p", p}});
}

template <class F> Tensor compute(const BoundOperands<1>& op, const Shape& dims, bool keepdim, double p = 0) {
  Tensor y = raw::reduce(op.backend(), raw::kReduce<F>, op[0], dims, keepdim, p);
  if (is_heard()) [[unlikely]]
    tell_of(F::kName.data(), y, op[0], dims, keepdim, p);
  return y;
}

/// Whether each result is of one element.
bool is_single(const In& x, const Shape& dims) {
  return x->numel() != 0 && raw::reduced_shape(x, dims, true) == x->shape();
}
template <class F> Tensor any_or_all(const BoundOperands<1>& op, const Shape& dims, bool keepdim) {
  if (!is_single(op[0], dims)) return compute<F>(op, dims, keepdim);
  return ne(op[0].detach(), 0).reshape(raw::reduced_shape(op[0], dims, keepdim));
}

/// The gradient is shared by the elements that equal the result, or, if it is NaN, by those that are NaN.
template <class F> Tensor max_or_min_all(const BoundOperands<1>& op, const Shape& dims, bool keepdim) {
  Tensor y = compute<F>(op, dims, keepdim);
  if (!op.records()) return y;
  const Tensor& x = op[0];
  Saved output = Saved::output(y);
  return op.record(std::move(y),
                   [x = Saved(x), y = std::move(output), geometry = Geometry(x, dims), dims](const Tensor& g) {
                     Tensor share;
                     {
                       const NoGradGuard constant;
                       const Tensor v = x();  // if an element is NaN, so is the result
                       const Tensor is_result = logical_or(eq(v, geometry.aligned(y())), isnan(v)).to(g.dtype());
                       share = div(is_result, sum(is_result, dims, true));
                     }
                     return mul(geometry.aligned(g), share);
                   });
}

MinMax max_or_min_along(bool largest, const In& x, int dim, bool keepdim) {
  const CallSite site(largest ? "max" : "min", x.where);
  auto [values, indices] = raw::arg_reduce(largest, x, dim, keepdim);
  if (is_heard()) [[unlikely]] {
    tell_of(largest ? "max" : "min", values, *x, {dim}, keepdim);
    tell_of(largest ? "argmax" : "argmin", indices, *x, {dim}, keepdim);
  }
  if (!records(*x)) return {values, indices};
  Tensor positions = keepdim || x->dim() == 0 ? indices : indices.unsqueeze(dim < 0 ? dim + x->dim() : dim);
  values = record(largest ? "max" : "min", values, {x}, [positions, dim, shape = x->shape()](const Tensor& g) {
    return scatter_add(zeros(shape, {g.dtype(), g.device()}), dim, positions, g.reshape(positions.shape()));
  });
  return {values, indices};
}

/// x |x|^(p-2) g / y^(p-1), 0 where y is 0 and, below p = 2, where x is.  What is left out there is finite if the
/// gradient is recorded: a second derivative multiplies it by 0.
Tensor norm_gradient(const Tensor& g, const Tensor& x, const Tensor& y, double p) {
  if (p == 1) return mul(g, sign(x));
  const Tensor none = eq(y, 0), length = is_grad_enabled() ? where(none, 1.0, y) : y;
  if (p == 2) return where(none, 0.0, mul(x, div(g, length)));
  const Tensor left_out = p < 2 ? logical_or(none, eq(x, 0)) : none;
  const Tensor size = p < 2 ? where(left_out, 1.0, abs(x)) : abs(x);
  return where(left_out, 0.0, mul(mul(sign(x), pow(size, p - 1)), div(g, pow(length, p - 1))));
}

/// For each element of x [rows, n] the product of those before it in its row, or of those after it.
Tensor product_of_side(const Tensor& x, bool before) {
  const std::int64_t n = x.size(1);
  const auto shifted = [&](const Tensor& t, std::int64_t by) {
    const Tensor one = ones({x.size(0), by}, {x.dtype(), x.device()}), rest = t.narrow(1, before ? 0 : by, n - by);
    return before ? cat({one, rest}, 1) : cat({rest, one}, 1);
  };
  Tensor product = shifted(x, 1);
  for (std::int64_t by = 1; by < n; by *= 2) product = mul(product, shifted(product, by));
  return product;
}

/// For each element the product of the others along the reduced dimensions (size 1 in `kept`).  Without a quotient,
/// which would have no derivative where an element is 0.
Tensor product_of_others(const Tensor& x, const Shape& kept) {
  if (x.numel() == 0) return x;
  Shape order, back = x.shape();
  for (const bool reduced : {false, true})
    for (int d = 0; d < x.dim(); ++d)
      if ((kept[d] != x.shape()[d]) == reduced) order.push_back(d);
  for (int i = 0; i < order.rank(); ++i) back[static_cast<int>(order[i])] = i;
  const Tensor sorted = x.permute(order);
  const Tensor rows = sorted.reshape({kept.numel(), x.numel() / kept.numel()});
  return mul(product_of_side(rows, true), product_of_side(rows, false)).reshape(sorted.shape()).permute(back);
}

/// g / n; a count that float16 cannot hold is divided by in two steps.
Tensor divided_by_count(const Tensor& g, double n) {
  constexpr double kLargest = 65504, kStep = 1024;
  return g.dtype() == DType::float16 && n > kLargest ? div(div(g, kStep), n / kStep) : div(g, n);
}

}  // namespace

Tensor sum(const In& x_, const Dims& dims, bool keepdim) {
  const Operation op("sum", x_.where, {kKept, kWide}, {{"self", *x_}});
  const Tensor& x = op[0];
  Tensor y = compute<kernels::Sum>(op, dims, keepdim);
  if (!op.records()) return y;
  return op.record(std::move(y), [geometry = Geometry(x, dims)](const Tensor& g) { return geometry.repeated(g); });
}

Tensor nansum(const In& x, const Dims& dims, bool keepdim) {
  const Operation op("nansum", x.where, {{"self", *x}});
  if (!x->is_floating_point()) return sum(x, dims, keepdim);
  Tensor y = compute<kernels::NanSum>(op, dims, keepdim);
  if (!op.records()) return y;
  return op.record(std::move(y), [geometry = Geometry(x, dims), x = Saved(*x)](const Tensor& g) {
    return where(isnan(x()), 0.0, geometry.repeated(g));
  });
}

Tensor mean(const In& x, const Dims& dims, bool keepdim) {
  const Operation op("mean", x.where, {{"self", *x}});
  Tensor y = compute<kernels::Mean>(op, dims, keepdim);
  if (!op.records()) return y;
  const auto n = static_cast<double>(raw::reduced_count(x, dims));
  return op.record(std::move(y), [geometry = Geometry(x, dims), n](const Tensor& g) {
    return geometry.repeated(divided_by_count(g, n));
  });
}

Tensor var(const In& x, const Dims& dims, double correction, bool keepdim) {
  const CallSite site("var", x.where);
  x->require_defined("var", x.where);
  if (is_half(x->dtype())) return var(x->to(DType::float32), dims, correction, keepdim).to(x->dtype());  // rounds once
  const auto n = static_cast<double>(raw::reduced_count(x, dims));
  const Tensor off = *x - mean(x, dims, true), squares = records(off) ? square(off) : square_(off);
  Tensor y = sum(squares, dims, keepdim) / std::max(n - correction, 0.0);
  if (is_heard()) [[unlikely]]
    tell("var", {y}, {{"x", *x}}, {{"dims", list_of(dims)}, {"keepdim", keepdim}, {"correction", correction}});
  return y;
}

Tensor stddev(const In& x, const Dims& dims, double correction, bool keepdim) {
  const CallSite site("stddev", x.where);
  x->require_defined("stddev", x.where);
  if (is_half(x->dtype())) return stddev(x->to(DType::float32), dims, correction, keepdim).to(x->dtype());
  const Tensor variance = var(x, dims, correction, keepdim);
  if (!records(variance)) return sqrt(variance);
  // Where all elements are equal the gradient is 0, as in PyTorch, not 0 times the root's infinite slope.
  const Tensor zero = eq(variance, 0);
  return where(zero, 0.0, sqrt(where(zero, 1.0, variance)));
}

Tensor prod(const In& x_, const Dims& dims, bool keepdim) {
  const Operation op("prod", x_.where, kWide, {{"self", *x_}});
  const Tensor& x = op[0];
  Tensor y = compute<kernels::Prod>(op, dims, keepdim);
  if (!op.records()) return y;
  return op.record(std::move(y), [x = Saved(x), geometry = Geometry(x, dims), dims](const Tensor& g) {
    const Tensor v = x();
    if (is_grad_enabled()) return mul(geometry.aligned(g), product_of_others(v, geometry.kept));
    // The product of the others, by division; a factor 0 is left out instead.
    const Tensor zero = eq(v, 0), count = sum(zero, dims, true);
    const Tensor factors = where(zero, 1.0, v), rest = prod(factors, dims, true);
    const Tensor others = where(zero, where(eq(count, 1), rest, 0.0), where(eq(count, 0), div(rest, factors), 0.0));
    return mul(geometry.aligned(g), others);
  });
}

Tensor amax(const In& x, const Dims& dims, bool keepdim) {
  return max_or_min_all<kernels::Max>(Operation("amax", x.where, {{"self", *x}}), dims, keepdim);
}
Tensor amin(const In& x, const Dims& dims, bool keepdim) {
  return max_or_min_all<kernels::Min>(Operation("amin", x.where, {{"self", *x}}), dims, keepdim);
}
Tensor any(const In& x, const Dims& dims, bool keepdim) {
  return any_or_all<kernels::Any>(Operation("any", x.where, {{"self", *x}}), dims, keepdim);
}
Tensor All::operator()(const In& x, const Dims& dims, bool keepdim) const {
  return any_or_all<kernels::All>(Operation("all", x.where, {{"self", *x}}), dims, keepdim);
}

Tensor norm(const In& x_, double p, const Dims& dims, bool keepdim) {
  const Operation op("norm", x_.where, {kKept, kWide}, {{"self", *x_}});
  const Tensor& x = op[0];
  if (!x.is_floating_point())
    throw DTypeError(message("needs a floating-point tensor", op, "convert first: .to(float32)"));
  if (p == 0)
    return op.record(compute<kernels::Norm0>(op, dims, keepdim),
                     [x = Saved(x)](const Tensor&) { return zeros_like(x()); });
  if (p == kInfinity) return amax(abs(x), dims, keepdim);
  if (p == -kInfinity) return amin(abs(x), dims, keepdim);
  Tensor y = is_single(x, dims) ? abs(x.detach()).reshape(raw::reduced_shape(x, dims, keepdim))
             : p == 1           ? compute<kernels::Norm1>(op, dims, keepdim)
             : p == 2           ? compute<kernels::Norm2>(op, dims, keepdim)
                                : compute<kernels::NormP>(op, dims, keepdim, p);
  if (is_heard()) [[unlikely]]
    tell_of("norm", y, x, dims, keepdim, p);
  if (!op.records()) return y;
  Saved output = Saved::output(y);
  return op.record(std::move(y),
                   [x = Saved(x), y = std::move(output), geometry = Geometry(x, dims), p](const Tensor& g) {
                     return norm_gradient(geometry.aligned(g), x(), geometry.aligned(y()), p);
                   });
}

Tensor logsumexp(const In& x_, const Dims& dims, bool keepdim) {
  const Operation op("logsumexp", x_.where, {kKept, kWide}, {{"self", *x_}});
  const Tensor& x = op[0];
  Tensor y;
  if (raw::reduced_count(x, dims) == 0) {  // log 0
    const DType dtype = x.is_floating_point() ? x.dtype() : DType::float32;
    y = full(raw::reduced_shape(x, dims, keepdim), -kInfinity, {dtype, x.device()});
  } else {
    const NoGradGuard no_grad;
    const Tensor largest = amax(x, dims, true), finite = where(isfinite(largest), largest, 0.0);
    y = add(log(sum(exp(sub(x, finite)), dims, true)), finite);
    y = y.reshape(raw::reduced_shape(x, dims, keepdim));
    if (is_heard()) [[unlikely]]
      tell_of("logsumexp", y, x, dims, keepdim);
  }
  if (!op.records()) return y;
  Saved output = Saved::output(y);
  return op.record(std::move(y), [x = Saved(x), y = std::move(output), geometry = Geometry(x, dims)](const Tensor& g) {
    return mul(geometry.aligned(g), exp(sub(x(), geometry.aligned(y()))));
  });
}

MinMax max(const In& x, int dim, bool keepdim) { return max_or_min_along(true, x, dim, keepdim); }
MinMax min(const In& x, int dim, bool keepdim) { return max_or_min_along(false, x, dim, keepdim); }

Tensor max(const In& x) {
  const CallSite site("max", x.where);
  return amax(x);
}

Tensor min(const In& x) {
  const CallSite site("min", x.where);
  return amin(x);
}

Tensor max(const In& a, const In& b) {
  const CallSite site("max", a.where);
  return maximum(a, b);
}

Tensor min(const In& a, const In& b) {
  const CallSite site("min", a.where);
  return minimum(a, b);
}

Tensor argmax(const In& x, int dim, bool keepdim) {
  const CallSite site("argmax", x.where);
  const Tensor y = raw::arg_reduce(true, x, dim, keepdim).indices;
  if (is_heard()) [[unlikely]]
    tell_of("argmax", y, *x, {dim}, keepdim);
  return y;
}

Tensor argmin(const In& x, int dim, bool keepdim) {
  const CallSite site("argmin", x.where);
  const Tensor y = raw::arg_reduce(false, x, dim, keepdim).indices;
  if (is_heard()) [[unlikely]]
    tell_of("argmin", y, *x, {dim}, keepdim);
  return y;
}

Tensor argmax(const In& x) {
  const CallSite site("argmax", x.where);
  return argmax(x->detach().flatten(), 0);
}

Tensor argmin(const In& x) {
  const CallSite site("argmin", x.where);
  return argmin(x->detach().flatten(), 0);
}

namespace {

/// Running sums from the beginning of dim, or from its end.
Tensor running_sum(const BoundOperands<1>& op, int dim, bool reverse) {
  const Tensor& x = op[0];
  dim = raw::wrap_dim(x, dim);
  const DType dtype = x.is_floating_point() ? x.dtype() : DType::int64;
  Tensor y = op.result(x.shape(), dtype);
  if (x.dim() == 0) raw::copy_to(x, y);
  else if (y.numel()) op.run(calls::Scan{ScanOp::sum, raw::contiguous(raw::cast(x, dtype)), {}, y, {}, dim, reverse});
  if (is_heard()) [[unlikely]]
    tell("cumsum", {y}, op, {{"dim", dim}, {"reverse", reverse}});
  return op.record(std::move(y), [dim, reverse](const Tensor& g) {
    return running_sum(Operation("cumsum", {}, {{"self", g}}), dim, !reverse);
  });
}

}  // namespace

Tensor cumsum(const In& x, int dim) {
  return running_sum(Operation("cumsum", x.where, {kKept, kWide}, {{"self", *x}}), dim, false);
}

Tensor sum_to(const In& x, const Shape& shape) {
  const CallSite site("sum_to", x.where);
  x->require_defined("sum_to", x.where);
  if (x->shape() == shape) return *x;
  Shape dims;
  const int lead = x->dim() - shape.rank();
  bool valid = lead >= 0;
  for (int d = 0; valid && d < x->dim(); ++d) {
    const std::int64_t size = d < lead ? 1 : shape[d - lead];
    if (d < lead || (size == 1 && x->shape()[d] != 1)) dims.push_back(d);
    else valid = size == x->shape()[d];
  }
  if (!valid)
    throw ShapeError(message(shape.str() + " does not broadcast to " + x->shape().str(), {{"x", *x}},
                             "a gradient must have its input's shape, or that of the broadcast output"));
  return sum(x, dims, true).reshape(shape);
}

}  // namespace minnow
