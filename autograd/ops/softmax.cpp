#include <minnow/autograd/ops/softmax.h>

#include <fmt/format.h>
#include <minnow/autograd/ops/arithmetic.h>
#include <minnow/autograd/ops/index.h>
#include <minnow/autograd/ops/reduce.h>
#include <minnow/autograd/ops/unary.h>
#include <minnow/autograd/record.h>
#include <minnow/tensor/backend/dispatch.h>
#include <minnow/tensor/error.h>
#include <minnow/tensor/ops/create.h>
#include <minnow/tensor/ops/elementwise.h>
#include <minnow/tensor/ops/softmax.h>

namespace minnow {

Tensor softmax(const In& x, int dim) {
  const CallSite site("softmax", x.where);
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
  Tensor y = raw::softmax(x, dim, true);
  if (!records(*x)) return y;
  Saved output = Saved::output(y);
  return record("log_softmax", std::move(y), {x}, [y = std::move(output), dim](const Tensor& g) {
    if (!is_grad_enabled()) return raw::softmax_backward(g, y(), dim, true);
    return sub(g, mul(exp(y()), sum(g, {dim}, true)));
  });
}

Tensor cross_entropy_rows(const In& logits, const In& target, std::int64_t ignore_index) {
  const CallSite site("cross_entropy", logits.where);
  auto [losses, exp_sums] = raw::cross_entropy(logits, target, ignore_index);
  if (!records(*logits)) return losses;
  return record("cross_entropy", std::move(losses), {logits},
                [x = Saved(*logits), t = Saved(*target), sums = exp_sums, ignore_index](const Tensor& g) {
                  if (!is_grad_enabled()) return raw::cross_entropy_backward(g, x(), t(), sums, ignore_index);
                  const Tensor ignored = eq(t(), ignore_index);
                  const Tensor hit = one_hot(where(ignored, 0, t()), x().size(1)).to(g.dtype());
                  const Tensor rows = where(ignored, 0.0, g).unsqueeze(1);
                  return mul(rows, sub(softmax(x(), 1), hit));
                });
}

Tensor dropout(const In& x, const DropoutOptions& options) {
  const CallSite site("dropout", x.where);
  x->require_defined("dropout", x.where);
  if (!(options.p >= 0 && options.p <= 1))
    throw ValueError(message(fmt::format("p must be in [0, 1], got {}", options.p), {{"x", *x}},
                             "it is the probability that an element becomes 0"));
  if (!options.training || options.p == 0) return *x;
  if (!x->is_floating_point())
    throw DTypeError(message("x must be floating-point", {{"x", *x}}, "convert first: .to(float32)"));
  const Tensor mask = empty(x->shape(), {DType::bool_, x->device()});
  if (mask.numel())
    dispatch({{"x", *x}}).run(calls::Bernoulli{default_generator().reserve(mask.numel()), mask, 1 - options.p});
  // 0 + scale * x * mask: one pass.
  const double scale = options.p < 1 ? 1 / (1 - options.p) : 0;
  const Tensor zero = raw::scalar_tensor(0.0, x->dtype());
  const auto apply = [zero, mask, scale](const Tensor& t) {
    return raw::ternary(raw::kTernary<kernels::Addcmul>, zero, t, mask, scale);
  };
  Tensor y = apply(*x);
  if (!records(*x)) return y;
  return record("dropout", std::move(y), {x}, [apply, mask, scale](const Tensor& g) {
    if (!is_grad_enabled()) return apply(g);
    return mul(mul(g, mask), scale);
  });
}

}  // namespace minnow
