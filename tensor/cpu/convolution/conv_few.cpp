#include <minnow/tensor/cpu/convolution/conv_few.h>

#include <algorithm>
#include <minnow/tensor/cpu/convolution/conv_parts.h>
#include <minnow/tensor/cpu/convolution/window.h>
#include <minnow/tensor/cpu/elementwise/activate.h>
#include <minnow/tensor/cpu/elementwise/dense_copy.h>

namespace minnow::cpu {
namespace {

const float* floats(const View& t) { return static_cast<const float*>(t.raw_data()); }

/// Rows of x, one channel, with zeros beside and between them where there is padding.
class Rows {
 public:
  Rows(const Conv2dParams& p, const View& x, const Shape& w, const Shape& y)
      : x_(floats(x)),
        image_(x.strides()[0]),
        row_(x.strides()[2]),
        column_(x.strides()[3]),
        rows_{w[2], p.stride[0], p.padding[0], p.dilation[0], x.shape()[2], y[2]},
        columns_{w[3], p.stride[1], p.padding[1], p.dilation[1], x.shape()[3], y[3]} {}

  /// The memory that a thread needs for padded rows.
  std::size_t bytes() const {  // whole cache lines
    return padded() ? (sizeof(float) * static_cast<std::size_t>(width()) + 63) / 64 * 64 : 0;
  }
  /// Elements from one output to the next, and from one tap to the next, in the rows that of() gives.
  std::int64_t output_step() const { return columns_.stride * step(); }
  std::int64_t tap_step() const { return columns_.dilation * step(); }
  /// What tap i of output row o reads; nullptr: nothing but padding.  `own`: bytes() bytes.
  const float* of(std::int64_t image, std::int64_t o, std::int64_t i, float* own) const {
    const std::int64_t h = rows_.input(o, i);
    if (!rows_.inside(h)) return nullptr;
    const float* const from = x_ + image * image_ + h * row_;
    if (!padded()) return from;
    std::fill_n(own, columns_.padding, 0.0F);
    for (std::int64_t c = 0; c < columns_.in; ++c) own[columns_.padding + c] = from[c * column_];
    std::fill_n(own + columns_.padding + columns_.in, columns_.padding, 0.0F);
    return own;
  }

 private:
  bool padded() const { return columns_.padding > 0; }
  std::int64_t step() const { return padded() ? 1 : column_; }
  std::int64_t width() const { return columns_.in + 2 * columns_.padding; }

  const float* x_;
  std::int64_t image_, row_, column_;
  Window rows_, columns_;
};

/// Lines of `size` elements, which a thread has as float32: where they are, or in bytes() bytes of its own.
class Lines {
 public:
  Lines(const View& t, std::int64_t size)
      : data_(static_cast<char*>(t.raw_data())),
        size_(size),
        bytes_(size * static_cast<std::int64_t>(t.itemsize())),
        dtype_(t.dtype()) {}

  std::size_t bytes() const { return is_half(dtype_) ? sizeof(float) * static_cast<std::size_t>(size_) : 0; }
  float* open(std::int64_t line, char* own) const {
    return reinterpret_cast<float*>(is_half(dtype_) ? own : data_ + line * bytes_);
  }
  const float* load(std::int64_t line, char* own) const {
    if (is_half(dtype_)) loops().load[static_cast<int>(dtype_)][kFloat](data_ + line * bytes_, own, size_);
    return open(line, own);
  }
  void close(std::int64_t line, const float* values) const {
    if (is_half(dtype_)) loops().store[kFloat][static_cast<int>(dtype_)](values, data_ + line * bytes_, size_);
  }

 private:
  static constexpr int kFloat = static_cast<int>(Compute::kFloat);
  char* data_;
  std::int64_t size_, bytes_;
  DType dtype_;
};

/// w [O, 1, KH, KW] as [KH * KW, O].
void pack(const View& w, float* to) {
  const std::int64_t outputs = w.shape()[0], taps = w.shape()[2] * w.shape()[3];
  for (std::int64_t t = 0; t < taps; ++t)
    for (std::int64_t o = 0; o < outputs; ++o) to[t * outputs + o] = floats(w)[o * taps + t];
}

/// Adds a product of `height` rows and `width` columns, in tiles.
void add_product(GemmTile tile, std::int64_t height, std::int64_t width) {
  const GemmLoops& gemm = loops().gemm;
  const float *const a = tile.a, *const b = tile.b, *const start = tile.start;
  float* const c = tile.c;
  for (std::int64_t j = 0; j < width; j += gemm.cols)
    for (std::int64_t i = 0; i < height; i += gemm.rows) {
      tile.a = a + i * tile.a_row;
      tile.b = b + j;
      tile.c = c + i * tile.c_row + j;
      tile.start = start ? start + j : nullptr;
      gemm.tile(tile, static_cast<int>(std::min<std::int64_t>(gemm.rows, height - i)),
                static_cast<int>(std::min<std::int64_t>(gemm.cols, width - j)));
    }
}

}  // namespace

bool suits_few(const Conv2dParams& params, const Shape& x, const Shape& w) {
  return params.groups == 1 && x[1] == 1 && w[0] % 16 == 0 && w[2] * w[3] <= 128;  // whole vectors of channels
}

void few_forward(const Conv2dParams& params, const View& x, const View& w, const View& bias, const View& y,
                 Activation activation) {
  const Shape &ys = y.shape(), &ws = w.shape();
  const std::int64_t outputs = ys[1];
  const Rows rows(params, x, ws, ys);
  const View kernel = scratch({ws[2] * ws[3], outputs}, DType::float32);
  float* const weights = static_cast<float*>(kernel.raw_data());
  pack(w, weights);
  const std::int64_t lines = ys[0] * ys[2], line_size = ys[3] * outputs;
  const std::int64_t parts = std::min<std::int64_t>(lines, 64);
  const float* const added = bias.defined() ? floats(bias) : nullptr;
  const Lines out(y, line_size);
  for_each_part(parts, rows.bytes() + out.bytes(), [&](std::int64_t part, char* own) {
    for (std::int64_t line = lines * part / parts; line < lines * (part + 1) / parts; ++line) {
      float* const to = out.open(line, own + rows.bytes());
      bool more = false;
      for (std::int64_t i = 0; i < ws[2]; ++i) {
        const float* const from = rows.of(line / ys[2], line % ys[2], i, reinterpret_cast<float*>(own));
        if (!from) continue;
        add_product({from, rows.output_step(), rows.tap_step(), weights + i * ws[3] * outputs, outputs, ws[3], to,
                     outputs, more ? nullptr : added, more},
                    ys[3], outputs);
        more = true;
      }
      for (std::int64_t k = 0; !more && k < line_size; ++k) to[k] = added ? added[k % outputs] : 0;
      activate(activation, to, line_size);
      out.close(line, to);
    }
  });
}

void few_backward_weight(const Conv2dParams& params, const View& grad, const View& x, const View& grad_w,
                         const View& grad_bias) {
  const Shape &ys = grad.shape(), &ws = grad_w.shape();
  const std::int64_t outputs = ys[1], taps = ws[2] * ws[3], line_size = ys[3] * outputs;
  const Rows rows(params, x, ws, ys);
  const ConvParts parts = cut(ys, grad_w.numel());
  // Of each part [KH * KW, O], and below it the sums of the gradient.
  const std::int64_t size = (taps + 1) * outputs;
  const View sums = scratch({parts.count, size}, DType::float32);
  float* const all = static_cast<float*>(sums.raw_data());
  std::fill_n(all, parts.count * size, 0.0F);
  const float one = 1;
  const Lines from_grad(grad, line_size);
  for_parts(parts, rows.bytes() + from_grad.bytes(), [&](std::int64_t p, const ConvPart& part, char* own) {
    float* const sum = all + p * size;
    for (std::int64_t line = part.first * ys[2]; line < (part.first + part.size) * ys[2]; ++line) {
      const float* const g = from_grad.load(line, own + rows.bytes());
      for (std::int64_t i = 0; i < ws[2]; ++i) {
        const float* const from = rows.of(line / ys[2], line % ys[2], i, reinterpret_cast<float*>(own));
        if (from)
          add_product({from, rows.tap_step(), rows.output_step(), g, outputs, ys[3], sum + i * ws[3] * outputs, outputs,
                       nullptr, true},
                      ws[3], outputs);
      }
      if (grad_bias.defined())
        add_product({&one, 0, 0, g, outputs, ys[3], sum + taps * outputs, outputs, nullptr, true}, 1, outputs);
    }
  });
  for (std::int64_t p = 1; p < parts.count; ++p)
    for (std::int64_t k = 0; k < size; ++k) all[k] += all[p * size + k];
  float* const to = static_cast<float*>(grad_w.raw_data());
  for (std::int64_t o = 0; o < outputs; ++o)
    for (std::int64_t t = 0; t < taps; ++t) to[o * taps + t] = all[t * outputs + o];
  if (grad_bias.defined()) convert(View(sums.storage(), DType::float32, {outputs}, {1}, taps * outputs), grad_bias);
}

}  // namespace minnow::cpu
