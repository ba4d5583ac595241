#include <minnow/ops/random/dropout.h>

#include <cmath>
#include <fmt/format.h>
#include <minnow/autograd/record.h>
#include <minnow/ops/elementwise/arithmetic.h>
#include <minnow/tensor/backend/dispatch.h>
#include <minnow/tensor/create.h>
#include <minnow/tensor/error.h>
#include <minnow/tensor/raw/create.h>
#include <minnow/tensor/raw/elementwise.h>

namespace minnow {
namespace {

/// Whether x stays as it is.
bool keeps_all(const Tensor& x, const DropoutOptions& options) {
  x.require_defined();
  if (!(options.p >= 0 && options.p <= 1))
    throw ValueError(message(fmt::format("p must be in [0, 1], got {}", options.p), {{"x", x}},
                             "it is the probability that an element becomes 0"));
  if (!options.training || options.p == 0) return true;
  if (!x.is_floating_point())
    throw DTypeError(message("x must be floating-point", {{"x", x}}, "convert first: .to(float32)"));
  return false;
}

/// True with probability 1 - p.
Tensor random_mask(const Tensor& x, const Shape& shape, double p) {
  Tensor mask = empty(shape, {DType::bool_, x.device()});
  if (mask.numel()) dispatch({{"x", x}}).run(calls::Bernoulli{default_generator().reserve(mask.numel()), mask, 1 - p});
  return mask;
}

/// dims: those of x.
Tensor of_channels(const Tensor& x, const DropoutOptions& options, int dims) {
  const bool keeps = keeps_all(x, options);
  if (x.dim() != dims)
    throw ShapeError(message(fmt::format("x needs {} dimensions", dims), {{"x", x}},
                             "x: [N, C, L], [N, C, H, W] or [N, C, D, H, W]; a single one: .unsqueeze(0)"));
  if (keeps) return x;
  Shape shape = Shape::filled(dims, 1);
  shape[0] = x.size(0);
  shape[1] = x.size(1);
  const double scale = options.p < 1 ? 1 / (1 - options.p) : 0;
  return mul(x, mul(random_mask(x, shape, options.p).to(x.dtype()), scale));
}

}  // namespace

Tensor dropout1d(const In& x, const DropoutOptions& options) {
  const CallSite site("dropout1d", x.where);
  return of_channels(*x, options, 3);
}
Tensor dropout2d(const In& x, const DropoutOptions& options) {
  const CallSite site("dropout2d", x.where);
  return of_channels(*x, options, 4);
}
Tensor dropout3d(const In& x, const DropoutOptions& options) {
  const CallSite site("dropout3d", x.where);
  return of_channels(*x, options, 5);
}

Tensor alpha_dropout(const In& x, const DropoutOptions& options) {
  const CallSite site("alpha_dropout", x.where);
  if (keeps_all(*x, options)) return *x;
  if (options.p == 1) return mul(*x, 0);
  constexpr double kLimit = -1.7580993408473766;  // -scale alpha of selu
  const double p = options.p, a = 1 / std::sqrt((kLimit * kLimit * p + 1) * (1 - p));
  const Tensor mask = random_mask(*x, x->shape(), p).to(x->dtype());
  const Tensor shift = add(mul(mask, -kLimit * a), kLimit * a + -kLimit * a * p);
  return add(mul(*x, mul(mask, a)), shift);
}

Tensor dropout(const In& x, const DropoutOptions& options) {
  const CallSite site("dropout", x.where);
  if (keeps_all(*x, options)) return *x;
  const Tensor mask = random_mask(*x, x->shape(), options.p);
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
