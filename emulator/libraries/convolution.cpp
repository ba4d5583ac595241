#include "convolution.h"

#include <algorithm>

#include "numbers.h"

namespace emulator {
namespace {

/// The part of one row of y to which one element of the filter contributes, and its beginning in x.
struct Row {
  std::int64_t y_first, x_first, count, x_step;
};

/// For a filter column: the columns of y for which it is inside of x.
void reach(std::int64_t offset, std::int64_t step, std::int64_t x_width, std::int64_t y_width, std::int64_t& low,
           std::int64_t& high) {
  low = 0;
  while (low < y_width && low * step + offset < 0) ++low;
  high = y_width;
  while (high > low && (high - 1) * step + offset >= x_width) --high;
}

/// Calls use(row) for each row of y[n, k] to which the filter element (r, s) contributes from x[n, c].
template <class Use>
void rows_of(const Movement& m, const Block4& x, const Block4& w, const Block4& y, std::int64_t x_plane,
             std::int64_t y_plane, std::int64_t r, std::int64_t s, Use use) {
  const bool flipped = m.mode == CUDNN_CONVOLUTION;
  const std::int64_t row_offset = (flipped ? w.dim[2] - 1 - r : r) * m.dilation[0] - m.padding[0];
  const std::int64_t col_offset = (flipped ? w.dim[3] - 1 - s : s) * m.dilation[1] - m.padding[1];
  std::int64_t low = 0, high = 0;
  reach(col_offset, m.step[1], x.dim[3], y.dim[3], low, high);
  for (std::int64_t i = 0; i < y.dim[2]; ++i) {
    const std::int64_t from = i * m.step[0] + row_offset;
    if (from < 0 || from >= x.dim[2] || low >= high) continue;
    use(Row{(y_plane * y.dim[2] + i) * y.dim[3] + low,
            (x_plane * x.dim[2] + from) * x.dim[3] + low * m.step[1] + col_offset, high - low, m.step[1]});
  }
}

/// Applies one element of the filter to one plane.
template <class T> void apply(Direction direction, const Row& row, T* x, T& w, T* y) {
  x += row.x_first;
  y += row.y_first;
  if (direction == Direction::forward && row.x_step == 1) {
    for (std::int64_t i = 0; i < row.count; ++i) y[i] += w * x[i];
  } else if (direction == Direction::forward) {
    for (std::int64_t i = 0; i < row.count; ++i) y[i] += w * x[i * row.x_step];
  } else if (direction == Direction::data) {
    for (std::int64_t i = 0; i < row.count; ++i) x[i * row.x_step] += w * y[i];
  } else {
    T sum = 0;
    for (std::int64_t i = 0; i < row.count; ++i) sum += x[i * row.x_step] * y[i];
    w += sum;
  }
}

}  // namespace

std::int64_t Block4::extent() const {
  std::int64_t last = 1;
  for (int i = 0; i < 4; ++i) last += (dim[i] - 1) * stride[i];
  return last;
}

std::size_t Block4::bytes() const { return static_cast<std::size_t>(extent()) * size_of(number_type(type)); }

void Block4::pack() {
  const bool last = format == CUDNN_TENSOR_NHWC;
  stride[3] = last ? dim[1] : 1;
  stride[2] = stride[3] * dim[3];
  stride[1] = last ? 1 : stride[2] * dim[2];
  stride[0] = dim[1] * dim[2] * dim[3];
}

bool Block4::is_packed(cudnnTensorFormat_t as) const {
  Block4 packed = *this;
  packed.format = as;
  packed.pack();
  for (int i = 0; i < 4; ++i)
    if (dim[i] != 1 && stride[i] != packed.stride[i]) return false;
  return true;
}

template <class T>
void convolve(Direction direction, const Movement& m, const Block4& x_shape, const Block4& w_shape,
              const Block4& y_shape, std::vector<T>& x, std::vector<T>& w, std::vector<T>& y) {
  const std::int64_t per_group_in = w_shape.dim[1], per_group_out = w_shape.dim[0] / m.groups;
  for (std::int64_t n_turn = 0; n_turn < x_shape.dim[0]; ++n_turn)
    for (std::int64_t k_turn = 0; k_turn < w_shape.dim[0]; ++k_turn)
      for (std::int64_t c_turn = 0; c_turn < per_group_in; ++c_turn) {
        const std::int64_t n = in_order(n_turn, x_shape.dim[0]), k = in_order(k_turn, w_shape.dim[0]),
                           c = in_order(c_turn, per_group_in);
        const std::int64_t x_plane = n * x_shape.dim[1] + k / per_group_out * per_group_in + c;
        const std::int64_t y_plane = n * y_shape.dim[1] + k;
        for (std::int64_t r_turn = 0; r_turn < w_shape.dim[2]; ++r_turn)
          for (std::int64_t s_turn = 0; s_turn < w_shape.dim[3]; ++s_turn) {
            const std::int64_t r = in_order(r_turn, w_shape.dim[2]), s = in_order(s_turn, w_shape.dim[3]);
            T& weight = w[static_cast<std::size_t>(((k * per_group_in + c) * w_shape.dim[2] + r) * w_shape.dim[3] + s)];
            rows_of(m, x_shape, w_shape, y_shape, x_plane, y_plane, r, s,
                    [&](const Row& row) { apply(direction, row, x.data(), weight, y.data()); });
          }
      }
}

template <class T> std::vector<T> dense(const Block4& shape, const void* data, bool tf32) {
  std::vector<T> out;
  out.reserve(static_cast<std::size_t>(shape.count()));
  const cudaDataType_t type = number_type(shape.type);
  for (std::int64_t a = 0; a < shape.dim[0]; ++a)
    for (std::int64_t b = 0; b < shape.dim[1]; ++b)
      for (std::int64_t c = 0; c < shape.dim[2]; ++c)
        for (std::int64_t d = 0; d < shape.dim[3]; ++d) {
          const double value =
              load(data, type, a * shape.stride[0] + b * shape.stride[1] + c * shape.stride[2] + d * shape.stride[3]);
          out.push_back(static_cast<T>(tf32 ? to_tf32(value) : value));
        }
  return out;
}

template <class T>
void blend(const Block4& shape, void* data, const std::vector<T>& values, double alpha, double beta) {
  const cudaDataType_t type = number_type(shape.type);
  auto value = values.begin();
  for (std::int64_t a = 0; a < shape.dim[0]; ++a)
    for (std::int64_t b = 0; b < shape.dim[1]; ++b)
      for (std::int64_t c = 0; c < shape.dim[2]; ++c)
        for (std::int64_t d = 0; d < shape.dim[3]; ++d) {
          const std::int64_t at = a * shape.stride[0] + b * shape.stride[1] + c * shape.stride[2] + d * shape.stride[3];
          const double old = beta == 0 ? 0 : beta * load(data, type, at);
          store(data, type, at, alpha * static_cast<double>(*value++) + old);
        }
}

template void convolve(Direction, const Movement&, const Block4&, const Block4&, const Block4&, std::vector<float>&,
                       std::vector<float>&, std::vector<float>&);
template void convolve(Direction, const Movement&, const Block4&, const Block4&, const Block4&, std::vector<double>&,
                       std::vector<double>&, std::vector<double>&);
template std::vector<float> dense(const Block4&, const void*, bool);
template std::vector<double> dense(const Block4&, const void*, bool);
template void blend(const Block4&, void*, const std::vector<float>&, double, double);
template void blend(const Block4&, void*, const std::vector<double>&, double, double);

cudaDataType_t number_type(cudnnDataType_t type) {
  switch (type) {
    case CUDNN_DATA_DOUBLE: return CUDA_R_64F;
    case CUDNN_DATA_HALF: return CUDA_R_16F;
    case CUDNN_DATA_BFLOAT16: return CUDA_R_16BF;
    default: return CUDA_R_32F;
  }
}

}  // namespace emulator
