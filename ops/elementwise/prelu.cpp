#include <minnow/ops/elementwise/prelu.h>

#include <fmt/format.h>
#include <minnow/ops/detail/operation.h>
#include <minnow/ops/elementwise/arithmetic.h>
#include <minnow/ops/reductions/reduce.h>
#include <minnow/tensor/backend/tell.h>
#include <minnow/tensor/error.h>
#include <minnow/tensor/raw/elementwise.h>

namespace minnow {
namespace {

/// weight broadcasts with x.
Gradients gradients(const Tensor& g, const Tensor& x, const Tensor& weight, Needs needs) {
  Gradients out(2);
  if (is_grad_enabled()) {
    // The second derivatives at 0 are 0, as in PyTorch.
    if (needs[0]) out[0] = where(x < 0, g * weight, where(x > 0, g, g * weight.detach()));
    if (needs[1]) out[1] = sum_to(where(x >= 0, 0.0, g * x), weight.shape());
    return out;
  }
  if (needs[0]) out[0] = raw::ternary(raw::kTernary<kernels::PreluSlope>, g, x, weight);
  if (needs[1]) out[1] = sum_to(raw::binary(raw::kBinary<kernels::PreluWeight>, g, x), weight.shape());
  return out;
}

}  // namespace

Tensor prelu(const In& x_, const In& weight_) {
  const Operation op("prelu", x_.where, kLower, {{"x", *x_}, {"weight", *weight_}});
  const Tensor &x = op[0], &weight = op[1];
  if (!x.is_floating_point() || x.dtype() != weight.dtype())
    throw DTypeError(message("x and weight must have one floating-point dtype", op, dtype_hint(op)));
  const int dim = x.dim() > 1 ? 1 : 0;
  const bool single = weight.dim() <= 1 && weight.numel() == 1;
  if (!single && (weight.dim() != 1 || x.dim() == 0 || weight.size(0) != x.size(dim)))
    throw ShapeError(message(
        "weight must have one number, or one for each channel", op,
        x.dim() == 0 ? "its shape is [1] or [] here" : fmt::format("its shape is [1], [] or [{}] here", x.size(dim))));
  Shape shape = Shape::filled(single ? 0 : x.dim(), 1);
  if (!single) shape[dim] = x.size(dim);
  const Tensor factors = weight.reshape(shape);
  Tensor y = raw::binary(raw::kBinary<kernels::Prelu>, x, factors);
  if (is_heard()) [[unlikely]]
    tell("prelu", {y}, {{"x", x}, {"weight", factors}});
  return op.record(std::move(y), {x, factors}, [x = Saved(x), w = Saved(factors)](const Tensor& g, Needs needs) {
    return gradients(g, x(), w(), needs);
  });
}

}  // namespace minnow
