#include <minnow/ops/dropout.h>

#include <fmt/format.h>
#include <minnow/autograd/record.h>
#include <minnow/ops/arithmetic.h>
#include <minnow/tensor/backend/dispatch.h>
#include <minnow/tensor/create.h>
#include <minnow/tensor/error.h>
#include <minnow/tensor/raw/create.h>
#include <minnow/tensor/raw/elementwise.h>

namespace minnow {

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
  // 0 + scale * x * mask, in one pass.
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
