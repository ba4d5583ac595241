#include <minnow/tensor/cuda/libraries/conv_fallback.h>

#include <cstdint>
#include <minnow/tensor/backend/dispatch.h>
#include <minnow/tensor/cuda/elementwise/convert.h>
#include <minnow/tensor/cuda/runtime/launch.h>
#include <minnow/tensor/error.h>
#include <minnow/tensor/runtime/call_site.h>
#include <minnow/tensor/runtime/warning.h>

namespace minnow::cuda {
namespace {

template <class S> struct Image {
  S* data;
  std::int64_t size[4], stride[4];

  __device__ S& at(std::int64_t a, std::int64_t b, std::int64_t c, std::int64_t d) const {
    return data[a * stride[0] + b * stride[1] + c * stride[2] + d * stride[3]];
  }
};

template <class S> struct PlainConvolution {
  Image<S> x, w, y;  ///< [N, C, H, W], [K, C / groups, R, S], [N, K, P, Q]
  Conv2dParams p;
};

/// The place in x that output `o` reads by element `k` of a window.
__device__ __forceinline__ std::int64_t read_place(const Conv2dParams& p, int d, std::int64_t o, std::int64_t k) {
  return o * p.stride[d] - p.padding[d] + k * p.dilation[d];
}

/// The output that reads place `i` of x by element `k` of its window, or -1.
__device__ __forceinline__ std::int64_t output_place(const Conv2dParams& p, int d, std::int64_t i, std::int64_t k,
                                                     std::int64_t outputs) {
  const std::int64_t at = i + p.padding[d] - k * p.dilation[d];
  return at >= 0 && at % p.stride[d] == 0 && at / p.stride[d] < outputs ? at / p.stride[d] : -1;
}

template <class T, class S> __device__ T forward_sum(const PlainConvolution<S>& a, const std::int64_t (&at)[4]) {
  const std::int64_t first = at[1] / (a.w.size[0] / a.p.groups) * a.w.size[1];
  T sum = T(0);
  for (std::int64_t c = 0; c < a.w.size[1]; ++c)
    for (std::int64_t r = 0; r < a.w.size[2]; ++r) {
      const std::int64_t i = read_place(a.p, 0, at[2], r);
      if (i < 0 || i >= a.x.size[2]) continue;
      for (std::int64_t s = 0; s < a.w.size[3]; ++s) {
        const std::int64_t j = read_place(a.p, 1, at[3], s);
        if (j < 0 || j >= a.x.size[3]) continue;
        sum += widen<T>(a.x.at(at[0], first + c, i, j)) * widen<T>(a.w.at(at[1], c, r, s));
      }
    }
  return sum;
}

template <class T, class S> __device__ T input_sum(const PlainConvolution<S>& a, const std::int64_t (&at)[4]) {
  const std::int64_t group = at[1] / a.w.size[1], kernels = a.w.size[0] / a.p.groups;
  T sum = T(0);
  for (std::int64_t k = group * kernels; k < (group + 1) * kernels; ++k)
    for (std::int64_t r = 0; r < a.w.size[2]; ++r) {
      const std::int64_t i = output_place(a.p, 0, at[2], r, a.y.size[2]);
      if (i < 0) continue;
      for (std::int64_t s = 0; s < a.w.size[3]; ++s) {
        const std::int64_t j = output_place(a.p, 1, at[3], s, a.y.size[3]);
        if (j < 0) continue;
        sum += widen<T>(a.y.at(at[0], k, i, j)) * widen<T>(a.w.at(k, at[1] % a.w.size[1], r, s));
      }
    }
  return sum;
}

template <class T, class S> __device__ T weight_sum(const PlainConvolution<S>& a, const std::int64_t (&at)[4]) {
  const std::int64_t channel = at[0] / (a.w.size[0] / a.p.groups) * a.w.size[1] + at[1];
  T sum = T(0);
  for (std::int64_t n = 0; n < a.x.size[0]; ++n)
    for (std::int64_t p = 0; p < a.y.size[2]; ++p) {
      const std::int64_t i = read_place(a.p, 0, p, at[2]);
      if (i < 0 || i >= a.x.size[2]) continue;
      for (std::int64_t q = 0; q < a.y.size[3]; ++q) {
        const std::int64_t j = read_place(a.p, 1, q, at[3]);
        if (j < 0 || j >= a.x.size[3]) continue;
        sum += widen<T>(a.x.at(n, channel, i, j)) * widen<T>(a.y.at(n, at[0], p, q));
      }
    }
  return sum;
}

/// A thread sums one element at a time.
template <ConvDirection direction, class S, class T> __global__ void convolve(PlainConvolution<S> a) {
  const Image<S>& out = direction == ConvDirection::forward          ? a.y
                        : direction == ConvDirection::backward_input ? a.x
                                                                     : a.w;
  const std::int64_t count = out.size[0] * out.size[1] * out.size[2] * out.size[3],
                     threads = static_cast<std::int64_t>(gridDim.x) * blockDim.x;
  for (std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < count; i += threads) {
    const std::int64_t rows = i / out.size[3], planes = rows / out.size[2];
    const std::int64_t at[4] = {planes / out.size[1], planes % out.size[1], rows % out.size[2], i % out.size[3]};
    T sum;
    if constexpr (direction == ConvDirection::forward) sum = forward_sum<T>(a, at);
    else if constexpr (direction == ConvDirection::backward_input) sum = input_sum<T>(a, at);
    else sum = weight_sum<T>(a, at);
    out.at(at[0], at[1], at[2], at[3]) = narrow<S>(sum);
  }
}

template <class S> Image<S> image_of(const View& t) {
  Image<S> image{static_cast<S*>(t.raw_data()), {}, {}};
  for (int d = 0; d < 4; ++d) {
    image.size[d] = t.shape()[d];
    image.stride[d] = t.strides()[d];
  }
  return image;
}

}  // namespace

void plain_convolution(const Call& call, ConvDirection direction, const Conv2dParams& params, const View& x,
                       const View& w, const View& y) {
  warn_once("cuDNN has no algorithm for a convolution of x " + describe(x) + " and weight " + describe(w) +
                ", which a slow kernel computes instead\n  hint: use another dtype, or allow algorithms that are not "
                "deterministic",
            CallSite::where());
  using enum ConvDirection;
  const View& out = direction == forward ? y : direction == backward_input ? x : w;
  visit_floating(out.dtype(), [&]<class S, class T>() {
    const PlainConvolution<S> a{image_of<S>(x), image_of<S>(w), image_of<S>(y), params};
    const auto kernel = direction == forward          ? convolve<forward, S, T>
                        : direction == backward_input ? convolve<backward_input, S, T>
                                                      : convolve<backward_weight, S, T>;
    launch(call, kernel, blocks_for(out.numel()), kThreads, a);
  });
}

}  // namespace minnow::cuda
