#include <algorithm>
#include <limits>
#include <vector>
#include <minnow/tensor/cpu/convolution/pool_loops.h>
#include <minnow/tensor/cpu/convolution/window.h>
#include <minnow/tensor/cpu/cpu_backend.h>
#include <minnow/tensor/cpu/elementwise/dense_copy.h>
#include <minnow/tensor/cpu/elementwise/elements.h>
#include <minnow/tensor/cpu/runtime/parallel.h>
#include <minnow/tensor/cpu/runtime/scratch.h>
#include <minnow/tensor/half.h>
#include <minnow/tensor/internal.h>

// Windows are pooled by their rows first, all columns at a time, and then by their columns: the cost grows with the sum
// of a kernel's sizes, not with the product.  The elements of a column are a pixel's channels in channels-last, else
// one.

namespace minnow::cpu {
namespace {

constexpr std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }

/// The window of each output along a dimension: elements begin, begin + step, ... before end.  None ends before the
/// last.
struct Spans {
  std::vector<std::int64_t> begin, end;
  std::vector<double> counts;  ///< the divisors of averages
  std::int64_t step = 1;

  Spans(const Window& w, bool adaptive, bool include_pad) : step(w.dilation) {
    for (std::int64_t o = 0; o < w.out; ++o) {
      const std::int64_t first = w.first_tap(o), last = w.last_tap(o), none = w.input(o, 0) < w.in ? 0 : w.in;
      begin.push_back(adaptive ? o * w.in / w.out : last > first ? w.input(o, first) : none);
      end.push_back(adaptive ? ((o + 1) * w.in + w.out - 1) / w.out : last > first ? w.input(o, last - 1) + 1 : none);
      counts.push_back(static_cast<double>(adaptive ? end.back() - begin.back() : w.count(o, include_pad)));
    }
  }
  /// The number of elements of the largest window.
  std::int64_t most() const {
    std::int64_t n = 0;
    for (std::size_t o = 0; o < begin.size(); ++o) n = std::max(n, (end[o] - begin[o] + step - 1) / step);
    return n;
  }
  RowWindows of_rows(std::int64_t inner) const {
    return {begin.data(), end.data(), static_cast<std::int64_t>(begin.size()), step, inner};
  }
  /// The outputs whose windows hold each of n elements, of windows without gaps.
  Spans(const Spans& windows, std::int64_t n) {
    std::size_t first = 0, last = 0;
    for (std::int64_t i = 0; i < n; ++i) {
      while (first < windows.end.size() && windows.end[first] <= i) ++first;
      while (last < windows.begin.size() && windows.begin[last] <= i) ++last;
      begin.push_back(static_cast<std::int64_t>(first));
      end.push_back(static_cast<std::int64_t>(last));
    }
  }
};

/// The geometry of an image batch and the pooled one.
struct PoolGeometry {
  Window h, w;
  Spans rows, columns;
  std::int64_t batch, channels;
  Strides big, small;  // strides of x (or its gradient) and of y (or its gradient and the indices)
  std::int64_t inner;  // elements of a column
  bool adaptive;

  std::int64_t lanes() const { return channels / inner; }
  int threads(const View& x) const {
    // A comparison with its index takes as long as several copies.
    const std::int64_t bytes =
        4 * batch * channels * (h.in * w.in + h.out * w.out) * static_cast<std::int64_t>(x.itemsize());
    return bytes < kParallelBytes ? 1 : num_threads();
  }
  /// Whether windows have neighbours one element apart.
  bool slides() const { return w.stride == 1 && !adaptive; }
  /// Calls f(first output, first column, count) for each tap of a row.
  template <class F> void for_taps(const F& f) const {
    for (std::int64_t k = w.first_tap(); k < w.last_tap(); ++k)
      if (const std::int64_t o = w.first(k), n = w.last(k) - o; n > 0) f(o, w.input(o, k), n);
  }
  std::int64_t in_row() const { return w.in * inner; }
  std::int64_t out_row() const { return w.out * inner; }
};

/// Whether the elements of a row are dense, in columns of `inner`.
bool has_rows(const View& t, std::int64_t inner) {
  return (t.strides()[3] == inner || t.shape()[3] == 1) && (inner == 1 || t.strides()[1] == 1);
}

MemoryFormat format_of(const View& big, const View& small) {
  const bool by_channel = big.strides()[1] == 1 && small.strides()[1] == 1 && big.shape()[1] > 1;
  return by_channel ? MemoryFormat::channels_last : MemoryFormat::contiguous;
}
std::int64_t inner_of(MemoryFormat format, const View& t) {
  return format == MemoryFormat::channels_last ? t.shape()[1] : 1;
}

PoolGeometry geometry_of(const Pool2dParams& p, const View& big, const View& small, std::int64_t inner) {
  const Shape &x = big.shape(), &y = small.shape();
  const Window h{p.kernel[0], p.stride[0], p.padding[0], p.dilation[0], x[2], y[2]},
      w{p.kernel[1], p.stride[1], p.padding[1], p.dilation[1], x[3], y[3]};
  const bool adaptive = p.adaptive, padded = p.count_include_pad;
  return {h,
          w,
          Spans(h, adaptive, padded),
          Spans(w, adaptive, padded),
          x[0],
          x[1],
          big.strides(),
          small.strides(),
          inner,
          adaptive};
}

/// Calls f(offset of n and c in big, in small, row) for each row, in parallel.
template <class F> void for_rows(const PoolGeometry& p, std::int64_t rows, const View& x, const F& f) {
  const std::int64_t lanes = p.lanes();
  parallel_loop(p.batch * lanes * rows, p.threads(x), [&](std::int64_t i) {
    const std::int64_t n = i / rows / lanes, c = i / rows % lanes;
    f(n * p.big[0] + c * p.big[1], n * p.small[0] + c * p.small[1], i % rows);
  });
}

template <class T> const WindowLoops& loops_of() { return window_loops().loops[std::is_same_v<T, double> ? 1 : 0]; }

/// The largest element of each window of a row, from the largest of the columns.
template <class T>
void max_of_columns(const PoolGeometry& p, const T* x, const std::int32_t* rows, T* y, std::int32_t* index) {
  const WindowLoops& l = loops_of<T>();
  const RowWindows all = p.columns.of_rows(p.inner);
  const auto one_by_one = [&](std::int64_t first, std::int64_t last) {
    l.largest_windows(x, rows, {all.begin + first, all.end + first, last - first, all.step, all.inner},
                      y + first * p.inner, index + first * p.inner);
  };
  if (p.inner > 1 || p.w.stride > 2 || p.adaptive) return one_by_one(0, p.w.out);
  const std::int64_t first = std::min(p.w.first(0), p.w.out), last = std::max(first, p.w.last(p.w.kernel - 1)),
                     i = p.w.input(first, 0);  // windows without padding
  one_by_one(0, first);
  if (first < last)
    l.take_columns(x + i, rows ? rows + i : nullptr,
                   {last - first, p.w.dilation, i, static_cast<int>(p.w.kernel), static_cast<int>(p.w.stride)},
                   y + first, index + first);
  one_by_one(last, p.w.out);
}

/// The rows of a window, whose halves are converted to floats in `room`.
const void* rows_of(const Elements& t, std::int64_t at, std::int64_t stride, std::int64_t count, std::int64_t n,
                    float* room) {
  const void* const first = t.read(at, count > 0 ? n : 0, room);
  for (std::int64_t r = 1; r < count && t.converts(); ++r) t.read(at + r * stride, n, room);
  return first;
}

template <class T> void max_forward(const PoolGeometry& p, const View& x, const View& y, const View& indices) {
  const Elements from(x), to(y);
  auto* index = static_cast<std::int32_t*>(indices.raw_data());
  const auto width = static_cast<std::size_t>(p.in_row()), rows_read = from.converts() ? at(p.rows.most()) : 0;
  const ThreadScratch scratch(((1 + rows_read) * width + static_cast<std::size_t>(p.out_row())) * sizeof(T) +
                              width * 4);
  for_rows(p, p.h.out, x, [&](std::int64_t in, std::int64_t out, std::int64_t o) {
    T* const best = static_cast<T*>(scratch.mine());
    auto* const rows = reinterpret_cast<std::int32_t*>(best + width);
    auto* const buffer = reinterpret_cast<float*>(rows + width);
    const std::int64_t begin = p.rows.begin[at(o)], step = p.rows.step,
                       count = (p.rows.end[at(o)] - begin + step - 1) / step;
    const bool line = p.h.in == 1 && count > 0;  // whose columns are places
    const void* const data = rows_of(from, in + begin * p.big[2], step * p.big[2], count, p.in_row(),
                                     line ? reinterpret_cast<float*>(best) : buffer);
    if (!line && count > 0)
      loops_of<T>().largest_rows(data, from.converts() ? p.in_row() : step * p.big[2], count, p.in_row(),
                                 static_cast<std::int32_t>(begin * p.w.in), static_cast<std::int32_t>(step * p.w.in),
                                 best, rows);
    else if (!line) std::fill_n(best, width, -std::numeric_limits<T>::infinity()), std::fill_n(rows, width, 0);
    const std::int64_t place = out + o * p.small[2];
    float* room = buffer;
    T* const row = static_cast<T*>(to.write(place, p.out_row(), room));
    if (line) max_of_columns(p, static_cast<const T*>(data), nullptr, row, index + place);
    else max_of_columns(p, best, rows, row, index + place);
    to.written(place, p.out_row(), row);
  });
}

/// Windows of bfloat16 have no element in common: there is nothing to add, and to round.
void give(bfloat16_t from, bfloat16_t& to) { to = from; }
template <class T> void give(T from, T& to) { to += from; }

/// Outputs go to the elements that they came from, the last one first.
template <class T> void max_backward(const PoolGeometry& p, const View& grad, const View& indices, const View& grad_x) {
  const auto* from = static_cast<const T*>(grad.raw_data());
  const auto* index = static_cast<const std::int32_t*>(indices.raw_data());
  auto* to = static_cast<T*>(grad_x.raw_data());
  constexpr std::int64_t kChannels = 64;
  const std::int64_t block = std::min(p.inner, kChannels), blocks = (p.channels + block - 1) / block;
  parallel_loop(p.batch * blocks, p.threads(grad_x), [&](std::int64_t item) {
    const std::int64_t c = item % blocks * block, channels = std::min(block, p.channels - c);
    T* const image = to + item / blocks * p.big[0] + c * p.big[1];
    for (std::int64_t h = 0; h < p.h.in; ++h)
      for (std::int64_t w = 0; w < (p.inner == 1 ? 1 : p.w.in); ++w)
        std::fill_n(image + h * p.big[2] + w * p.inner, p.inner == 1 ? p.w.in : channels, T{});
    const std::int64_t plane = item / blocks * p.small[0] + c * p.small[1];
    for (std::int64_t h = p.h.out; h-- > 0;)
      for (std::int64_t w = p.w.out; w-- > 0;) {
        const std::int64_t pixel = plane + h * p.small[2] + w * p.inner;
        for (std::int64_t k = 0; k < channels; ++k) give(from[pixel + k], image[index[pixel + k] * p.inner + k]);
      }
  });
}

template <class T> void avg_forward(const PoolGeometry& p, const View& x, const View& y) {
  const WindowLoops& l = loops_of<T>();
  const Elements from(x), to(y);
  const std::int64_t most = p.rows.most(), read = from.converts() ? most : 0;
  const std::vector<double> ones(at(most), 1.0);
  const ThreadScratch scratch(static_cast<std::size_t>((1 + read) * p.in_row() + p.out_row()) * sizeof(T));
  for_rows(p, p.h.out, x, [&](std::int64_t in, std::int64_t out, std::int64_t o) {
    T* const sums = static_cast<T*>(scratch.mine());
    auto* const buffer = reinterpret_cast<float*>(sums + p.in_row());
    const std::int64_t begin = p.rows.begin[at(o)], count = p.rows.end[at(o)] - begin;
    const void* const data = rows_of(from, in + begin * p.big[2], p.big[2], count, p.in_row(), buffer);
    if (count > 0) l.sum_rows(data, from.converts() ? p.in_row() : p.big[2], ones.data(), count, p.in_row(), sums);
    else std::fill_n(sums, p.in_row(), T(0));
    const std::int64_t place = out + o * p.small[2];
    float* room = buffer;
    T* const row = static_cast<T*>(to.write(place, p.out_row(), room));
    if (p.slides()) {
      std::fill_n(row, p.out_row(), T(0));
      p.for_taps([&](std::int64_t w, std::int64_t i, std::int64_t n) {
        l.add(sums + i * p.inner, n * p.inner, row + w * p.inner);
      });
    } else {
      l.sum_windows(sums, p.columns.of_rows(p.inner), row);
    }
    l.divide(row, p.columns.counts.data(), p.rows.counts[at(o)], p.w.out, p.inner);
    to.written(place, p.out_row(), row);
  });
}

/// Rows of the input that the same windows read have the same gradient.
template <class T> void avg_backward(const PoolGeometry& p, const View& grad, const View& grad_x) {
  const WindowLoops& l = loops_of<T>();
  const Spans windows(p.rows, p.h.in);
  std::vector<std::int64_t> groups;  // the first rows
  for (std::size_t i = 0; i < windows.begin.size(); ++i)
    if (i == 0 || windows.begin[i] != windows.begin[i - 1] || windows.end[i] != windows.end[i - 1])
      groups.push_back(static_cast<std::int64_t>(i));
  const auto count = static_cast<std::int64_t>(groups.size());
  groups.push_back(p.h.in);
  const Elements from(grad), to(grad_x);
  const std::int64_t read = from.converts() ? windows.most() : 0;
  const ThreadScratch scratch(static_cast<std::size_t>(p.in_row() + (1 + read) * p.out_row()) * sizeof(T));
  for_rows(p, count, grad_x, [&](std::int64_t in, std::int64_t out, std::int64_t group) {
    T* const sums = static_cast<T*>(scratch.mine());
    T* const row = sums + p.out_row();
    auto* const buffer = reinterpret_cast<float*>(row + p.in_row());
    std::fill_n(row, p.in_row(), T(0));
    const std::int64_t first = groups[at(group)], begin = windows.begin[at(first)],
                       outputs = windows.end[at(first)] - begin;
    const void* const data = rows_of(from, out + begin * p.small[2], p.small[2], outputs, p.out_row(), buffer);
    if (outputs > 0) {
      l.sum_rows(data, from.converts() ? p.out_row() : p.small[2], p.rows.counts.data() + begin, outputs, p.out_row(),
                 sums);
      l.divide(sums, p.columns.counts.data(), 1, p.w.out, p.inner);
      if (p.slides())
        p.for_taps([&](std::int64_t w, std::int64_t i, std::int64_t n) {
          l.add(sums + w * p.inner, n * p.inner, row + i * p.inner);
        });
      else l.add_to_windows(sums, p.columns.of_rows(p.inner), row);
    }
    for (std::int64_t i = first; i < groups[at(group + 1)]; ++i) to.store(in + i * p.big[2], p.in_row(), row);
  });
}

/// `t` itself where its rows can be read, or a copy.
View with_rows(const View& t, MemoryFormat format) {
  return has_rows(t, inner_of(format, t)) ? t : packed(t, t.dtype(), format);
}

template <class F> void visit(DType dtype, const F& f) {
  if (dtype == DType::float64) f(double());
  else f(float());
}

/// Whether an element of the input may be in several windows.
bool windows_overlap(const Pool2dParams& p) {
  return p.adaptive || (p.kernel[0] - 1) * p.dilation[0] >= p.stride[0] ||
         (p.kernel[1] - 1) * p.dilation[1] >= p.stride[1];
}

}  // namespace

template <> void execute(const calls::MaxPool2d& args) {
  const View &x = args.x, &y = args.y, &indices = args.indices;
  if (y.numel() == 0) return;
  const Shape& size = x.shape();
  if (args.params.adaptive && y.numel() == size[0] * size[1] && size[2] > 1 && x.is_contiguous()) {
    // Whole images are rows.
    const View rows(x.storage(), x.dtype(), {size[0], size[1], 1, size[2] * size[3]},
                    {x.strides()[0], x.strides()[1], size[2] * size[3], 1}, x.storage_offset());
    return execute(calls::MaxPool2d{rows, y, indices, args.params});
  }
  const MemoryFormat format = format_of(x, y);
  const bool direct = has_rows(y, inner_of(format, y)) && y.strides() == indices.strides();
  const View from = with_rows(x, format), to = direct ? y : scratch(y.shape(), y.dtype(), format),
             index = direct ? indices : scratch(y.shape(), DType::int32, format);
  const PoolGeometry plan = geometry_of(args.params, from, to, inner_of(format, y));
  visit(y.dtype(), [&](auto t) { max_forward<decltype(t)>(plan, from, to, index); });
  if (direct) return;
  convert(to, y);
  convert(index, indices);
}

template <> void execute(const calls::MaxPool2dBackward& args) {
  const View &grad = args.grad, &indices = args.indices, &grad_x = args.grad_x;
  if (grad_x.numel() == 0) return;
  const bool sums = grad_x.dtype() != DType::bfloat16 || windows_overlap(args.params);
  const DType dtype = sums && is_half(grad_x.dtype()) ? DType::float32 : grad_x.dtype();
  const MemoryFormat format = format_of(grad_x, indices);
  const View index = packed(indices, DType::int32, format), from = packed(grad, dtype, format);
  const View to =
      grad_x.dtype() == dtype && grad_x.is_contiguous(format) ? grad_x : scratch(grad_x.shape(), dtype, format);
  const PoolGeometry plan = geometry_of(args.params, to, from, inner_of(format, to));
  if (dtype == DType::bfloat16) max_backward<bfloat16_t>(plan, from, index, to);
  else visit(dtype, [&](auto t) { max_backward<decltype(t)>(plan, from, index, to); });
  if (!to.is_same(grad_x)) convert(to, grad_x);
}

template <> void execute(const calls::AvgPool2d& args) {
  const View &x = args.x, &y = args.y;
  if (y.numel() == 0) return;
  const MemoryFormat format = format_of(x, y);
  const View from = with_rows(x, format),
             to = has_rows(y, inner_of(format, y)) ? y : scratch(y.shape(), y.dtype(), format);
  const PoolGeometry plan = geometry_of(args.params, from, to, inner_of(format, y));
  visit(y.dtype(), [&](auto t) { avg_forward<decltype(t)>(plan, from, to); });
  if (!to.is_same(y)) convert(to, y);
}

template <> void execute(const calls::AvgPool2dBackward& args) {
  const View &grad = args.grad, &grad_x = args.grad_x;
  if (grad_x.numel() == 0) return;
  const MemoryFormat format = format_of(grad_x, grad);
  const View from = with_rows(grad, format),
             to = has_rows(grad_x, inner_of(format, grad_x)) ? grad_x : scratch(grad_x.shape(), grad_x.dtype(), format);
  const PoolGeometry plan = geometry_of(args.params, to, from, inner_of(format, to));
  visit(grad_x.dtype(), [&](auto t) { avg_backward<decltype(t)>(plan, from, to); });
  if (!to.is_same(grad_x)) convert(to, grad_x);
}

}  // namespace minnow::cpu
