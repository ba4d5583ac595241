#include <minnow/ops/norms/softmax.h>

#include <minnow/ops/detail/operation.h>
#include <minnow/ops/detail/softmax.h>
#include <minnow/ops/elementwise/arithmetic.h>
#include <minnow/ops/elementwise/unary.h>
#include <minnow/ops/reductions/reduce.h>
#include <minnow/tensor/backend/tell.h>
#include <minnow/tensor/create.h>
#include <minnow/tensor/error.h>
#include <minnow/tensor/raw/copy.h>
#include <minnow/tensor/raw/create.h>
#include <minnow/tensor/raw/view.h>

namespace minnow {
namespace {

Tensor softmax_of(const BoundOperands<1>& op, int dim, bool log, std::optional<DType> out = {}) {
  const Tensor& x = op[0];
  dim = raw::wrap_dim(x, dim);
  if (!x.is_floating_point()) throw DTypeError(message("x must be floating-point", op, "convert first: .to(float32)"));
  const Tensor dense = raw::contiguous(x);
  const Tensor y = op.result(x.shape(), out.value_or(x.dtype()));
  if (!y.numel()) return y;
  if (x.dim() == 0) op.run(calls::Softmax{raw::unsqueeze(dense, 0), raw::unsqueeze(y, 0), 0, log});
  else op.run(calls::Softmax{dense, y, dim, log});
  return y;
}

}  // namespace

namespace detail::raw {

Tensor softmax(const In& x, int dim, bool log, std::optional<DType> out) {
  return softmax_of(Operation(log ? "log_softmax" : "softmax", x.where, {{"x", *x}}), dim, log, out);
}

Tensor softmax_backward(const In& grad, const In& y, int dim, bool log) {
  const Operation op("softmax_backward", grad.where, {{"grad", *grad}, {"y", *y}});
  const Tensor g = contiguous(grad), dense = contiguous(y);
  const Tensor out = op.result(y->shape(), y->dtype());
  if (!out.numel()) return out;
  if (y->dim() == 0) op.run(calls::SoftmaxBackward{unsqueeze(g, 0), unsqueeze(dense, 0), unsqueeze(out, 0), 0, log});
  else op.run(calls::SoftmaxBackward{g, dense, out, wrap_dim(y, dim), log});
  return out;
}

}  // namespace detail::raw

Tensor softmax(const In& x, int dim) {
  const Operation op("softmax", x.where, {kKept, kWide}, {{"x", *x}});
  Tensor y = softmax_of(op, dim, false);
  if (is_heard()) [[unlikely]]
    tell("softmax", {y}, op, {{"dim", raw::wrap_dim(op[0], dim)}});
  if (!op.records()) return y;
  Saved output = Saved::output(y);
  return op.record(std::move(y), [y = std::move(output), dim](const Tensor& g) {
    if (!is_grad_enabled()) return raw::softmax_backward(g, y(), dim, false);
    const Tensor p = y();
    return mul(p, sub(g, sum(mul(g, p), {dim}, true)));
  });
}

Tensor log_softmax(const In& x, int dim) {
  const Operation op("log_softmax", x.where, {kKept, kWide}, {{"x", *x}});
  Tensor y = softmax_of(op, dim, true);
  if (is_heard()) [[unlikely]]
    tell("log_softmax", {y}, op, {{"dim", raw::wrap_dim(op[0], dim)}});
  if (!op.records()) return y;
  Saved output = Saved::output(y);
  return op.record(std::move(y), [y = std::move(output), dim](const Tensor& g) {
    if (!is_grad_enabled()) return raw::softmax_backward(g, y(), dim, true);
    return sub(g, mul(exp(y()), sum(g, {dim}, true)));
  });
}

}  // namespace minnow
