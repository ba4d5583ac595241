#pragma once

#include <cstdint>
#include <minnow/tensor/cpu/convolution/window.h>
#include <minnow/tensor/cpu/runtime/parallel.h>
#include <minnow/tensor/cpu/runtime/reference.h>

// Convolutions by simple loops, against which the others are tested.

namespace minnow::test {

using cpu::parallel_loop;
using cpu::Window;
using cpu::reference::Elements;
using cpu::reference::multiply_add;
using cpu::reference::threads_for;

/// A convolution's windows along spatial dimension d (0 or 1).
inline Window window(const Conv2dParams& p, int d, const Shape& x, const Shape& w, const Shape& y) {
  return {w[2 + d], p.stride[d], p.padding[d], p.dilation[d], x[2 + d], y[2 + d]};
}

/// y[n, o, :, :] = bias[o] + sum over c, kh, kw of w[o, c, kh, kw] x[n, group's c, shifted].
template <class T>
void conv2d(const Conv2dParams& params, const View& x, const View& w, const View& bias, const View& y) {
  const Elements<const T> xv(x), wv(w);
  const Elements<T> yv(y);
  const Window h = window(params, 0, x.shape(), w.shape(), y.shape()),
               v = window(params, 1, x.shape(), w.shape(), y.shape());
  const std::int64_t outputs = w.shape()[0], inputs = w.shape()[1], per_group = outputs / params.groups;
  const int threads = threads_for(y.numel() * std::max<std::int64_t>(inputs * h.kernel * v.kernel, 1));
  parallel_loop(y.shape()[0] * outputs * h.out, threads, [&](std::int64_t row) {
    const std::int64_t oh = row % h.out, o = row / h.out % outputs, n = row / h.out / outputs;
    const std::int64_t c0 = o / per_group * inputs;
    const T start = bias.defined() ? static_cast<const T*>(bias.raw_data())[o * bias.strides()[0]] : T(0);
    for (std::int64_t ow = 0; ow < v.out; ++ow) yv(n, o, oh, ow) = start;
    for (std::int64_t c = 0; c < inputs; ++c)
      for (std::int64_t kh = 0; kh < h.kernel; ++kh) {
        const std::int64_t ih = h.input(oh, kh);
        if (!h.inside(ih)) continue;
        for (std::int64_t kw = 0; kw < v.kernel; ++kw)
          for (std::int64_t ow = v.first(kw); ow < v.last(kw); ++ow)
            yv(n, o, oh, ow) = multiply_add(yv(n, o, oh, ow), wv(o, c, kh, kw), xv(n, c0 + c, ih, v.input(ow, kw)));
      }
  });
}

/// grad_x[n, c, ih, iw] = sum over the windows that cover it.
template <class T>
void conv2d_backward_input(const Conv2dParams& params, const View& grad, const View& w, const View& grad_x) {
  const Elements<const T> gv(grad), wv(w);
  const Elements<T> xv(grad_x);
  const Window h = window(params, 0, grad_x.shape(), w.shape(), grad.shape()),
               v = window(params, 1, grad_x.shape(), w.shape(), grad.shape());
  const std::int64_t channels = grad_x.shape()[1], inputs = w.shape()[1], per_group = w.shape()[0] / params.groups;
  const int threads = threads_for(grad.numel() * std::max<std::int64_t>(inputs * h.kernel * v.kernel, 1));
  parallel_loop(grad_x.shape()[0] * channels * h.in, threads, [&](std::int64_t row) {
    const std::int64_t ih = row % h.in, c = row / h.in % channels, n = row / h.in / channels;
    for (std::int64_t iw = 0; iw < v.in; ++iw) xv(n, c, ih, iw) = T(0);
    const std::int64_t o0 = c / inputs * per_group;
    for (std::int64_t o = o0; o < o0 + per_group; ++o)
      for (std::int64_t kh = 0; kh < h.kernel; ++kh) {
        const std::int64_t oh = h.output(ih, kh);
        if (oh < 0) continue;
        for (std::int64_t kw = 0; kw < v.kernel; ++kw)
          for (std::int64_t ow = v.first(kw); ow < v.last(kw); ++ow) {
            T& sum = xv(n, c, ih, v.input(ow, kw));
            sum = multiply_add(sum, wv(o, c % inputs, kh, kw), gv(n, o, oh, ow));
          }
      }
  });
}

/// grad_w[o, c, kh, kw] = sum over n, oh, ow of grad x;  grad_bias[o] = sum of grad.
template <class T>
void conv2d_backward_weight(const Conv2dParams& params, const View& grad, const View& x, const View& grad_w,
                            const View& grad_bias) {
  const Elements<const T> gv(grad), xv(x);
  const Elements<T> wv(grad_w);
  const Window h = window(params, 0, x.shape(), grad_w.shape(), grad.shape()),
               v = window(params, 1, x.shape(), grad_w.shape(), grad.shape());
  const std::int64_t inputs = grad_w.shape()[1], per_group = grad_w.shape()[0] / params.groups, batch = x.shape()[0];
  const int threads = threads_for(grad.numel() * std::max<std::int64_t>(inputs * h.kernel * v.kernel, 1));
  parallel_loop(grad_w.shape()[0], threads, [&](std::int64_t o) {
    const std::int64_t c0 = o / per_group * inputs;
    for (std::int64_t c = 0; c < inputs; ++c)
      for (std::int64_t kh = 0; kh < h.kernel; ++kh)
        for (std::int64_t kw = 0; kw < v.kernel; ++kw) {
          T sum = T(0);
          for (std::int64_t n = 0; n < batch; ++n)
            for (std::int64_t oh = h.first(kh); oh < h.last(kh); ++oh)
              for (std::int64_t ow = v.first(kw); ow < v.last(kw); ++ow)
                sum = multiply_add(sum, gv(n, o, oh, ow), xv(n, c0 + c, h.input(oh, kh), v.input(ow, kw)));
          wv(o, c, kh, kw) = sum;
        }
    if (!grad_bias.defined()) return;
    T sum = T(0);
    for (std::int64_t n = 0; n < batch; ++n)
      for (std::int64_t oh = 0; oh < h.out; ++oh)
        for (std::int64_t ow = 0; ow < v.out; ++ow) sum = multiply_add(sum, T(1), gv(n, o, oh, ow));
    static_cast<T*>(grad_bias.raw_data())[o * grad_bias.strides()[0]] = sum;
  });
}

}  // namespace minnow::test
