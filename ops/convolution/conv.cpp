#include <minnow/ops/convolution/conv.h>

#include <minnow/ops/detail/conv.h>
#include <minnow/ops/detail/operation.h>
#include <minnow/ops/detail/unary.h>
#include <minnow/ops/detail/work_count.h>
#include <minnow/ops/elementwise/unary.h>
#include <minnow/ops/reductions/reduce.h>
#include <minnow/tensor/create.h>
#include <minnow/tensor/error.h>
#include <minnow/tensor/kernels/reduce.h>
#include <minnow/tensor/raw/copy.h>
#include <minnow/tensor/raw/create.h>
#include <minnow/tensor/raw/elementwise.h>

namespace minnow::detail::raw {
namespace {

/// The size of the output along spatial dimension d (0 or 1); below 1 if the kernel does not fit.
std::int64_t output_size(const Conv2dParams& p, const Shape& x, const Shape& w, int d) {
  std::int64_t span = 0;  // if it overflows, it is wider than any image
  if (__builtin_mul_overflow(p.dilation[d], w[2 + d] - 1, &span)) return 0;
  const std::int64_t reach = x[2 + d] - 1 - span + 2 * p.padding[d];
  return reach < 0 ? 0 : reach / p.stride[d] + 1;
}

Tensor allocate(const Shape& shape, MemoryFormat format, const In& like) {
  const Strides strides =
      format == MemoryFormat::channels_last ? channels_last_strides(shape) : contiguous_strides(shape);
  return new_result(shape, strides, like->dtype(), like->device());
}

/// The sum of each channel of dense row-major images.
void sum_images(Backend& backend, const Tensor& images, const Tensor& out) {
  constexpr int kSum = kernels::kIndexOf<kernels::ReduceOps, kernels::Sum>;
  const std::int64_t n = images.shape()[0], channels = images.shape()[1],
                     pixels = images.shape()[2] * images.shape()[3];
  const Tensor each = new_result({n * channels, 1}, images.dtype(), images.device());
  const auto seen = [](const Tensor& t, const Shape& shape) {
    return View(t.storage(), t.dtype(), shape, contiguous_strides(shape), t.storage_offset());
  };
  backend.run(calls::Reduce{kSum, seen(images, {n * channels, pixels, 1}), each});
  backend.run(calls::Reduce{kSum, seen(each, {1, n, channels}), seen(out, {1, channels})});
}

}  // namespace

Tensor conv2d(const In& x, const In& w, const Tensor& b, const Conv2dParams& params, Activation activation) {
  const Operation op("conv2d", x.where, {{"x", *x}, {"weight", *w}, {"bias", b, kOptional}});
  const Shape shape{x->shape()[0], w->shape()[0], output_size(params, x->shape(), w->shape(), 0),
                    output_size(params, x->shape(), w->shape(), 1)};
  const Tensor y = allocate(shape, op.backend().conv2d_format(params, *x, *w), x);
  if (!y.numel()) return y;
  if (!x->numel()) {  // the windows contain only padding: the result is the bias
    if (b.defined())
      op.run(calls::Copy{View(b.storage(), b.dtype(), shape, {0, b.strides()[0], 0, 0}, b.storage_offset()), y});
    else fill_(y, 0);
    if (activation == Activation::relu) unary_(kUnary<kernels::Relu>, y);
    if (activation == Activation::gelu_tanh) unary_(kUnary<kernels::GeluTanh>, y);
    return y;
  }
  WorkCount::add(y.numel() * (w->numel() / w->shape()[0]));
  op.run(calls::Conv2d{*x, *w, b, y, params, activation});
  return y;
}

Tensor conv2d_backward_input(const In& grad, const In& w, const Shape& x_shape, const Conv2dParams& params) {
  const Operation op("conv2d_backward", grad.where, {{"grad", *grad}, {"weight", *w}});
  // For shape and memory format only, never read: the gradient of channels-last images is channels-last.
  const bool channels_last = grad->is_contiguous(MemoryFormat::channels_last) && !grad->is_contiguous();
  const View like(grad->storage(), grad->dtype(), x_shape,
                  channels_last ? channels_last_strides(x_shape) : contiguous_strides(x_shape));
  const Tensor out = allocate(x_shape, op.backend().conv2d_format(params, like, *w), grad);
  if (!out.numel()) return out;
  if (!grad->numel()) {
    raw::fill_(out, 0);
    return out;
  }
  WorkCount::add(grad->numel() * (w->numel() / w->shape()[0]));
  op.run(calls::Conv2dBackwardInput{*grad, *w, out, params});
  return out;
}

WeightGradients conv2d_backward_weight(const In& grad, const In& x, const Shape& w_shape, bool bias,
                                       const Conv2dParams& params) {
  const Operation op("conv2d_backward", grad.where, {{"grad", *grad}, {"x", *x}});
  WeightGradients out{new_result(w_shape, grad->dtype(), grad->device()), {}};
  if (bias) out.bias = new_result({w_shape[0]}, grad->dtype(), grad->device());
  if (grad->numel() && x->numel()) {
    op.run(calls::Conv2dBackwardWeight{*grad, *x, out.weight, out.bias, params});
    return out;
  }
  fill_(out.weight, 0);
  if (bias) sum_images(op.backend(), contiguous(grad), out.bias);
  return out;
}

}  // namespace minnow::detail::raw

namespace minnow {
namespace {

using detail::convolve;
using detail::convolve_transposed;

// The gradients of each of the three functions are the two others.
Tensor weight_gradient(const In& g, const In& x, const Shape& w_shape, const Conv2dParams& p);

}  // namespace

Tensor detail::convolve_transposed(const In& g, const In& w, const Shape& x_shape, const Conv2dParams& p) {
  Tensor out = raw::conv2d_backward_input(g, w, x_shape, p);
  if (!records(*g, *w)) return out;
  return record("conv2d_backward_input", std::move(out), {g, w},
                [g = Saved(*g), w = Saved(*w), p](const Tensor& gg, Needs needs) -> Gradients {
                  return {needs[0] ? convolve(gg, w(), {}, p) : Tensor(),
                          needs[1] ? weight_gradient(g(), gg, w().shape(), p) : Tensor()};
                });
}

namespace {

Tensor weight_gradient(const In& g, const In& x, const Shape& w_shape, const Conv2dParams& p) {
  Tensor out = raw::conv2d_backward_weight(g, x, w_shape, false, p).weight;
  if (!records(*g, *x)) return out;
  return record("conv2d_backward_weight", std::move(out), {g, x},
                [g = Saved(*g), x = Saved(*x), p](const Tensor& gg, Needs needs) -> Gradients {
                  return {needs[0] ? convolve(x(), gg, {}, p) : Tensor(),
                          needs[1] ? convolve_transposed(g(), gg, x().shape(), p) : Tensor()};
                });
}

/// Such weights are read channels-last.
bool is_on_tensor_cores(const Tensor& w) { return is_half(w.dtype()) && w.device().is_cuda(); }

Gradients conv_gradients(const Tensor& g, const Tensor& x, const Tensor& w, const Conv2dParams& p, Needs needs) {
  Gradients out(3);
  if (needs[0]) out[0] = convolve_transposed(g, w, x.shape(), p);
  if (is_grad_enabled()) {
    if (needs[1]) out[1] = weight_gradient(g, x, w.shape(), p);
    if (needs[2]) out[2] = sum(g, {0, 2, 3});
  } else if (needs[1]) {  // weight and bias in one call
    auto gradients = raw::conv2d_backward_weight(g, x, w.shape(), needs[2], p);
    out[1] = gradients.weight;
    out[2] = gradients.bias;
  } else if (needs[2]) {
    out[2] = sum(g, {0, 2, 3});
  }
  return out;
}

}  // namespace

Tensor detail::convolve(const In& x, const In& w, const Tensor& b, const Conv2dParams& p, Activation activation) {
  const bool recorded = records(*x, *w) || records(b);
  // The gradient of gelu_tanh needs its input.
  if (activation == Activation::gelu_tanh && recorded) return gelu_tanh(convolve(x, w, b, p));
  // Converted here once, and not again by backward.
  if (records(*x, *w) && is_on_tensor_cores(*w) && !w->is_contiguous(MemoryFormat::channels_last)) {
    Tensor last = raw::contiguous(*w, MemoryFormat::channels_last);
    if (records(*w)) last = record("contiguous", std::move(last), {w}, [](const Tensor& g) { return g; });
    return convolve(x, last, b, p, activation);
  }
  Tensor y = raw::conv2d(x, w, b, p, activation);
  if (!recorded) return y;
  const Saved activated = activation == Activation::relu ? Saved::output(y) : Saved();
  return record("conv2d", std::move(y), {x, w, b},
                [x = Saved(*x), w = Saved(*w), activated, p](const Tensor& g, Needs needs) {
                  return conv_gradients(activated.defined() ? relu_gradient(g, activated()) : g, x(), w(), p, needs);
                });
}

}  // namespace minnow
