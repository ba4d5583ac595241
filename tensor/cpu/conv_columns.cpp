#include <minnow/tensor/cpu/conv_columns.h>

#include <algorithm>
#include <minnow/tensor/cpu/cpu_backend.h>
#include <minnow/tensor/cpu/dense_copy.h>
#include <minnow/tensor/cpu/parallel.h>
#include <minnow/tensor/cpu/window.h>

namespace minnow::cpu {
namespace {

/// Where the rows of a matrix, one for each position of y, come from in x.  A row has the order of the weights:
/// channels, and for each the taps.
class Columns {
 public:
  Columns(const Conv2dParams& params, const Shape& x, const Shape& w, const Shape& y)
      : channels_(x[1]),
        rows_{w[2], params.stride[0], params.padding[0], params.dilation[0], x[2], y[2]},
        columns_{w[3], params.stride[1], params.padding[1], params.dilation[1], x[3], y[3]},
        images_(x[0]) {}

  std::int64_t positions() const { return images_ * rows_.out * columns_.out; }
  std::int64_t taps() const { return rows_.kernel * columns_.kernel; }
  std::int64_t width() const { return channels_ * taps(); }

  View room() const { return scratch({1, positions(), width()}, DType::float32); }

  /// x, channels-last -> the matrix, with zeros for padding.
  void gather(const float* x, float* matrix) const {
    parallel_for(images_ * rows_.out, bytes(), [&](std::int64_t line) {
      for (std::int64_t o = 0; o < columns_.out; ++o) {
        float* const row = matrix + (line * columns_.out + o) * width();
        for_taps(line, o, [&](std::int64_t tap, std::int64_t at) {
          if (at < 0) {
            for (std::int64_t c = 0; c < channels_; ++c) row[c * taps() + tap] = 0;
            return;
          }
          const float* const from = x + at;
          for (std::int64_t c = 0; c < channels_; ++c) row[c * taps() + tap] = from[c];
        });
      }
    });
  }

  /// Adds the elements of the matrix to those of x that they were read from; x is set.
  void scatter(const float* matrix, float* x) const {
    const std::int64_t image_size = rows_.in * columns_.in * channels_;
    parallel_for(images_, bytes(), [&](std::int64_t image) {
      std::fill_n(x + image * image_size, image_size, 0.0F);
      for (std::int64_t line = image * rows_.out; line < (image + 1) * rows_.out; ++line)
        for (std::int64_t o = 0; o < columns_.out; ++o) {
          const float* const row = matrix + (line * columns_.out + o) * width();
          for_taps(line, o, [&](std::int64_t tap, std::int64_t at) {
            if (at < 0) return;
            float* const to = x + at;
            for (std::int64_t c = 0; c < channels_; ++c) to[c] += row[c * taps() + tap];
          });
        }
    });
  }

 private:
  std::int64_t bytes() const { return 2 * positions() * width() * static_cast<std::int64_t>(sizeof(float)); }

  /// f(tap, the first channel of the element that it reads, or -1 for padding), for output o of a line of outputs.
  template <class F> void for_taps(std::int64_t line, std::int64_t o, const F& f) const {
    const std::int64_t image = line / rows_.out, row = line % rows_.out;
    for (std::int64_t i = 0; i < rows_.kernel; ++i) {
      const std::int64_t h = rows_.input(row, i);
      for (std::int64_t j = 0; j < columns_.kernel; ++j) {
        const std::int64_t w = columns_.input(o, j);
        const bool inside = rows_.inside(h) && columns_.inside(w);
        f(i * columns_.kernel + j, inside ? ((image * rows_.in + h) * columns_.in + w) * channels_ : -1);
      }
    }
  }

  const std::int64_t channels_;
  const Window rows_, columns_;
  const std::int64_t images_;
};

float* floats(const View& t) { return static_cast<float*>(t.raw_data()); }

/// Dense memory as one matrix.
View matrix(const View& t, std::int64_t rows, std::int64_t columns) {
  return View(t.storage(), t.dtype(), {1, rows, columns}, {rows * columns, columns, 1}, t.storage_offset());
}
View transposed(const View& t) {
  return View(t.storage(), t.dtype(), {1, t.shape()[2], t.shape()[1]}, {t.strides()[0], 1, t.strides()[1]},
              t.storage_offset());
}

}  // namespace

bool suits_columns(const Conv2dParams& params, const Shape& x, const Shape& w, const Shape& y) {
  // From here on the copy of the weights takes longer than that of the columns.
  constexpr std::int64_t kFewPositions = 1024, kManyWeights = 1 << 17;
  const std::int64_t positions = y[0] * y[2] * y[3];
  return params.groups == 1 && w.numel() >= kManyWeights && positions <= kFewPositions &&
         w.numel() / 256 >= positions && x[1] >= 16;
}

void columns_forward(const Conv2dParams& params, const View& x, const View& w, const View& bias, const View& y) {
  const Columns columns(params, x.shape(), w.shape(), y.shape());
  const View rows = columns.room();
  columns.gather(floats(x), floats(rows));
  const std::int64_t outputs = w.shape()[0];
  execute(calls::Matmul{rows, transposed(matrix(w, outputs, columns.width())), bias,
                        matrix(y, columns.positions(), outputs)});
}

void columns_backward_input(const Conv2dParams& params, const View& grad, const View& w, const View& grad_x) {
  const Columns columns(params, grad_x.shape(), w.shape(), grad.shape());
  const View rows = columns.room();
  const std::int64_t outputs = w.shape()[0];
  execute(calls::Matmul{matrix(grad, columns.positions(), outputs), matrix(w, outputs, columns.width()), View(), rows});
  columns.scatter(floats(rows), floats(grad_x));
}

void columns_backward_weight(const Conv2dParams& params, const View& grad, const View& x, const View& grad_w) {
  const Columns columns(params, x.shape(), grad_w.shape(), grad.shape());
  const View rows = columns.room();
  columns.gather(floats(x), floats(rows));
  const std::int64_t outputs = grad_w.shape()[0];
  execute(calls::Matmul{transposed(matrix(grad, columns.positions(), outputs)), rows, View(),
                        matrix(grad_w, outputs, columns.width())});
}

}  // namespace minnow::cpu
