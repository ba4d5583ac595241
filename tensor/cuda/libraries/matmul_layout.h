#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <minnow/tensor/activation.h>
#include <minnow/tensor/backend/plan_cache.h>
#include <minnow/tensor/dtype.h>

// Row-major batched products in cuBLASLt's column-major terms.  Includes no header of CUDA, so that every build can
// test it.

namespace minnow::cuda {

/// A batch of matrices; strides in elements, 0 repeats a matrix.
struct Matrices {
  std::int64_t batch, rows, cols, batch_stride, row_stride, col_stride;

  /// Whether rows are contiguous.
  bool plain() const { return col_stride == 1 && row_stride >= cols; }
  /// Whether columns are contiguous.
  bool flipped() const { return row_stride == 1 && col_stride >= rows; }
};

/// Replaces the strides of dimensions of size 1.  Returns false if neither rows nor columns are contiguous, so that
/// cuBLASLt cannot take the layout.
inline bool normalize(Matrices& m) {
  if (m.cols == 1) m.col_stride = 1;
  if (m.rows == 1) m.row_stride = m.col_stride == 1 ? m.cols : 1;
  if (m.batch == 1) m.batch_stride = 0;
  return (m.plain() || m.flipped()) && m.batch_stride >= 0;
}

/// Whether a product can be written to `m` (normalized): rows are contiguous and matrices do not overlap.
inline bool writable(const Matrices& m) {
  return m.plain() && (m.batch == 1 || m.batch_stride >= m.rows * m.row_stride);
}

/// A matrix in cuBLASLt's terms: column j begins at j * leading.
struct ColumnMajor {
  std::int64_t rows = 0, cols = 0, leading = 0, batch_stride = 0;
  bool transpose = false;
  friend bool operator==(const ColumnMajor&, const ColumnMajor&) = default;
};

/// d = op(a) op(b), `batch` times, column-major; op is the transpose if `transpose` is set.
struct Product {
  ColumnMajor a, b, d;
  std::int64_t batch = 1;
  friend bool operator==(const Product&, const Product&) = default;
};

/// If all batches have the same b, and those of a and out are one tall matrix each, joins them to one product.
inline void join_batch(Matrices& a, Matrices& b, Matrices& out) {
  if (out.batch == 1 || b.batch_stride != 0 || !a.plain() || a.batch_stride != a.rows * a.row_stride ||
      out.batch_stride != out.rows * out.row_stride)
    return;
  a.rows *= a.batch;
  out.rows *= out.batch;
  a.batch = b.batch = out.batch = 1;
  a.batch_stride = out.batch_stride = 0;
}

/// A row-major matrix read by columns is its transpose, so out = a b is computed as outᵀ = bᵀ aᵀ: cuBLASLt's left
/// operand is b and its right one is a.  An operand with contiguous rows is passed directly, one with contiguous
/// columns is transposed by cuBLASLt.  The columns of out are the rows of cuBLASLt's result, along which it adds a
/// bias.  All operands are normalized, and out is writable.
inline Product column_major(Matrices a, Matrices b, Matrices out) {
  join_batch(a, b, out);
  const auto side = [](const Matrices& m) -> ColumnMajor {
    if (m.plain()) return {m.cols, m.rows, m.row_stride, m.batch_stride, false};
    return {m.rows, m.cols, m.col_stride, m.batch_stride, true};
  };
  return {side(b), side(a), {out.cols, out.rows, out.row_stride, out.batch_stride, false}, out.batch};
}

/// An operand whose sums along the product's inner dimension are computed with it: one for each row of op(a), or for
/// each column of op(b).
enum class SumsOf : std::uint8_t { none, a, b };

/// What the choice of an algorithm depends on.
struct MatmulKey {
  Product product;
  DType dtype = DType::float32;
  bool tf32 = false;
  bool bias = false;  ///< added along the rows of d
  SumsOf sums = SumsOf::none;
  Activation activation = Activation::none;
  int align_a = 256, align_b = 256, align_d = 256, align_bias = 256;

  friend bool operator==(const MatmulKey&, const MatmulKey&) = default;
  std::size_t hash() const {
    KeyHash h;
    for (const ColumnMajor* m : {&product.a, &product.b, &product.d})
      h.add(m->rows, m->cols, m->leading, m->batch_stride, m->transpose);
    h.add(product.batch, dtype, tf32, bias, sums, activation, align_a, align_b, align_d, align_bias);
    return h.value();
  }
};

}  // namespace minnow::cuda
