#include <algorithm>
#include <string>
#include <minnow/tensor/cuda/cuda_backend.h>
#include <minnow/tensor/cuda/elementwise/convert.h>
#include <minnow/tensor/cuda/runtime/launch.h>
#include <minnow/tensor/error.h>
#include <minnow/tensor/kernels/math.h>
#include <minnow/tensor/kernels/narrow_limit.h>
#include <minnow/tensor/kernels/reduce.h>

// Not by cuDNN: its max pooling gives no indices, its backward reads x and y again, and it has no dilation.  In
// backward each input element gathers from the windows that contain it, so that no atomics are needed and sums have a
// fixed order.

namespace minnow::cuda {
namespace {

/// Windows along one dimension.
template <class I> struct Windows {
  I kernel, stride, padding, dilation, in, out;
  bool adaptive;

  /// a b / c, rounded down, or up.
  static __device__ __forceinline__ I ratio(I a, I b, I c, bool up = false) {
    return static_cast<I>((static_cast<std::int64_t>(a) * b + (up ? c - 1 : 0)) / c);
  }
  /// The input that tap k of output o reads; it may be padding.
  __device__ __forceinline__ I input(I o, I k) const {
    return adaptive ? ratio(o, in, out) + k : o * stride - padding + k * dilation;
  }
  /// The first and the last output whose windows may contain input i.
  __device__ __forceinline__ I first_output(I i) const {
    if (adaptive) return ratio(i, out, in);
    const I start = i + padding - (kernel - 1) * dilation;
    return start <= 0 ? 0 : (start + stride - 1) / stride;
  }
  __device__ __forceinline__ I last_output(I i) const {
    if (adaptive) return ratio(i + 1, out, in, true) - 1;
    const I last = (i + padding) / stride;
    return last < out ? last : out - 1;
  }
  /// Whether a tap of output o, which is one of those, reads input i.
  __device__ __forceinline__ bool reads(I o, I i) const {
    return adaptive || (i + padding - o * stride) % dilation == 0;
  }
  /// The minimum number of taps between inputs that are `distance` apart.
  __device__ __forceinline__ I taps(I distance) const {
    return dilation == 1 ? distance : (distance - 1) / dilation + 1;
  }
  /// The taps [first_tap, last_tap) of output o are inside the input.  Kernels may be much larger than the input.
  __device__ __forceinline__ I first_tap(I o) const {
    const I start = input(o, 0);
    return start >= 0 ? 0 : taps(-start) < kernel ? taps(-start) : kernel;
  }
  __device__ __forceinline__ I last_tap(I o) const {
    if (adaptive) return ratio(o + 1, in, out, true) - input(o, 0);
    const I room = in - input(o, 0);
    return room <= 0 ? 0 : taps(room) < kernel ? taps(room) : kernel;
  }
  /// The first input of output o that is not in the padding.
  __device__ __forceinline__ I first_inside(I o) const {
    const I k = first_tap(o);
    return k < last_tap(o) ? input(o, k) : 0;
  }
  /// The divisor of an average at output o.
  __device__ __forceinline__ std::int64_t count(I o, bool include_pad) const {
    if (adaptive) return last_tap(o);
    const I start = o * stride - padding;
    const I end = start + kernel < in + padding ? start + kernel : in + padding;
    return include_pad ? end - start : (end < in ? end : in) - (start > 0 ? start : 0);
  }
};

/// The position of an element.
template <class I> struct Position { I n, c, h, w; };

template <class I> struct ImageLayout {
  I stride[4];

  __device__ __forceinline__ I plane(const Position<I>& p) const { return p.n * stride[0] + p.c * stride[1]; }
  __device__ __forceinline__ I at(I plane, I h, I w) const { return plane + h * stride[2] + w * stride[3]; }
  __device__ __forceinline__ I at(const Position<I>& p) const { return at(plane(p), p.h, p.w); }
};

/// The geometry of a pooling.  `big` is the layout of x or its gradient, `small` that of y or its gradient.  Adjacent
/// threads have adjacent channels if these are dense.
template <class I> struct PoolGeometry {
  Windows<I> h, w;
  I channels, outputs, inputs;
  ImageLayout<I> big, small, indices;
  bool by_channel, include_pad;

  __device__ __forceinline__ Position<I> place(I i, I height, I width) const {
    Position<I> p;
    if (by_channel) p.c = i % channels, i /= channels;
    p.w = i % width, i /= width;
    p.h = i % height, i /= height;
    if (!by_channel) p.c = i % channels, i /= channels;
    p.n = i;
    return p;
  }
  /// The divisor of the average at output (oh, ow).
  template <class T> __device__ __forceinline__ T count(I oh, I ow) const {
    return static_cast<T>(h.count(oh, include_pad)) * static_cast<T>(w.count(ow, include_pad));
  }
  __device__ __forceinline__ Position<I> output(I i) const { return place(i, h.out, w.out); }
  __device__ __forceinline__ Position<I> input(I i) const { return place(i, h.in, w.in); }
};

/// Calls f(i) for each i below n, each on one thread.
template <class I, class F> __device__ __forceinline__ void for_each_element(I n, const F& f) {
  const std::int64_t step = static_cast<std::int64_t>(gridDim.x) * blockDim.x;
  for (std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; i < n; i += step)
    f(static_cast<I>(i));
}

template <class S, class T, class I>
__global__ void max_forward(PoolGeometry<I> plan, const S* __restrict__ x, S* __restrict__ y,
                            std::int32_t* __restrict__ index) {
  for_each_element(plan.outputs, [&](I i) {
    const Position<I> p = plan.output(i);
    const I plane = plan.big.plane(p);
    T best = -kernels::math::kInfinity<T>;
    I place = plan.h.first_inside(p.h) * plan.w.in + plan.w.first_inside(p.w);
    const I end_h = plan.h.last_tap(p.h), first_w = plan.w.first_tap(p.w), end_w = plan.w.last_tap(p.w);
    for (I kh = plan.h.first_tap(p.h); kh < end_h; ++kh) {
      const I ih = plan.h.input(p.h, kh);
      for (I kw = first_w; kw < end_w; ++kw) {
        const I iw = plan.w.input(p.w, kw);
        const T value = widen<T>(x[plan.big.at(plane, ih, iw)]);
        if (value > best || value != value) {
          best = value;
          place = ih * plan.w.in + iw;
        }
      }
    }
    y[plan.small.at(p)] = narrow<S>(best);
    index[plan.indices.at(p)] = static_cast<std::int32_t>(place);
  });
}

/// Calls f(oh, ow) for each window that contains the input at (h, w), in a fixed order.
template <class I, class F>
__device__ __forceinline__ void for_windows(const PoolGeometry<I>& plan, const Position<I>& p, const F& f) {
  const I h = plan.h.first_output(p.h), w = plan.w.first_output(p.w), last = plan.w.last_output(p.w);
  for (I oh = plan.h.last_output(p.h); oh >= h; --oh) {
    if (!plan.h.reads(oh, p.h)) continue;
    for (I ow = last; ow >= w; --ow)
      if (plan.w.reads(ow, p.w)) f(oh, ow);
  }
}

template <class S, class T, class I>
__global__ void max_backward(PoolGeometry<I> plan, const S* __restrict__ grad, const std::int32_t* __restrict__ index,
                             S* __restrict__ grad_x) {
  for_each_element(plan.inputs, [&](I i) {
    const Position<I> p = plan.input(i);
    const I plane = plan.small.plane(p), index_plane = plan.indices.plane(p), mine = p.h * plan.w.in + p.w;
    T sum = 0;
    for_windows(plan, p, [&](I oh, I ow) {
      if (index[plan.indices.at(index_plane, oh, ow)] == mine) sum += widen<T>(grad[plan.small.at(plane, oh, ow)]);
    });
    grad_x[plan.big.at(p)] = narrow<S>(sum);
  });
}

template <class S, class T, class I>
__global__ void avg_forward(PoolGeometry<I> plan, const S* __restrict__ x, S* __restrict__ y) {
  for_each_element(plan.outputs, [&](I i) {
    const Position<I> p = plan.output(i);
    const I plane = plan.big.plane(p);
    T sum = 0;
    const I end_h = plan.h.last_tap(p.h), first_w = plan.w.first_tap(p.w), end_w = plan.w.last_tap(p.w);
    for (I kh = plan.h.first_tap(p.h); kh < end_h; ++kh) {
      const I ih = plan.h.input(p.h, kh);
      for (I kw = first_w; kw < end_w; ++kw) sum += widen<T>(x[plan.big.at(plane, ih, plan.w.input(p.w, kw))]);
    }
    y[plan.small.at(p)] = narrow<S>(sum / plan.template count<T>(p.h, p.w));
  });
}

template <class S, class T, class I>
__global__ void avg_backward(PoolGeometry<I> plan, const S* __restrict__ grad, S* __restrict__ grad_x) {
  for_each_element(plan.inputs, [&](I i) {
    const Position<I> p = plan.input(i);
    const I plane = plan.small.plane(p);
    T sum = 0;
    for_windows(plan, p, [&](I oh, I ow) {
      sum += widen<T>(grad[plan.small.at(plane, oh, ow)]) * (T(1) / plan.template count<T>(oh, ow));
    });
    grad_x[plan.big.at(p)] = narrow<S>(sum);
  });
}

/// The distance in memory from the first to the last element, in elements.
std::int64_t reach(const View& t) {
  std::int64_t last = 0;
  for (int d = 0; d < 4; ++d) last += (t.shape()[d] - 1) * t.strides()[d];
  return last + 1;
}

/// Whether 32-bit arithmetic is enough, for offsets and for positions in a padded image.
bool fits_in_32_bits(const Pool2dParams& p, const View& big, const View& small, const View& indices) {
  const std::int64_t limit = kernels::narrow_limit() / 2;
  std::int64_t most = std::max({reach(big), reach(small), reach(indices), big.numel(), small.numel()});
  for (int d = 0; d < 2; ++d) {
    if (p.kernel[d] >= limit || p.dilation[d] >= limit || p.stride[d] >= limit || p.padding[d] >= limit) return false;
    most = std::max(most, big.shape()[2 + d] + 2 * p.padding[d] + p.kernel[d] * p.dilation[d] + p.stride[d]);
  }
  return most < limit;
}

template <class I> ImageLayout<I> layout_of(const View& t) {
  ImageLayout<I> layout;
  for (int d = 0; d < 4; ++d) layout.stride[d] = static_cast<I>(t.strides()[d]);
  return layout;
}

template <class I>
PoolGeometry<I> geometry_of(const Pool2dParams& p, const View& big, const View& small, const View& indices) {
  const auto windows = [&](int d) {
    return Windows<I>{static_cast<I>(p.kernel[d]),
                      static_cast<I>(p.stride[d]),
                      static_cast<I>(p.padding[d]),
                      static_cast<I>(p.dilation[d]),
                      static_cast<I>(big.shape()[2 + d]),
                      static_cast<I>(small.shape()[2 + d]),
                      p.adaptive};
  };
  return {windows(0),
          windows(1),
          static_cast<I>(big.shape()[1]),
          static_cast<I>(small.numel()),
          static_cast<I>(big.numel()),
          layout_of<I>(big),
          layout_of<I>(small),
          layout_of<I>(indices),
          big.strides()[1] == 1 && big.shape()[1] > 1,
          p.count_include_pad};
}

/// Calls f.template operator()<S, T>(geometry) with the element types, and the geometry in the narrowest possible
/// integer type.
template <class F>
void with_geometry(const Pool2dParams& params, const View& big, const View& small, const View& indices, const F& f) {
  const bool narrow_enough = fits_in_32_bits(params, big, small, indices);
  visit_floating(big.dtype(), [&]<class S, class T>() {
    if (narrow_enough) f.template operator()<S, T>(geometry_of<std::int32_t>(params, big, small, indices));
    else f.template operator()<S, T>(geometry_of<std::int64_t>(params, big, small, indices));
  });
}

/// Whether a pooling averages whole dense images, for which reductions are faster.
bool is_mean(const Pool2dParams& p, const View& x, const View& y) {
  for (int d = 0; d < 2; ++d)
    if (p.kernel[d] != x.shape()[2 + d] || p.padding[d] != 0 || y.shape()[2 + d] != 1) return false;
  const auto dense = [](const View& t) { return t.is_contiguous() || t.is_contiguous(MemoryFormat::channels_last); };
  return dense(x) && dense(y);
}

/// Images as [outer, pixels, inner], in memory order.
View by_pixels(const View& x) {
  const std::int64_t images = x.shape()[0], channels = x.shape()[1], pixels = x.shape()[2] * x.shape()[3];
  if (x.is_contiguous())
    return View(x.storage(), x.dtype(), {images * channels, pixels, 1}, {pixels, 1, 1}, x.storage_offset());
  return View(x.storage(), x.dtype(), {images, pixels, channels}, {pixels * channels, channels, 1}, x.storage_offset());
}

void require_one_dtype(const char* op, const View& a, const View& b) {
  if (a.dtype() != b.dtype())
    throw DTypeError(std::string(op) + ": gradient and image have different dtypes\nthis is an error in minnow");
}

}  // namespace

template <> void execute(const calls::MaxPool2d& args) {
  const View &x = args.x, &y = args.y, &indices = args.indices;
  const Pool2dParams& params = args.params;
  if (y.numel() == 0) return;
  const Call call(args);
  with_geometry(params, x, y, indices, [&]<class S, class T, class I>(const PoolGeometry<I>& plan) {
    launch(call, max_forward<S, T, I>, blocks_for(plan.outputs), kThreads, plan, static_cast<const S*>(x.raw_data()),
           static_cast<S*>(y.raw_data()), static_cast<std::int32_t*>(indices.raw_data()));
  });
}

template <> void execute(const calls::MaxPool2dBackward& args) {
  const View &grad = args.grad, &indices = args.indices, &grad_x = args.grad_x;
  const Pool2dParams& params = args.params;
  if (grad_x.numel() == 0) return;
  require_one_dtype("max_pool2d_backward", grad, grad_x);
  const Call call(args);
  with_geometry(params, grad_x, grad, indices, [&]<class S, class T, class I>(const PoolGeometry<I>& plan) {
    launch(call, max_backward<S, T, I>, blocks_for(plan.inputs), kThreads, plan, static_cast<const S*>(grad.raw_data()),
           static_cast<const std::int32_t*>(indices.raw_data()), static_cast<S*>(grad_x.raw_data()));
  });
}

template <> void execute(const calls::AvgPool2d& args) {
  const View &x = args.x, &y = args.y;
  const Pool2dParams& params = args.params;
  if (y.numel() == 0) return;
  if (is_mean(params, x, y))
    return execute(calls::Reduce{kernels::kIndexOf<kernels::ReduceOps, kernels::Mean>, by_pixels(x), y});
  const Call call(args);
  with_geometry(params, x, y, y, [&]<class S, class T, class I>(const PoolGeometry<I>& plan) {
    launch(call, avg_forward<S, T, I>, blocks_for(plan.outputs), kThreads, plan, static_cast<const S*>(x.raw_data()),
           static_cast<S*>(y.raw_data()));
  });
}

template <> void execute(const calls::AvgPool2dBackward& args) {
  const View &grad = args.grad, &grad_x = args.grad_x;
  const Pool2dParams& params = args.params;
  if (grad_x.numel() == 0) return;
  require_one_dtype("avg_pool2d_backward", grad, grad_x);
  const Call call(args);
  with_geometry(params, grad_x, grad, grad, [&]<class S, class T, class I>(const PoolGeometry<I>& plan) {
    launch(call, avg_backward<S, T, I>, blocks_for(plan.inputs), kThreads, plan, static_cast<const S*>(grad.raw_data()),
           static_cast<S*>(grad_x.raw_data()));
  });
}

}  // namespace minnow::cuda
