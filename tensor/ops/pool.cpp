#include <minnow/tensor/ops/pool.h>

#include <minnow/tensor/backend/dispatch.h>
#include <minnow/tensor/error.h>
#include <minnow/tensor/ops/copy.h>
#include <minnow/tensor/ops/create.h>

namespace minnow::raw {
namespace {

std::string text(const std::int64_t (&pair)[2]) {
  return "{" + std::to_string(pair[0]) + ", " + std::to_string(pair[1]) + "}";
}

/// The numbers that were given.
std::string text(const Pool2dParams& p) {
  return "kernel " + text(p.kernel) + ", stride " + text(p.stride) + ", padding " + text(p.padding) + ", dilation " +
         text(p.dilation) + " were given";
}

/// The pooled shape, after all checks.
Shape pooled_shape(const In& x, const Pool2dParams& p) {
  if (x->dim() != 4)
    throw ShapeError(message("x needs four dimensions", {{"x", *x}}, "x: [N, C, H, W]; a single image: .unsqueeze(0)"));
  if (!x->is_floating_point())
    throw DTypeError(message("x must be floating", {{"x", *x}}, "convert first: .to(float32)"));
  Shape shape = x->shape();
  for (int d = 0; d < 2; ++d) {
    if (p.kernel[d] < 1 || p.stride[d] < 1 || p.dilation[d] < 1 || p.padding[d] < 0 || p.padding[d] > p.kernel[d] / 2)
      throw ValueError(message("kernel, stride and dilation are 1 or more, padding at most half the kernel",
                               {{"x", *x}},
                               text(p) + "; e.g. " + std::string(CallSite::op()) + "(x, 2) halves height and width"));
    // Wider than any image where it does not fit 64 bits.
    std::int64_t span = 0;
    const bool endless = __builtin_mul_overflow(p.dilation[d], p.kernel[d] - 1, &span);
    const std::int64_t reach = endless ? -1 : shape[2 + d] - 1 - (span - 2 * p.padding[d]);
    if (reach < 0)
      throw ShapeError(message("the window does not fit into the padded image", {{"x", *x}},
                               text(p) + "; use a smaller kernel or dilation, or more padding"));
    shape[2 + d] = reach / p.stride[d] + 1;
  }
  return shape;
}

}  // namespace

MaxPooled max_pool2d(const In& x, const Pool2dParams& params) {
  const CallSite site("max_pool2d", x.where);
  Backend& backend = dispatch({{"x", *x}});
  const Shape shape = pooled_shape(x, params);
  const MaxPooled out{new_result(shape, x->strides(), x->dtype(), x->device()),
                      new_result(shape, x->strides(), DType::int32, x->device())};
  if (out.values.numel()) backend.run(calls::MaxPool2d{*x, out.values, out.indices, params});
  return out;
}

Tensor max_pool2d_backward(const In& grad, const In& indices, const Tensor& x_like, const Pool2dParams& params) {
  const CallSite site("max_pool2d_backward", grad.where);
  Backend& backend = dispatch({{"grad", *grad}, {"indices", *indices}});
  const Tensor out = new_result(x_like.shape(), x_like.strides(), x_like.dtype(), x_like.device());
  if (!out.numel()) return out;
  if (grad->numel()) backend.run(calls::MaxPool2dBackward{*grad, *indices, out, params});
  else fill_(out, 0);
  return out;
}

Tensor avg_pool2d(const In& x, const Pool2dParams& params) {
  const CallSite site("avg_pool2d", x.where);
  Backend& backend = dispatch({{"x", *x}});
  const Shape shape = pooled_shape(x, params);
  const Tensor out = new_result(shape, x->strides(), x->dtype(), x->device());
  if (out.numel()) backend.run(calls::AvgPool2d{*x, out, params});
  return out;
}

Tensor avg_pool2d_backward(const In& grad, const Tensor& x_like, const Pool2dParams& params) {
  const CallSite site("avg_pool2d_backward", grad.where);
  Backend& backend = dispatch({{"grad", *grad}});
  const Tensor out = new_result(x_like.shape(), x_like.strides(), x_like.dtype(), x_like.device());
  if (!out.numel()) return out;
  if (grad->numel()) backend.run(calls::AvgPool2dBackward{*grad, out, params});
  else fill_(out, 0);
  return out;
}

}  // namespace minnow::raw
