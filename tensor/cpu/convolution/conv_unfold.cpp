#include <minnow/tensor/cpu/convolution/conv_unfold.h>

#include <algorithm>
#include <minnow/tensor/cpu/convolution/window.h>
#include <minnow/tensor/cpu/cpu_backend.h>
#include <minnow/tensor/cpu/elementwise/dense_copy.h>
#include <minnow/tensor/cpu/products/gemm.h>
#include <minnow/tensor/cpu/runtime/buffer.h>
#include <minnow/tensor/cpu/runtime/each_part.h>
#include <minnow/tensor/cpu/runtime/parallel.h>
#include <minnow/tensor/kernels/reduce.h>

namespace minnow::cpu {
namespace {

constexpr std::int64_t kPositions = 512;     // of a block
constexpr std::int64_t kElements = 1 << 22;  // of a block with one channel, and of a table of sources

/// Whether the images are so small that all are unfolded as one: a channel of all of them is a row.
bool are_joined(const Shape& w, const Shape& y) {
  constexpr std::int64_t kSmall = 64;
  return y[0] > 1 && y[2] * y[3] <= kSmall && w[2] * w[3] <= kElements / (y[0] * y[2] * y[3]);
}

/// Elements that the windows of a convolution read, as matrices: a row for each channel and tap, a column for each
/// position of y.  A block has some channels of a group and some positions, so that it stays in the second-level cache.
/// x and y: of laid_out().
template <class T> class Unfolded {
 public:
  Unfolded(const Conv2dParams& p, const View& x, const Shape& w, const View& y)
      : groups(p.groups),
        images(are_joined(w, y.shape()) ? 1 : x.shape()[0]),
        inputs(w[1]),
        outputs(w[0] / p.groups),
        positions(x.shape()[0] / std::max<std::int64_t>(1, images) * y.shape()[2] * y.shape()[3]),
        taps(w[2] * w[3]),
        rows_{w[2], p.stride[0], p.padding[0], p.dilation[0], x.shape()[2], y.shape()[2]},
        columns_{w[3], p.stride[1], p.padding[1], p.dilation[1], x.shape()[3], y.shape()[3]},
        x_(static_cast<T*>(x.raw_data())),
        y_(static_cast<T*>(y.raw_data())),
        is_same_(taps == 1 && p.padding[0] + p.padding[1] == 0 && p.stride[0] * p.stride[1] == 1),
        channel_step_(
            std::clamp<std::int64_t>(kDepth / std::max<std::int64_t>(1, taps), 1, std::max<std::int64_t>(1, inputs))),
        position_step_(
            std::min({kPositions, positions, std::max<std::int64_t>(1, kElements / std::max<std::int64_t>(1, taps))})),
        plane_(x.shape()[0] / std::max<std::int64_t>(1, images) * rows_.in * columns_.in),
        table_(are_joined(w, y.shape()) && !is_same_ ? sizeof(std::int64_t) * static_cast<std::size_t>(taps * positions)
                                                     : 0),
        sources_(static_cast<std::int64_t*>(table_.data())) {
    if (sources_ != nullptr) find_sources();
  }

  const std::int64_t groups, images, inputs, outputs, positions, taps;

  std::int64_t channel_blocks() const { return (inputs + channel_step_ - 1) / channel_step_; }
  std::int64_t position_blocks() const { return (positions + position_step_ - 1) / position_step_; }
  Range channels(std::int64_t block) const { return of_block(block, channel_step_, inputs); }
  Range block(std::int64_t block) const { return of_block(block, position_step_, positions); }
  std::int64_t row_size() const { return inputs * taps; }  // of the weights

  T* y(std::int64_t image, std::int64_t group) const { return y_ + (image * groups + group) * outputs * positions; }
  T* x(std::int64_t image, std::int64_t group, std::int64_t channel) const {
    return x_ + ((image * groups + group) * inputs + channel) * plane_;
  }

  /// Calls f(part, memory for a block): parts in parallel, or one after the other where f's products have more work for
  /// threads.
  template <class F> void for_parts(std::int64_t parts, const F& f) const {
    const std::int64_t bytes = is_same_ ? 0 : bytes_of(channel_step_, position_step_);
    if (parts >= num_threads())
      return for_each_part(parts, static_cast<std::size_t>(bytes),
                           [&](std::int64_t i, char* own) { f(i, reinterpret_cast<T*>(own)); });
    const Buffer memory(static_cast<std::size_t>(bytes));
    for (std::int64_t i = 0; i < parts; ++i) f(i, static_cast<T*>(memory.data()));
  }

  /// A matrix with dense rows.
  struct Block {
    T* data;
    std::int64_t step;
  };
  /// Where a block is, or will be.
  Block at(T* x, Range at, T* own) const { return is_same_ ? Block{x + at.begin, positions} : Block{own, at.size()}; }
  /// Reads a block from the images of its channels, with zeros for padding.
  Block read(T* x, std::int64_t channels, Range at, T* own) const {
    if (sources_ != nullptr)
      parallel_for(channels * taps, bytes_of(channels, at.size()), [&](std::int64_t row) {
        const T* const image = x + row / taps * plane_;
        const std::int64_t* const from = sources_ + row % taps * positions + at.begin;
        T* const to = own + row * at.size();
        for (std::int64_t p = 0; p < at.size(); ++p) to[p] = from[p] < 0 ? T(0) : image[from[p]];
      });
    else
      each_run(x, channels, at, own, [this](T* image, T* to, std::int64_t first, std::int64_t last, std::int64_t size) {
        std::fill(to, to + first, T(0));
        if (columns_.stride == 1) std::copy(image + first, image + last, to + first);
        else
          for (std::int64_t o = first; o < last; ++o) to[o] = image[o * columns_.stride];
        std::fill(to + last, to + size, T(0));
      });
    return this->at(x, at, own);
  }
  /// Adds a block to the elements that it was read from.
  void add(T* x, std::int64_t channels, Range at, T* own) const {
    if (sources_ == nullptr)
      return each_run(x, channels, at, own,
                      [this](T* image, const T* from, std::int64_t first, std::int64_t last, std::int64_t) {
                        if (columns_.stride == 1)
                          for (std::int64_t o = first; o < last; ++o) image[o] += from[o];
                        else
                          for (std::int64_t o = first; o < last; ++o) image[o * columns_.stride] += from[o];
                      });
    for (std::int64_t row = 0; row < channels * taps; ++row) {
      T* const image = x + row / taps * plane_;
      const std::int64_t* const to = sources_ + row % taps * positions + at.begin;
      const T* const from = own + row * at.size();
      for (std::int64_t p = 0; p < at.size(); ++p)
        if (to[p] >= 0) image[to[p]] += from[p];
    }
  }
  bool is_same() const { return is_same_; }

 private:
  static constexpr std::int64_t kDepth = 256;

  std::int64_t bytes_of(std::int64_t channels, std::int64_t size) const {
    return channels * taps * size * static_cast<std::int64_t>(sizeof(T));
  }
  static Range of_block(std::int64_t i, std::int64_t step, std::int64_t n) {
    return {i * step, std::min(n, (i + 1) * step)};
  }

  /// For each part of a row that is in one line of y: f(image, run, first, last, size) where run[o] is image[o *
  /// stride] for o in [first, last), and padding for the others below size.
  template <class F> void each_run(T* x, std::int64_t channels, Range at, T* own, const F& f) const {
    if (is_same_) return;
    for (std::int64_t row = 0; row < channels * taps; ++row) {
      const std::int64_t tap = row % taps, i = tap / columns_.kernel, j = tap % columns_.kernel;
      const std::int64_t first = columns_.first(j), last = columns_.last(j);
      T* const image = x + row / taps * rows_.in * columns_.in;
      for (std::int64_t p = at.begin; p < at.end;) {
        const std::int64_t line = p / columns_.out, from = p % columns_.out;
        const std::int64_t size = std::min(at.end - p, columns_.out - from), h = rows_.input(line, i);
        const auto within = [&](std::int64_t o) {
          return rows_.inside(h) ? std::clamp<std::int64_t>(o - from, 0, size) : 0;
        };
        const std::int64_t begin = within(first);
        // Never outside of the image, also if there is nothing to read.
        T* const start = begin < within(last) ? image + h * columns_.in + columns_.input(from, j) : image;
        f(start, own + row * at.size() + p - at.begin, begin, std::max(begin, within(last)), size);
        p += size;
      }
    }
  }

  /// For each tap the elements of joined images that the positions read, or -1 for padding: their lines are short.
  void find_sources() {
    std::int64_t* to = sources_;
    for (std::int64_t tap = 0; tap < taps; ++tap)
      for (std::int64_t p = 0; p < positions; ++p) {
        const std::int64_t line = p / columns_.out, image = line / rows_.out;
        const std::int64_t h = rows_.input(line % rows_.out, tap / columns_.kernel),
                           w = columns_.input(p % columns_.out, tap % columns_.kernel);
        const bool is_inside = rows_.inside(h) && columns_.inside(w);
        *to++ = is_inside ? (image * rows_.in + h) * columns_.in + w : -1;
      }
  }

  const Window rows_, columns_;
  T *const x_, *const y_;
  const bool is_same_;
  const std::int64_t channel_step_, position_step_;
  const std::int64_t plane_;  // elements of a channel
  const Buffer table_;
  std::int64_t* const sources_;
};

/// Images in the layout that Unfolded reads: row-major, or [C, N, H, W] if they are joined.  `t` itself if it is so.
View layout(const View& t, DType dtype, bool is_joined) {
  if (!is_joined) return t.dtype() == dtype && t.is_contiguous() ? t : scratch(t.shape(), dtype);
  const Shape& s = t.shape();
  const std::int64_t image = s[2] * s[3];
  return View(scratch(s, dtype).storage(), dtype, s, {image, s[0] * image, s[3], 1});
}
View laid_out(const View& t, DType dtype, bool is_joined) {
  const View to = layout(t, dtype, is_joined);
  if (!to.is_same(t)) convert(t, to);
  return to;
}
void store(const View& from, const View& to) {
  if (!from.is_same(to)) convert(from, to);
}

template <class T>
void forward(const Conv2dParams& params, const View& x, const View& w, const View& bias, const View& y) {
  const Unfolded<T> u(params, x, w.shape(), y);
  const T* const weights = static_cast<const T*>(w.raw_data());
  u.for_parts(u.images * u.groups * u.position_blocks(), [&](std::int64_t part, T* own) {
    const std::int64_t item = part / u.position_blocks(), n = item / u.groups, g = item % u.groups;
    const Range at = u.block(part % u.position_blocks());
    for (std::int64_t o = 0; o < u.outputs; ++o) {
      const T start = bias.defined() ? static_cast<const T*>(bias.raw_data())[g * u.outputs + o] : T(0);
      std::fill_n(u.y(n, g) + o * u.positions + at.begin, at.size(), start);
    }
    for (std::int64_t b = 0; b < u.channel_blocks(); ++b) {
      const Range channels = u.channels(b);
      const auto block = u.read(u.x(n, g, channels.begin), channels.size(), at, own);
      multiply({u.outputs, at.size(), channels.size() * u.taps,
                weights + g * u.outputs * u.row_size() + channels.begin * u.taps, u.row_size(), 1, block.data,
                block.step, 1, nullptr, u.y(n, g) + at.begin, u.positions, true});
    }
  });
}

template <class T>
void backward_input(const Conv2dParams& params, const View& grad, const View& w, const View& grad_x) {
  const Unfolded<T> u(params, grad_x, w.shape(), grad);
  const T* const weights = static_cast<const T*>(w.raw_data());
  u.for_parts(u.images * u.groups * u.channel_blocks(), [&](std::int64_t part, T* own) {
    const std::int64_t item = part / u.channel_blocks(), n = item / u.groups, g = item % u.groups;
    const Range channels = u.channels(part % u.channel_blocks());
    T* const x = u.x(n, g, channels.begin);
    if (!u.is_same() || u.outputs == 0) std::fill(x, u.x(n, g, channels.end), T(0));
    for (std::int64_t b = 0; b < u.position_blocks() && u.outputs > 0; ++b) {
      const Range at = u.block(b);
      const auto block = u.at(x, at, own);
      multiply({channels.size() * u.taps, at.size(), u.outputs,
                weights + g * u.outputs * u.row_size() + channels.begin * u.taps, 1, u.row_size(), u.y(n, g) + at.begin,
                u.positions, 1, nullptr, block.data, block.step});
      u.add(x, channels.size(), at, own);
    }
  });
}

template <class T>
void backward_weight(const Conv2dParams& params, const View& grad, const View& x, const View& grad_w) {
  const Unfolded<T> u(params, x, grad_w.shape(), grad);
  T* const weights = static_cast<T*>(grad_w.raw_data());
  u.for_parts(u.groups * u.channel_blocks(), [&](std::int64_t part, T* own) {
    const std::int64_t g = part / u.channel_blocks();
    const Range channels = u.channels(part % u.channel_blocks());
    T* const sums = weights + g * u.outputs * u.row_size() + channels.begin * u.taps;
    for (std::int64_t o = 0; o < u.outputs; ++o) std::fill_n(sums + o * u.row_size(), channels.size() * u.taps, T(0));
    for (std::int64_t n = 0; n < u.images; ++n)
      for (std::int64_t b = 0; b < u.position_blocks(); ++b) {
        const Range at = u.block(b);
        const auto block = u.read(u.x(n, g, channels.begin), channels.size(), at, own);
        multiply({u.outputs, channels.size() * u.taps, at.size(), u.y(n, g) + at.begin, u.positions, 1, block.data, 1,
                  block.step, nullptr, sums, u.row_size(), true});
      }
  });
}

/// out = the sums of the middle dimension of rows.
void sum(const View& x, const Shape& shape, const View& out) {
  const auto seen = [](const View& t, const Shape& s) {
    return View(t.storage(), t.dtype(), s, contiguous_strides(s), t.storage_offset());
  };
  execute(calls::Reduce{kernels::kIndexOf<kernels::ReduceOps, kernels::Sum>, seen(x, shape),
                        seen(out, {shape[0], shape[2]})});
}

/// float64 of float64, else float32.
DType unfolded(const View& t) { return t.dtype() == DType::float64 ? DType::float64 : DType::float32; }

/// Calls f(T()) with the type of unfolded images.
template <class F> void with_type(DType dtype, const F& f) {
  if (dtype == DType::float64) f(double());
  else f(float());
}

}  // namespace

bool suits_unfolding(ConvDirection direction, const Conv2dParams& params, const Shape& w, const Shape& y) {
  constexpr std::int64_t kWeights = 1 << 18;
  const std::int64_t most = direction == ConvDirection::backward_weight ? 512 : 128;
  return params.groups == 1 && w.numel() >= kWeights && y[0] * y[2] * y[3] <= most && (y[0] == 1 || are_joined(w, y));
}

void unfold_forward(const Conv2dParams& params, const View& x, const View& w, const View& bias, const View& y) {
  if (y.numel() == 0) return;
  const DType dtype = unfolded(y);
  const bool joined = are_joined(w.shape(), y.shape());
  const View out = layout(y, dtype, joined);
  with_type(dtype, [&](auto zero) {
    forward<decltype(zero)>(params, laid_out(x, dtype, joined), packed(w, dtype),
                            bias.defined() ? packed(bias, dtype) : bias, out);
  });
  store(out, y);
}

void unfold_backward_input(const Conv2dParams& params, const View& grad, const View& w, const View& grad_x) {
  if (grad_x.numel() == 0) return;
  const DType dtype = unfolded(grad_x);
  const bool joined = are_joined(w.shape(), grad.shape());
  const View out = layout(grad_x, dtype, joined);
  with_type(dtype, [&](auto zero) {
    backward_input<decltype(zero)>(params, laid_out(grad, dtype, joined), packed(w, dtype), out);
  });
  store(out, grad_x);
}

void unfold_backward_weight(const Conv2dParams& params, const View& grad, const View& x, const View& grad_w,
                            const View& grad_bias) {
  const DType dtype = unfolded(x);
  const bool joined = are_joined(grad_w.shape(), grad.shape());
  const View g = laid_out(grad, dtype, joined);
  if (grad_w.numel() > 0) {
    const View out = layout(grad_w, dtype, false);
    with_type(dtype, [&](auto zero) { backward_weight<decltype(zero)>(params, g, laid_out(x, dtype, joined), out); });
    store(out, grad_w);
  }
  if (!grad_bias.defined()) return;
  const Shape& y = grad.shape();
  const View out = layout(grad_bias, dtype, false);
  if (joined) {
    sum(g, {y[1], y[0] * y[2] * y[3], 1}, out);
  } else {
    const View of_images = scratch({y[0], y[1]}, dtype);
    sum(g, {y[0] * y[1], y[2] * y[3], 1}, of_images);
    sum(of_images, {1, y[0], y[1]}, out);
  }
  store(out, grad_bias);
}

}  // namespace minnow::cpu
