#include <minnow/ops/reductions/scan.h>

#include <limits>
#include <string>
#include <utility>
#include <minnow/ops/detail/operation.h>
#include <minnow/ops/elementwise/arithmetic.h>
#include <minnow/ops/elementwise/unary.h>
#include <minnow/ops/indexing/index.h>
#include <minnow/tensor/create.h>
#include <minnow/tensor/error.h>
#include <minnow/tensor/raw/copy.h>
#include <minnow/tensor/raw/create.h>
#include <minnow/tensor/raw/view.h>

namespace minnow {
namespace {

/// What x is scanned in: floating-point or int64; for extremes on the host its own.
DType scanned(const In& x, ScanOp op) {
  const bool own = (op == ScanOp::max || op == ScanOp::min) && x->device().is_cpu();
  return own || x->is_floating_point() ? x->dtype() : DType::int64;
}

/// Running results along dim, counted from the front; not recorded.  indices may be undefined.
Tensor scan(ScanOp op, const In& x, const Tensor& factor, const Tensor& indices, int dim, bool reverse = false) {
  Backend& backend = dispatch({{"self", *x}, {"factor", factor, kOptional}});
  const Tensor y = raw::new_result(x->shape(), scanned(x, op), x->device());
  if (x->dim() == 0) {
    if (indices.defined()) raw::fill_(indices, 0);
    return raw::copy_to(x->detach(), y);
  }
  if (y.numel() == 0) return y;
  const View factors = factor.defined() ? static_cast<const View&>(raw::contiguous(factor)) : View();
  backend.run(calls::Scan{op, raw::contiguous(raw::cast(x, y.dtype())), factors, y, indices, dim, reverse});
  return y;
}

Ordered running_extreme(const char* name, ScanOp op, const In& x, int dim) {
  const CallSite site(name, x.where);
  dim = raw::wrap_dim(x, dim);
  const Tensor indices = raw::new_result(x->shape(), DType::int64, x->device());
  Tensor y = raw::cast(scan(op, x, {}, indices, dim), x->dtype());
  if (!records(*x)) return {y, indices};
  y = record(name, std::move(y), {x}, [dim, indices = Saved(indices)](const Tensor& g) {
    return scatter_add(zeros(g.shape(), {g.dtype(), g.device()}), dim, indices(), g);
  });
  return {y, indices};
}

/// t moved by one along dim: element i is t[i + 1] if `ahead`, else t[i - 1]; `fill` where there is none.
Tensor shifted(const Tensor& t, int dim, bool ahead, double fill) {
  if (t.dim() == 0) return full_like(t, fill);
  if (t.numel() == 0) return t;
  const Tensor end = full_like(t.detach().narrow(dim, 0, 1), fill),
               rest = t.narrow(dim, ahead ? 1 : 0, t.size(dim) - 1);
  return ahead ? cat({rest, end}, dim) : cat({end, rest}, dim);
}

/// y[i] = x[i] + factor[i] y[i - 1] along dim, or with y[i + 1] if `reverse`.
Tensor recurrence(const Tensor& x, const Tensor& factor, int dim, bool reverse) {
  Tensor y = scan(ScanOp::recurrence, x, factor, {}, dim, reverse);
  if (!records(x, factor)) return y;
  Saved output = Saved::output(y);
  return record(
      "recurrence", std::move(y), {x, factor},
      [factor = Saved(factor), y = std::move(output), dim, reverse](const Tensor& g, Needs needs) -> Gradients {
        const Tensor dx = recurrence(g, shifted(factor(), dim, !reverse, 0), dim, !reverse);
        return {dx, needs[1] ? mul(dx, shifted(y(), dim, reverse, 0)) : Tensor()};
      });
}

}  // namespace

Tensor cumprod(const In& x_, int dim) {
  const Operation op("cumprod", x_.where, {kKept, kWide}, {{"self", *x_}});
  const Tensor& x = op[0];
  dim = raw::wrap_dim(x, dim);
  Tensor y = scan(ScanOp::prod, x, {}, {}, dim);
  if (!op.records()) return y;
  Saved output = Saved::output(y);
  return op.record(std::move(y), [x = Saved(x), y = std::move(output), dim](const Tensor& g) {
    return mul(shifted(y(), dim, false, 1), recurrence(g, shifted(x(), dim, true, 0), dim, true));
  });
}

Tensor logcumsumexp(const In& x, int dim) {
  const CallSite site("logcumsumexp", x.where);
  dim = raw::wrap_dim(x, dim);
  if (!x->is_floating_point())
    throw DTypeError(message("needs a floating-point tensor", {{"self", *x}}, "convert first: .to(float32)"));
  Tensor y = scan(ScanOp::logsumexp, x, {}, {}, dim);
  if (!records(*x)) return y;
  Saved output = Saved::output(y);
  return record("logcumsumexp", std::move(y), {x}, [x = Saved(*x), y = std::move(output), dim](const Tensor& g) {
    // dx[k] = sum over i >= k of g[i] e^(x[k] - y[i]) = e^(x[k] - y[k]) s[k], with s[k] = g[k] + e^(y[k] - y[k+1])
    // s[k+1]. No exponent is above 0; one of -infinity - -infinity counts as -infinity.
    // An infinite y is a constant: the second derivative has no infinity to multiply by 0.
    const Tensor given = y(), last = where(isinf(given), given.detach(), given);
    const Tensor finite = where(eq(last, -kInfinity), 0.0, last);
    // Behind +infinity, and behind the end, nothing depends on what came before.
    const Tensor decay = exp(where(eq(last, kInfinity), -kInfinity, sub(last, shifted(finite, dim, true, kInfinity))));
    return mul(exp(sub(x(), finite)), recurrence(g, decay, dim, true));
  });
}

Tensor diff(const In& x, std::int64_t n, int dim) {
  const CallSite site("diff", x.where);
  dim = raw::wrap_dim(x, dim);
  if (n < 0 || x->dim() == 0)
    throw ValueError(message(x->dim() == 0 ? "x has no dimension" : "n must be 0 or more, got " + std::to_string(n),
                             {{"self", *x}}, "diff(x) gives x[1:] - x[:-1]"));
  Tensor y = *x;
  for (std::int64_t i = 0; i < n && y.size(dim) > 0; ++i) {
    const Tensor next = y.narrow(dim, 1, y.size(dim) - 1), own = y.narrow(dim, 0, y.size(dim) - 1);
    y = x->dtype() == DType::bool_ ? ne(next, own) : sub(next, own);
  }
  return n == 0 ? x->clone() : y;
}

Ordered cummax(const In& x, int dim) { return running_extreme("cummax", ScanOp::max, x, dim); }
Ordered cummin(const In& x, int dim) { return running_extreme("cummin", ScanOp::min, x, dim); }

}  // namespace minnow
