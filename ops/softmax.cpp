#include <minnow/ops/softmax.h>

#include <minnow/autograd/record.h>
#include <minnow/ops/arithmetic.h>
#include <minnow/ops/detail/autocast.h>
#include <minnow/ops/detail/softmax.h>
#include <minnow/ops/reduce.h>
#include <minnow/ops/unary.h>
#include <minnow/tensor/backend/dispatch.h>
#include <minnow/tensor/create.h>
#include <minnow/tensor/error.h>
#include <minnow/tensor/raw/copy.h>
#include <minnow/tensor/raw/create.h>
#include <minnow/tensor/raw/view.h>

namespace minnow::detail::raw {

Tensor softmax(const In& x, int dim, bool log) {
  const CallSite site(log ? "log_softmax" : "softmax", x.where);
  Backend& backend = dispatch({{"x", *x}});
  dim = wrap_dim(x, dim);
  if (!x->is_floating_point())
    throw DTypeError(message("x must be floating-point", {{"x", *x}}, "convert first: .to(float32)"));
  const Tensor dense = contiguous(x);
  const Tensor y = new_result(x->shape(), x->dtype(), x->device());
  if (!y.numel()) return y;
  if (x->dim() == 0) raw::fill_(y, log ? 0.0 : 1.0);
  else backend.run(calls::Softmax{dense, y, dim, log});
  return y;
}

Tensor softmax_backward(const In& grad, const In& y, int dim, bool log) {
  const CallSite site("softmax_backward", grad.where);
  Backend& backend = dispatch({{"grad", *grad}, {"y", *y}});
  const Tensor g = contiguous(grad), dense = contiguous(y);
  const Tensor out = new_result(y->shape(), y->dtype(), y->device());
  if (!out.numel()) return out;
  if (y->dim() == 0) raw::fill_(out, 0);
  else backend.run(calls::SoftmaxBackward{g, dense, out, wrap_dim(y, dim), log});
  return out;
}

}  // namespace minnow::detail::raw

namespace minnow {

Tensor softmax(const In& x, int dim) {
  const CallSite site("softmax", x.where);
  if (const auto cast = autocast(site, *x)) return softmax({cast[0], x.where}, dim);
  Tensor y = raw::softmax(x, dim, false);
  if (!records(*x)) return y;
  Saved output = Saved::output(y);
  return record("softmax", std::move(y), {x}, [y = std::move(output), dim](const Tensor& g) {
    if (!is_grad_enabled()) return raw::softmax_backward(g, y(), dim, false);
    const Tensor p = y();
    return mul(p, sub(g, sum(mul(g, p), {dim}, true)));
  });
}

Tensor log_softmax(const In& x, int dim) {
  const CallSite site("log_softmax", x.where);
  if (const auto cast = autocast(site, *x)) return log_softmax({cast[0], x.where}, dim);
  Tensor y = raw::softmax(x, dim, true);
  if (!records(*x)) return y;
  Saved output = Saved::output(y);
  return record("log_softmax", std::move(y), {x}, [y = std::move(output), dim](const Tensor& g) {
    if (!is_grad_enabled()) return raw::softmax_backward(g, y(), dim, true);
    return sub(g, mul(exp(y()), sum(g, {dim}, true)));
  });
}

}  // namespace minnow
