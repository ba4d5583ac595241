#include <minnow/ops/pool.h>

#include <minnow/autograd/record.h>
#include <minnow/ops/detail/pool.h>
#include <minnow/ops/index.h>
#include <minnow/tensor/backend/dispatch.h>
#include <minnow/tensor/create.h>
#include <minnow/tensor/error.h>
#include <minnow/tensor/raw/copy.h>
#include <minnow/tensor/raw/create.h>

namespace minnow::detail::raw {
namespace {

std::string text(const std::int64_t (&pair)[2]) {
  return "{" + std::to_string(pair[0]) + ", " + std::to_string(pair[1]) + "}";
}

/// The parameters, for messages.
std::string text(const Pool2dParams& p) {
  return "kernel " + text(p.kernel) + ", stride " + text(p.stride) + ", padding " + text(p.padding) + ", dilation " +
         text(p.dilation) + " were given";
}

/// The pooled shape, after all checks.
Shape pooled_shape(const In& x, const Pool2dParams& p) {
  if (x->dim() != 4)
    throw ShapeError(message("x needs four dimensions", {{"x", *x}}, "x: [N, C, H, W]; a single image: .unsqueeze(0)"));
  if (!x->is_floating_point())
    throw DTypeError(message("x must be floating-point", {{"x", *x}}, "convert first: .to(float32)"));
  Shape shape = x->shape();
  for (int d = 0; d < 2; ++d) {
    if (p.kernel[d] < 1 || p.stride[d] < 1 || p.dilation[d] < 1 || p.padding[d] < 0 || p.padding[d] > p.kernel[d] / 2)
      throw ValueError(message("kernel, stride and dilation must be 1 or more, padding at most half the kernel",
                               {{"x", *x}},
                               text(p) + "; e.g. " + std::string(CallSite::op()) + "(x, 2) halves height and width"));
    // If it overflows, it is wider than any image.
    std::int64_t window = 0;
    const bool overflows = __builtin_mul_overflow(p.dilation[d], p.kernel[d] - 1, &window);
    const std::int64_t reach = overflows ? -1 : shape[2 + d] - 1 - (window - 2 * p.padding[d]);
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
  else raw::fill_(out, 0);
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
  else raw::fill_(out, 0);
  return out;
}

}  // namespace minnow::detail::raw

namespace minnow {
namespace {

/// x for its shape alone: a view without history, whose values are not read.
Tensor without_history(const Tensor& x) { return x.detach(); }

Tensor max_gradient(const In& g, const Tensor& indices, const Tensor& x_like, const Pool2dParams& p) {
  Tensor out = raw::max_pool2d_backward(g, indices, x_like, p);
  return record("max_pool2d_backward", std::move(out), {g}, [indices](const Tensor& gg) {
    const Tensor positions = raw::cast(indices, DType::int64).flatten(2);
    return gather(gg.flatten(2), 2, positions).reshape(indices.shape());
  });
}

Tensor avg_pool(const In& x, const Pool2dParams& p);

Tensor avg_gradient(const In& g, const Tensor& x_like, const Pool2dParams& p) {
  Tensor out = raw::avg_pool2d_backward(g, x_like, p);
  return record("avg_pool2d_backward", std::move(out), {g}, [p](const Tensor& gg) { return avg_pool(gg, p); });
}

Tensor avg_pool(const In& x, const Pool2dParams& p) {
  Tensor y = raw::avg_pool2d(x, p);
  if (!records(*x)) return y;
  return record("avg_pool2d", std::move(y), {x},
                [x = without_history(*x), p](const Tensor& g) { return avg_gradient(g, x, p); });
}

std::int64_t stride_or_kernel(std::int64_t stride, std::int64_t kernel) { return stride ? stride : kernel; }

}  // namespace

Tensor max_pool2d(const In& x, Pair k, const MaxPool2dOptions& o) {
  const CallSite site("max_pool2d", x.where);
  const Pool2dParams p{{k.height, k.width},
                       {stride_or_kernel(o.stride.height, k.height), stride_or_kernel(o.stride.width, k.width)},
                       {o.padding.height, o.padding.width},
                       {o.dilation.height, o.dilation.width},
                       true};
  auto [y, indices] = raw::max_pool2d(x, p);
  if (!records(*x)) return y;
  return record("max_pool2d", std::move(y), {x}, [x = without_history(*x), positions = indices, p](const Tensor& g) {
    return max_gradient(g, positions, x, p);
  });
}

Tensor avg_pool2d(const In& x, Pair k, const AvgPool2dOptions& o) {
  const CallSite site("avg_pool2d", x.where);
  return avg_pool(x, {{k.height, k.width},
                      {stride_or_kernel(o.stride.height, k.height), stride_or_kernel(o.stride.width, k.width)},
                      {o.padding.height, o.padding.width},
                      {1, 1},
                      o.count_include_pad});
}

}  // namespace minnow
