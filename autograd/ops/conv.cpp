#include <minnow/autograd/ops/conv.h>

#include <minnow/autograd/ops/reduce.h>
#include <minnow/autograd/record.h>
#include <minnow/tensor/ops/conv.h>

namespace minnow {
namespace {

Tensor convolve(const In& x, const In& w, const Tensor& b, const Conv2dParams& p);

// The three directions are each other's gradients.
Tensor weight_gradient(const In& g, const In& x, const Shape& w_shape, const Conv2dParams& p);

Tensor input_gradient(const In& g, const In& w, const Shape& x_shape, const Conv2dParams& p) {
  Tensor out = raw::conv2d_backward_input(g, w, x_shape, p);
  if (!records(*g, *w)) return out;
  return record("conv2d_backward_input", std::move(out), {g, w},
                [g = Saved(*g), w = Saved(*w), p](const Tensor& gg, Needs needs) -> Gradients {
                  return {needs[0] ? convolve(gg, w(), {}, p) : Tensor(),
                          needs[1] ? weight_gradient(g(), gg, w().shape(), p) : Tensor()};
                });
}

Tensor weight_gradient(const In& g, const In& x, const Shape& w_shape, const Conv2dParams& p) {
  Tensor out = raw::conv2d_backward_weight(g, x, w_shape, false, p).weight;
  if (!records(*g, *x)) return out;
  return record("conv2d_backward_weight", std::move(out), {g, x},
                [g = Saved(*g), x = Saved(*x), p](const Tensor& gg, Needs needs) -> Gradients {
                  return {needs[0] ? convolve(x(), gg, {}, p) : Tensor(),
                          needs[1] ? input_gradient(g(), gg, x().shape(), p) : Tensor()};
                });
}

Gradients conv_gradients(const Tensor& g, const Tensor& x, const Tensor& w, const Conv2dParams& p, Needs needs) {
  Gradients out(3);
  if (needs[0]) out[0] = input_gradient(g, w, x.shape(), p);
  if (is_grad_enabled()) {
    if (needs[1]) out[1] = weight_gradient(g, x, w.shape(), p);
    if (needs[2]) out[2] = sum(g, {0, 2, 3});
  } else if (needs[1]) {  // weight and bias in one call
    auto both = raw::conv2d_backward_weight(g, x, w.shape(), needs[2], p);
    out[1] = both.weight;
    out[2] = both.bias;
  } else if (needs[2]) {
    out[2] = sum(g, {0, 2, 3});
  }
  return out;
}

Tensor convolve(const In& x, const In& w, const Tensor& b, const Conv2dParams& p) {
  Tensor y = raw::conv2d(x, w, b, p);
  return record("conv2d", std::move(y), {x, w, b}, [x = Saved(*x), w = Saved(*w), p](const Tensor& g, Needs needs) {
    return conv_gradients(g, x(), w(), p, needs);
  });
}

}  // namespace

Tensor conv2d(const In& x, const In& w, const Tensor& b, const Conv2dOptions& o) {
  const CallSite site("conv2d", x.where);
  const Conv2dParams params{{o.stride.height, o.stride.width},
                            {o.padding.height, o.padding.width},
                            {o.dilation.height, o.dilation.width},
                            o.groups};
  return convolve(x, w, b, params);
}

}  // namespace minnow
