#pragma once

#include <cstdint>
#include <minnow/tensor/cpu/products/gemm.h>
#include <minnow/tensor/internal.h>
#include <minnow/tensor/kernels/hd.h>

namespace minnow::cpu {

/// Rows of a product that read b once, as fast as memory gives it.
inline constexpr std::int64_t kFewRows = 8;

/// A part of c = a b + bias, or c += a b, of float or double, with `rows` rows, at most kFewRows.  b is read once.
template <class T> struct FewRowsPartOf {
  std::int64_t rows, n, k;
  const T* a;  ///< [rows, k], dense
  const T* b;
  std::int64_t b_step;  ///< between rows of b, or of its transpose
  const T* bias;        ///< nullptr: none
  std::int64_t bias_row, bias_col;
  T* c;
  std::int64_t c_row, c_col;
  bool add;

  /// What is added to a sum.
  MINNOW_HD T start(std::int64_t row, std::int64_t col) const {
    return bias == nullptr ? T(0) : bias[row * bias_row + col * bias_col];
  }
};
template <class T> struct FewRowsLoopsOf {
  void (*plain)(const FewRowsPartOf<T>& part);  ///< b: [k, n], dense columns; those of c too
  void (*transposed)(
      const FewRowsPartOf<T>& part);  ///< b: [n, k], dense columns: each element is a product of two rows
};
/// Those of the current instruction set.
template <class T> const FewRowsLoopsOf<T>& few_rows_loops();
template <> const FewRowsLoopsOf<float>& few_rows_loops();
template <> const FewRowsLoopsOf<double>& few_rows_loops();

/// Whether multiply_few_rows() is the fastest way.
template <class T> bool has_few_rows(const ProductOf<T>& p);
/// Whether multiply_few_columns(), which computes the transpose, is.
template <class T> bool has_few_columns(const ProductOf<T>& p);
/// Computes such a product of float or double.  Each element is summed by one thread in a fixed order.
template <class T> void multiply_few_rows(const ProductOf<T>& p);
template <class T> void multiply_few_columns(const ProductOf<T>& p);
/// c = a b + bias of float16_t or bfloat16_t, with dense rows of a and columns of b, and at most `most` rows or columns
/// of c: sums in float of parts that are converted on the way.  Returns false for others.
template <class H> bool multiply_few_halves(const ProductOf<H>& p, std::int64_t most);

}  // namespace minnow::cpu
