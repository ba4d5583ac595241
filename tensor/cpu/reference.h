#pragma once

#include <algorithm>
#include <cstdint>
#include <type_traits>
#include <minnow/tensor/backend/backend.h>
#include <minnow/tensor/cpu/parallel.h>
#include <minnow/tensor/cpu/scratch.h>
#include <minnow/tensor/cpu/window.h>
#include <minnow/tensor/internal.h>

// Simple loops for what libraries compute.  They are used for float64 and integers, and the float32 paths are tested
// against them.  Each element is summed in a fixed order, for any number of threads.

namespace minnow::cpu::reference {

/// Element access by indices.
template <class T> struct Elements {
  explicit Elements(const View& t) : data(static_cast<T*>(t.raw_data())), strides(t.strides()), shape(t.shape()) {}
  template <class... I> T& operator()(I... i) const {
    std::int64_t at = 0;
    int d = 0;
    ((at += static_cast<std::int64_t>(i) * strides[d++]), ...);
    return data[at];
  }
  T* data;
  Strides strides;
  Shape shape;
};

/// Integers wrap around.
template <class T> T multiply_add(T sum, T a, T b) {
  if constexpr (std::is_integral_v<T>) {
    using U = std::make_unsigned_t<T>;
    return static_cast<T>(static_cast<U>(sum) + static_cast<U>(a) * static_cast<U>(b));
  } else {
    return sum + a * b;
  }
}

inline int threads_for(std::int64_t operations) { return operations < (1 << 15) ? 1 : num_threads(); }

constexpr std::int64_t kRows = 4, kColumns = 128, kDepth = 256;

/// c[i, j] += sum over k of a[i, k] b[k, j] for one block: `rows` <= kRows rows, all of b's n columns
/// contiguous.
template <class T>
void multiply_block(const T* a, std::int64_t a_row, std::int64_t a_col, const T* b, std::int64_t ldb, T* c,
                    std::int64_t ldc, std::int64_t rows, std::int64_t n, std::int64_t depth) {
  for (std::int64_t j0 = 0; j0 < n; j0 += kColumns) {
    const std::int64_t width = std::min(kColumns, n - j0);
    for (std::int64_t k = 0; k < depth; ++k) {
      const T* __restrict row = b + k * ldb + j0;
      for (std::int64_t i = 0; i < rows; ++i) {
        const T factor = a[i * a_row + k * a_col];
        T* __restrict sum = c + i * ldc + j0;
        for (std::int64_t j = 0; j < width; ++j) sum[j] = multiply_add(sum[j], factor, row[j]);
      }
    }
  }
}

/// out = alpha a b + beta out + bias, for T = double or int64.  The rows of b and out are contiguous.
template <class T>
void matmul(const MatmulParams& params, const View& a, const View& b, const View& bias, const View& out) {
  const Elements<const T> av(a), bv(b);
  const Elements<T> ov(out);
  const std::int64_t batch = out.shape()[0], m = out.shape()[1], n = out.shape()[2], depth = a.shape()[2];
  const T alpha = static_cast<T>(params.alpha), beta = static_cast<T>(params.beta);
  const T* bias_data = bias.defined() ? static_cast<const T*>(bias.raw_data()) : nullptr;
  const std::int64_t bias_step = bias.defined() ? bias.strides()[0] : 0;
  const std::int64_t blocks = (m + kRows - 1) / kRows;
  const int threads = threads_for(batch * m * n * std::max<std::int64_t>(depth, 1));
  const ThreadScratch sums_memory(static_cast<std::size_t>(kRows * n) * sizeof(T));
  parallel_loop(batch * blocks, threads, [&](std::int64_t block) {
    const std::int64_t p = block / blocks, i0 = block % blocks * kRows, rows = std::min(kRows, m - i0);
    T* sums = static_cast<T*>(sums_memory.mine());
    std::fill_n(sums, kRows * n, T(0));
    for (std::int64_t k = 0; k < depth; k += kDepth)
      multiply_block(&av(p, i0, k), av.strides[1], av.strides[2], &bv(p, k), bv.strides[1], sums, n, rows, n,
                     std::min(kDepth, depth - k));
    for (std::int64_t i = 0; i < rows; ++i)
      for (std::int64_t j = 0; j < n; ++j) {
        T value = multiply_add(T(0), alpha, sums[i * n + j]);
        if (params.beta != 0) value = multiply_add(value, beta, ov(p, i0 + i, j));
        if (bias_data) value = multiply_add(value, T(1), bias_data[j * bias_step]);
        ov(p, i0 + i, j) = value;
      }
  });
}

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

}  // namespace minnow::cpu::reference
