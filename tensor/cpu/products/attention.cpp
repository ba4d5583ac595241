#include <algorithm>
#include <minnow/tensor/cpu/cpu_backend.h>
#include <minnow/tensor/cpu/elementwise/dense_copy.h>
#include <minnow/tensor/cpu/products/gemm.h>
#include <minnow/tensor/cpu/runtime/isa.h>
#include <minnow/tensor/cpu/runtime/parallel.h>
#include <minnow/tensor/internal.h>

// Attention, one head after the other on each thread, in blocks of rows, whose weights the core's cache holds up to
// some thousand columns; memory grows with the length.  The softmax sees whole rows.  See Dao, "FlashAttention-2",
// 2023, for blocks of both.

namespace minnow::cpu {
namespace {

/// The matrix [rows, cols] of a head.
struct Head {
  float* data;
  std::int64_t rows, cols, row;

  Head(const View& t, std::int64_t i)
      : data(static_cast<float*>(t.raw_data()) + i / t.shape()[1] * t.strides()[0] + i % t.shape()[1] * t.strides()[1]),
        rows(t.shape()[2]),
        cols(t.shape()[3]),
        row(t.strides()[2]) {}
  float* at(std::int64_t r) const { return data + r * row; }
  /// Dense rows elsewhere.
  void move_to(float* other) {
    data = other;
    row = cols;
  }
  void clear() const {
    for (std::int64_t r = 0; r < rows; ++r) std::fill_n(at(r), cols, 0.0f);
  }
};

std::int64_t heads_of(const View& t) { return t.shape()[0] * t.shape()[1]; }

/// The weights of blocks of rows.
struct Blocks {
  std::int64_t columns;
  double scale;
  bool causal;

  static constexpr std::int64_t kRows = 48;
  /// Floats between rows: not a power of two, or their cache lines would share few sets.
  std::int64_t stride() const { return (columns + 15) / 16 * 16 + 16; }
  std::int64_t floats() const { return kRows * stride(); }
  /// The columns that row r has weights for.
  std::int64_t columns_of(std::int64_t r) const { return causal ? std::min(columns, r + 1) : columns; }
};

/// Float memory of the threads that work on heads.  scratch() is for the products.
class Memory {
 public:
  Memory(int threads, std::int64_t floats)
      : each_((floats + 15) / 16 * 16 + 1024), all_(scratch({threads * each_}, DType::float32)) {}
  float* mine() const { return static_cast<float*>(all_.raw_data()) + thread_number() * each_; }

 private:
  std::int64_t each_;
  View all_;
};

void scale_rows(const float* from, std::int64_t from_row, float* to, std::int64_t to_row, std::int64_t rows,
                std::int64_t n, double scale) {
  const auto factor = static_cast<float>(scale);
  for (std::int64_t r = 0; r < rows; ++r)
    for (std::int64_t j = 0; j < n; ++j) to[r * to_row + j] = from[r * from_row + j] * factor;
}

Product product(std::int64_t m, std::int64_t n, std::int64_t k, const float* a, std::int64_t a_row,
                const PackedMatrix& b, float* c, std::int64_t c_row) {
  Product p{m, n, k, a, a_row, 1, nullptr, 0, 1, nullptr, c, c_row};
  p.packed_b = &b;
  return p;
}

/// Rows [row, row + rows) of the weights, and scaled q.
void weights(const Blocks& blocks, const Head& q, const PackedMatrix& keys, std::int64_t row, std::int64_t rows,
             float* scaled, float* w) {
  scale_rows(q.at(row), q.row, scaled, q.cols, rows, q.cols, blocks.scale);
  const std::int64_t columns = blocks.columns_of(row + rows - 1), stride = blocks.stride();
  multiply(product(rows, columns, q.cols, scaled, q.cols, keys, w, stride));
  for (std::int64_t r = 0; r < rows; ++r) {
    float* const x = w + r * stride;
    const std::int64_t own = blocks.columns_of(row + r);
    loops().softmax[static_cast<int>(Compute::kFloat)].rows(x, x, 1, own, false);
    std::fill(x + own, x + columns, 0.0f);
  }
}

/// The gradients of softmax, from those of the weights.
void slopes(const Blocks& blocks, std::int64_t row, std::int64_t rows, const float* w, float* grad) {
  const std::int64_t columns = blocks.columns_of(row + rows - 1), stride = blocks.stride();
  for (std::int64_t r = 0; r < rows; ++r) {
    float* const x = grad + r * stride;
    const std::int64_t own = blocks.columns_of(row + r);
    loops().softmax[static_cast<int>(Compute::kFloat)].rows_backward(x, w + r * stride, x, 1, own, false);
    std::fill(x + own, x + columns, 0.0f);
  }
}

/// Rows of a head that one thread takes, if each head has `parts`.
Range rows_of(std::int64_t length, std::int64_t parts, std::int64_t i) {
  const std::int64_t blocks = (length + Blocks::kRows - 1) / Blocks::kRows;
  return {blocks * i / parts * Blocks::kRows, std::min(length, blocks * (i + 1) / parts * Blocks::kRows)};
}

/// As many parts as make `items` of all heads.  Each packs keys and values, which several blocks must share.
std::int64_t parts_of(std::int64_t length, std::int64_t heads, std::int64_t items) {
  return std::clamp<std::int64_t>(length / (4 * Blocks::kRows), 1, (items + heads - 1) / heads);
}

}  // namespace

template <> void execute(const calls::Attention& args) {
  const std::int64_t heads = heads_of(args.q), length = args.q.shape()[2], size = args.q.shape()[3],
                     columns = args.k.shape()[2], width = args.v.shape()[3];
  const Blocks blocks{columns, args.scale, args.causal};
  const int all_threads = in_parallel() ? 1 : num_threads();
  const std::int64_t parts = heads % all_threads == 0 ? 1 : parts_of(length, heads, 4 * all_threads);
  const int threads = static_cast<int>(std::min<std::int64_t>(all_threads, heads * parts));
  const ThreadLimit limit(threads);
  const std::int64_t keys_floats = PackedMatrix::floats(size, columns),
                     values_floats = PackedMatrix::floats(columns, width);
  const Memory memory(threads, keys_floats + values_floats + Blocks::kRows * size + blocks.floats());
  parallel_loop(heads * parts, threads, [&](std::int64_t i) {
    const Head q(args.q, i / parts), k(args.k, i / parts), v(args.v, i / parts), out(args.out, i / parts);
    float *const packed = memory.mine(), *const scaled = packed + keys_floats + values_floats,
                 *const w = scaled + Blocks::kRows * size;
    const Range all = rows_of(length, parts, i % parts);
    const PackedMatrix keys(k.data, 1, k.row, size, columns, packed),
        values(v.data, v.row, 1, columns, width, packed + keys_floats);
    for (std::int64_t row = all.begin; row < all.end; row += Blocks::kRows) {
      const std::int64_t rows = std::min(Blocks::kRows, all.end - row), n = blocks.columns_of(row + rows - 1);
      weights(blocks, q, keys, row, rows, scaled, w);
      multiply(product(rows, width, n, w, blocks.stride(), values, out.at(row), out.row));
    }
  });
}

template <> void execute(const calls::AttentionBackward& args) {
  const std::int64_t heads = heads_of(args.q), length = args.q.shape()[2], size = args.q.shape()[3],
                     columns = args.k.shape()[2], width = args.v.shape()[3];
  const Blocks blocks{columns, args.scale, args.causal};
  const std::int64_t keys_t = PackedMatrix::floats(size, columns), values_t = PackedMatrix::floats(width, columns),
                     keys_floats = PackedMatrix::floats(columns, size);
  // The division, and so the order of sums, does not depend on the number of threads.
  constexpr std::int64_t kItems = 16;
  const std::int64_t parts = parts_of(length, heads, kItems), sums = columns * (size + width);
  const int threads = static_cast<int>(std::min<std::int64_t>(in_parallel() ? 1 : num_threads(), heads * parts));
  const ThreadLimit limit(threads);
  const Memory memory(threads, keys_t + values_t + keys_floats + Blocks::kRows * size + 2 * blocks.floats());
  const View partial = scratch({parts == 1 ? 0 : heads * parts * sums}, DType::float32);
  const auto sums_of = [&](std::int64_t i) { return static_cast<float*>(partial.raw_data()) + i * sums; };
  parallel_loop(heads * parts, threads, [&](std::int64_t i) {
    const std::int64_t head = i / parts;
    const Head grad(args.grad, head), q(args.q, head), k(args.k, head), v(args.v, head), grad_q(args.grad_q, head);
    Head grad_k(args.grad_k, head), grad_v(args.grad_v, head);
    if (parts > 1) {
      grad_k.move_to(sums_of(i));
      grad_v.move_to(sums_of(i) + columns * size);
    }
    grad_k.clear();
    grad_v.clear();
    float* const packed = memory.mine();
    const PackedMatrix kt(k.data, 1, k.row, size, columns, packed),
        vt(v.data, 1, v.row, width, columns, packed + keys_t),
        keys(k.data, k.row, 1, columns, size, packed + keys_t + values_t);
    float *const scaled = packed + keys_t + values_t + keys_floats, *const w = scaled + Blocks::kRows * size,
                 *const slope = w + blocks.floats();
    const std::int64_t stride = blocks.stride();
    const Range all = rows_of(length, parts, i % parts);
    for (std::int64_t row = all.begin; row < all.end; row += Blocks::kRows) {
      const std::int64_t rows = std::min(Blocks::kRows, all.end - row), n = blocks.columns_of(row + rows - 1);
      weights(blocks, q, kt, row, rows, scaled, w);
      multiply({n, width, rows, w, 1, stride, grad.at(row), grad.row, 1, nullptr, grad_v.data, grad_v.row, true});
      multiply(product(rows, n, width, grad.at(row), grad.row, vt, slope, stride));
      slopes(blocks, row, rows, w, slope);
      multiply(product(rows, size, n, slope, stride, keys, grad_q.at(row), grad_q.row));
      multiply({n, size, rows, slope, 1, stride, scaled, size, 1, nullptr, grad_k.data, grad_k.row, true});
      scale_rows(grad_q.at(row), grad_q.row, grad_q.at(row), grad_q.row, rows, size, args.scale);
    }
  });
  if (parts == 1) return;
  parallel_for(heads * columns, partial.nbytes(), [&](std::int64_t i) {
    const std::int64_t head = i / columns, column = i % columns;
    float *const to_k = Head(args.grad_k, head).at(column), *const to_v = Head(args.grad_v, head).at(column);
    for (std::int64_t p = 0; p < parts; ++p) {
      const float *const from = sums_of(head * parts + p), *const of_k = from + column * size,
                         *const of_v = from + columns * size + column * width;
      for (std::int64_t j = 0; j < size; ++j) to_k[j] = p == 0 ? of_k[j] : to_k[j] + of_k[j];
      for (std::int64_t j = 0; j < width; ++j) to_v[j] = p == 0 ? of_v[j] : to_v[j] + of_v[j];
    }
  });
}

}  // namespace minnow::cpu
