#include <algorithm>
#include <limits>
#include <minnow/tensor/cpu/cpu_backend.h>
#include <minnow/tensor/cpu/dense_copy.h>
#include <minnow/tensor/cpu/isa.h>
#include <minnow/tensor/cpu/parallel.h>
#include <minnow/tensor/cpu/pool_loops.h>
#include <minnow/tensor/cpu/window.h>
#include <minnow/tensor/half.h>
#include <minnow/tensor/internal.h>

// Any layout: inner loops run over channels for channels-last, otherwise along rows.  float32, float64, int64 and the
// largest of bfloat16 directly, other dtypes are converted to one of them.

namespace minnow::cpu {
namespace {

/// Whether value is above best, or NaN; without a branch.
template <class T> bool is_larger(T value, T best) { return (value > best) | (value != value); }
bool is_larger(bfloat16_t value, bfloat16_t best) {
  return is_larger(static_cast<float>(value), static_cast<float>(best));
}

// The inner loops: over the channels of one pixel (steps 1 and position_step 0) or along a row.

template <class T>
void take_largest(std::int64_t n, const T* __restrict x, std::int64_t step, T* __restrict y,
                  std::int32_t* __restrict index, std::int64_t out_step, std::int32_t position,
                  std::int32_t position_step) {
  if (step == 1 && out_step == 1 && position_step == 0) {
    if constexpr (std::is_same_v<T, float>) return loops().pool.take_largest(x, y, index, n, position);
    if constexpr (std::is_same_v<T, bfloat16_t>)
      return half_pool_loops().take_largest(&x->bits, &y->bits, index, n, position);
    for (std::int64_t i = 0; i < n; ++i) {
      const T value = x[i], best = y[i];
      const bool take = is_larger(value, best);
      y[i] = take ? value : best;
      index[i] = take ? position : index[i];
    }
    return;
  }
  if constexpr (std::is_same_v<T, float>)
    if (out_step == 1 && step == position_step && (step == 1 || step == 2))
      return loops().pool.take_from_row(x, static_cast<int>(step), y, index, n, position);
  for (std::int64_t i = 0; i < n; ++i) {
    // Without branches: which element is the largest cannot be foreseen.
    const T value = x[i * step], best = y[i * out_step];
    const bool take = is_larger(value, best);
    const std::int32_t old = index[i * out_step], here = position + static_cast<std::int32_t>(i) * position_step;
    y[i * out_step] = take ? value : best;
    index[i * out_step] = take ? here : old;
  }
}

/// Windows of bfloat16 have no element in common: there is nothing to add, and to round.
void give(bfloat16_t from, bfloat16_t& to) { to = from; }
template <class T> void give(T from, T& to) { to += from; }

template <class T>
void give_chosen(std::int64_t n, const T* __restrict grad, const std::int32_t* __restrict index, std::int64_t step,
                 T* __restrict grad_x, std::int64_t out_step, std::int32_t position, std::int32_t position_step) {
  if (step == 1 && out_step == 1 && position_step == 0) {
    if constexpr (std::is_same_v<T, float>) return loops().pool.give_chosen(grad, index, grad_x, n, position);
    if constexpr (std::is_same_v<T, bfloat16_t>)
      return half_pool_loops().give_chosen(&grad->bits, index, &grad_x->bits, n, position);
  }
  for (std::int64_t i = 0; i < n; ++i)
    if (index[i * step] == position + static_cast<std::int32_t>(i) * position_step)
      give(grad[i * step], grad_x[i * out_step]);
}

template <class T>
void add(std::int64_t n, const T* __restrict x, std::int64_t step, T* __restrict y, std::int64_t out_step) {
  if (step == 1 && out_step == 1)
    for (std::int64_t i = 0; i < n; ++i) y[i] += x[i];
  else
    for (std::int64_t i = 0; i < n; ++i) y[i * out_step] += x[i * step];
}

/// The geometry of an image batch and the pooled one.
struct PoolGeometry {
  Window h, w;
  std::int64_t batch, channels;
  Strides big, small;  // strides of x (or its gradient) and of y (or its gradient and the indices)
  bool by_channel;     // inner loops run over channels

  int threads(std::int64_t itemsize) const {
    const std::int64_t bytes = batch * channels * (h.in * w.in + h.out * w.out) * itemsize;
    return bytes < kParallelBytes ? 1 : num_threads();
  }
  std::int64_t lanes() const { return by_channel ? 1 : channels; }
};

PoolGeometry geometry_of(const Pool2dParams& p, const View& big, const View& small) {
  const Shape &x = big.shape(), &y = small.shape();
  return {{p.kernel[0], p.stride[0], p.padding[0], p.dilation[0], x[2], y[2]},
          {p.kernel[1], p.stride[1], p.padding[1], p.dilation[1], x[3], y[3]},
          x[0],
          x[1],
          big.strides(),
          small.strides(),
          big.strides()[1] == 1 && small.strides()[1] == 1 && (x[1] > 1 || x[3] == 1)};
}

/// Calls f(n, c, row) for each row, in parallel.  c is 0 if inner loops run over channels.
template <class F> void for_rows(const PoolGeometry& p, std::int64_t rows, std::int64_t itemsize, const F& f) {
  const std::int64_t lanes = p.lanes(), total = p.batch * lanes * rows;
  parallel_loop(total, p.threads(itemsize), [&](std::int64_t i) { f(i / rows / lanes, i / rows % lanes, i % rows); });
}

template <class T> constexpr T lowest() {
  if constexpr (std::is_same_v<T, bfloat16_t>) return bfloat16_t::from_bits(0xff80);
  else if constexpr (std::numeric_limits<T>::has_infinity) return -std::numeric_limits<T>::infinity();
  else return std::numeric_limits<T>::lowest();
}

template <class T> void max_row(const PoolGeometry& p, const T* x, T* y, std::int32_t* index, std::int64_t oh) {
  const auto channels = p.by_channel ? p.channels : 1;
  const std::int64_t step = p.by_channel ? 1 : 0;
  const std::int64_t first_row = p.h.first_inside(oh) * p.w.in;
  const bool dense = !p.by_channel && p.small[3] == 1;
  // The first inputs of windows that begin inside are evenly apart: a loop that is vectorized.
  const std::int64_t begin = dense ? p.w.first(0) : 0, end = dense ? std::max(begin, p.w.last(0)) : 0;
  if (end > begin) {
    std::fill(y + begin, y + end, lowest<T>());
    auto at = static_cast<std::int32_t>(first_row + p.w.input(begin, 0));
    for (std::int64_t ow = begin; ow < end; ++ow, at += static_cast<std::int32_t>(p.w.stride)) index[ow] = at;
  }
  for (std::int64_t ow = begin == 0 ? end : 0; ow < p.w.out; ow = ow + 1 == begin ? end : ow + 1) {
    const auto start = static_cast<std::int32_t>(first_row + p.w.first_inside(ow));
    for (std::int64_t c = 0; c < channels; ++c) {
      y[ow * p.small[3] + c * step] = lowest<T>();
      index[ow * p.small[3] + c * step] = start;
    }
    if (!p.by_channel) continue;
    for (std::int64_t kh = p.h.first_tap(oh); kh < p.h.last_tap(oh); ++kh)
      for (std::int64_t kw = p.w.first_tap(ow); kw < p.w.last_tap(ow); ++kw) {
        const std::int64_t ih = p.h.input(oh, kh), iw = p.w.input(ow, kw);
        take_largest(channels, x + ih * p.big[2] + iw * p.big[3], 1, y + ow * p.small[3], index + ow * p.small[3], 1,
                     static_cast<std::int32_t>(ih * p.w.in + iw), 0);
      }
  }
  if (p.by_channel) return;
  for (std::int64_t kh = p.h.first_tap(oh); kh < p.h.last_tap(oh); ++kh)
    for (std::int64_t kw = p.w.first_tap(); kw < p.w.last_tap(); ++kw) {
      const std::int64_t ih = p.h.input(oh, kh), first = p.w.first(kw), n = p.w.last(kw) - first;
      if (n <= 0) continue;
      const std::int64_t iw = p.w.input(first, kw);
      take_largest(n, x + ih * p.big[2] + iw * p.big[3], p.w.stride * p.big[3], y + first * p.small[3],
                   index + first * p.small[3], p.small[3], static_cast<std::int32_t>(ih * p.w.in + iw),
                   static_cast<std::int32_t>(p.w.stride));
    }
}

template <class T> void max_forward(const PoolGeometry& p, const View& x, const View& y, const View& indices) {
  const auto* in = static_cast<const T*>(x.raw_data());
  auto* out = static_cast<T*>(y.raw_data());
  auto* index = static_cast<std::int32_t*>(indices.raw_data());
  for_rows(p, p.h.out, sizeof(T), [&](std::int64_t n, std::int64_t c, std::int64_t oh) {
    const std::int64_t at = n * p.small[0] + c * p.small[1] + oh * p.small[2];
    max_row(p, in + n * p.big[0] + c * p.big[1], out + at, index + at, oh);
  });
}

/// For one row of the input, calls f for each run of elements and the outputs that read it, in a fixed order: f(n,
/// offset in the output's plane, its step, offset in the input's row, its step, input column, column step, ow).
template <class F> void for_windows_reading(const PoolGeometry& p, std::int64_t ih, const F& f) {
  for (std::int64_t kh = p.h.first_reading(ih); kh < p.h.last_reading(ih); ++kh) {
    const std::int64_t oh = p.h.output(ih, kh);
    if (oh < 0) continue;
    for (std::int64_t kw = p.w.first_tap(); kw < p.w.last_tap(); ++kw) {
      const std::int64_t first = p.w.first(kw), last = p.w.last(kw);
      if (!p.by_channel) {
        if (last > first) f(oh, first, last - first, p.w.input(first, kw));
        continue;
      }
      for (std::int64_t ow = first; ow < last; ++ow) f(oh, ow, 1, p.w.input(ow, kw));
    }
  }
}

template <class T> void clear_row(const PoolGeometry& p, T* row) {
  const std::int64_t channels = p.by_channel ? p.channels : 1;
  if (p.big[3] == channels) {
    std::fill_n(row, p.w.in * channels, T{});
    return;
  }
  for (std::int64_t iw = 0; iw < p.w.in; ++iw) std::fill_n(row + iw * p.big[3], channels, T{});
}

template <class T> void max_backward(const PoolGeometry& p, const View& grad, const View& indices, const View& grad_x) {
  const auto* from = static_cast<const T*>(grad.raw_data());
  const auto* index = static_cast<const std::int32_t*>(indices.raw_data());
  auto* to = static_cast<T*>(grad_x.raw_data());
  for_rows(p, p.h.in, sizeof(T), [&](std::int64_t n, std::int64_t c, std::int64_t ih) {
    T* row = to + n * p.big[0] + c * p.big[1] + ih * p.big[2];
    const std::int64_t plane = n * p.small[0] + c * p.small[1];
    clear_row(p, row);
    for_windows_reading(p, ih, [&](std::int64_t oh, std::int64_t ow, std::int64_t count, std::int64_t iw) {
      const std::int64_t at = plane + oh * p.small[2] + ow * p.small[3];
      const auto position = static_cast<std::int32_t>(ih * p.w.in + iw);
      if (p.by_channel) give_chosen(p.channels, from + at, index + at, 1, row + iw * p.big[3], 1, position, 0);
      else
        give_chosen(count, from + at, index + at, p.small[3], row + iw * p.big[3], p.w.stride * p.big[3], position,
                    static_cast<std::int32_t>(p.w.stride));
    });
  });
}

template <class T> void avg_forward(const PoolGeometry& p, bool include_pad, const View& x, const View& y) {
  const auto* from = static_cast<const T*>(x.raw_data());
  auto* to = static_cast<T*>(y.raw_data());
  const std::int64_t channels = p.by_channel ? p.channels : 1;
  for_rows(p, p.h.out, sizeof(T), [&](std::int64_t n, std::int64_t c, std::int64_t oh) {
    const T* plane = from + n * p.big[0] + c * p.big[1];
    T* row = to + n * p.small[0] + c * p.small[1] + oh * p.small[2];
    for (std::int64_t ow = 0; ow < p.w.out; ++ow) std::fill_n(row + ow * p.small[3], channels, T(0));
    for (std::int64_t kh = p.h.first_tap(oh); kh < p.h.last_tap(oh); ++kh) {
      const std::int64_t ih = p.h.input(oh, kh);
      for (std::int64_t kw = p.w.first_tap(); kw < p.w.last_tap(); ++kw) {
        const std::int64_t first = p.w.first(kw), last = p.w.last(kw);
        const T* line = plane + ih * p.big[2];
        if (!p.by_channel && last > first)
          add(last - first, line + p.w.input(first, kw) * p.big[3], p.w.stride * p.big[3], row + first * p.small[3],
              p.small[3]);
        for (std::int64_t ow = first; p.by_channel && ow < last; ++ow)
          add(channels, line + p.w.input(ow, kw) * p.big[3], 1, row + ow * p.small[3], 1);
      }
    }
    for (std::int64_t ow = 0; ow < p.w.out; ++ow) {
      const T count = static_cast<T>(p.h.count(oh, include_pad)) * static_cast<T>(p.w.count(ow, include_pad));
      for (std::int64_t k = 0; k < channels; ++k) row[ow * p.small[3] + k] /= count;
    }
  });
}

template <class T> void avg_backward(const PoolGeometry& p, bool include_pad, const View& grad, const View& grad_x) {
  const auto* from = static_cast<const T*>(grad.raw_data());
  auto* to = static_cast<T*>(grad_x.raw_data());
  for_rows(p, p.h.in, sizeof(T), [&](std::int64_t n, std::int64_t c, std::int64_t ih) {
    T* row = to + n * p.big[0] + c * p.big[1] + ih * p.big[2];
    const std::int64_t plane = n * p.small[0] + c * p.small[1];
    const std::int64_t channels = p.by_channel ? p.channels : 1;
    clear_row(p, row);
    for_windows_reading(p, ih, [&](std::int64_t oh, std::int64_t ow0, std::int64_t outputs, std::int64_t iw) {
      for (std::int64_t i = 0; i < outputs; ++i) {
        const T scale =
            T(1) / (static_cast<T>(p.h.count(oh, include_pad)) * static_cast<T>(p.w.count(ow0 + i, include_pad)));
        const T* __restrict g = from + plane + oh * p.small[2] + (ow0 + i) * p.small[3];
        T* __restrict sum = row + (iw + i * p.w.stride) * p.big[3];
        for (std::int64_t k = 0; k < channels; ++k) sum[k] += g[k] * scale;
      }
    });
  });
}

MemoryFormat format_of(const View& t) {
  return t.is_contiguous(MemoryFormat::channels_last) ? MemoryFormat::channels_last : MemoryFormat::contiguous;
}

/// The dtype in which elements are pooled.
DType pool_dtype(DType dtype) {
  if (dtype == DType::float64 || dtype == DType::int64) return dtype;
  return is_floating_point(dtype) ? DType::float32 : DType::int64;
}

template <class F> void visit(DType dtype, const F& f) {
  if (dtype == DType::float32) f(float());
  else if (dtype == DType::float64) f(double());
  else f(std::int64_t());
}

/// The same for the largest elements.
template <class F> void visit_largest(DType dtype, const F& f) {
  if (dtype == DType::bfloat16) f(bfloat16_t());
  else visit(dtype, f);
}

/// Whether an element of the input may be in several windows.
bool windows_overlap(const Pool2dParams& p) {
  return (p.kernel[0] - 1) * p.dilation[0] >= p.stride[0] || (p.kernel[1] - 1) * p.dilation[1] >= p.stride[1];
}

/// `t` itself, or new memory in another dtype, from which the caller converts back.
View output_as(const View& t, DType dtype) { return t.dtype() == dtype ? t : scratch(t.shape(), dtype, format_of(t)); }

View input_as(const View& t, DType dtype) { return t.dtype() == dtype ? t : packed(t, dtype, format_of(t)); }

}  // namespace

template <> void execute(const calls::MaxPool2d& args) {
  const View &x = args.x, &y = args.y, &indices = args.indices;
  const Pool2dParams& params = args.params;
  if (y.numel() == 0) return;
  const DType dtype = x.dtype() == DType::bfloat16 ? DType::bfloat16 : pool_dtype(x.dtype());
  const View from = input_as(x, dtype), to = scratch(y.shape(), dtype, format_of(y));
  const bool direct = y.dtype() == dtype && y.strides() == indices.strides();
  const View out = direct ? y : to, index = direct ? indices : scratch(y.shape(), DType::int32, format_of(y));
  const PoolGeometry plan = geometry_of(params, from, out);
  visit_largest(dtype, [&](auto t) { max_forward<decltype(t)>(plan, from, out, index); });
  if (direct) return;
  convert(out, y);
  convert(index, indices);
}

template <> void execute(const calls::MaxPool2dBackward& args) {
  const View &grad = args.grad, &indices = args.indices, &grad_x = args.grad_x;
  const Pool2dParams& params = args.params;
  if (grad_x.numel() == 0) return;
  const bool sums = grad_x.dtype() != DType::bfloat16 || windows_overlap(params);
  const DType dtype = sums ? pool_dtype(grad_x.dtype()) : DType::bfloat16;
  // Gradient and indices need the same strides.
  const bool same_strides = grad.dtype() == dtype && grad.strides() == indices.strides();
  const View from = same_strides ? grad : packed(grad, dtype, format_of(indices));
  const View index = same_strides ? indices : packed(indices, DType::int32, format_of(indices));
  const View to = output_as(grad_x, dtype);
  const PoolGeometry plan = geometry_of(params, to, from);
  visit_largest(dtype, [&](auto t) { max_backward<decltype(t)>(plan, from, index, to); });
  if (!to.is_same(grad_x)) convert(to, grad_x);
}

template <> void execute(const calls::AvgPool2d& args) {
  const View &x = args.x, &y = args.y;
  const Pool2dParams& params = args.params;
  if (y.numel() == 0) return;
  const DType dtype = pool_dtype(x.dtype());
  const View from = input_as(x, dtype), to = output_as(y, dtype);
  const PoolGeometry plan = geometry_of(params, from, to);
  visit(dtype, [&](auto t) { avg_forward<decltype(t)>(plan, params.count_include_pad, from, to); });
  if (!to.is_same(y)) convert(to, y);
}

template <> void execute(const calls::AvgPool2dBackward& args) {
  const View &grad = args.grad, &grad_x = args.grad_x;
  const Pool2dParams& params = args.params;
  if (grad_x.numel() == 0) return;
  const DType dtype = pool_dtype(grad_x.dtype());
  const View from = input_as(grad, dtype), to = output_as(grad_x, dtype);
  const PoolGeometry plan = geometry_of(params, to, from);
  visit(dtype, [&](auto t) { avg_backward<decltype(t)>(plan, params.count_include_pad, from, to); });
  if (!to.is_same(grad_x)) convert(to, grad_x);
}

}  // namespace minnow::cpu
