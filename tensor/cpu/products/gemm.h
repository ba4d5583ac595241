#pragma once

#include <cstdint>

namespace minnow::cpu {

/// The matrix b of several products, packed once.
template <class T> class PackedMatrixOf {
 public:
  /// What a matrix [k, n] needs.
  static std::int64_t floats(std::int64_t k, std::int64_t n);
  /// Packs b [k, n], one of whose strides is 1, to `memory`, which must outlive this.
  PackedMatrixOf(const T* b, std::int64_t b_row, std::int64_t b_col, std::int64_t k, std::int64_t n, T* memory);
  /// Rows from k, a multiple of kGemmDepth, and columns from j, the first ones of a panel.
  const T* panel(std::int64_t k, std::int64_t j) const;

 private:
  const T* data_;
  std::int64_t rows_, cols_;
};
using PackedMatrix = PackedMatrixOf<float>;

/// c = a b + bias, or c += a b.   a: [m, k]  b: [k, n]  c: [m, n], rows dense  bias: [n] or nullptr.  Strides in
/// elements; one of b's is 1.
template <class T> struct ProductOf {
  std::int64_t m, n, k;
  const T* a;
  std::int64_t a_row, a_col;
  const T* b;
  std::int64_t b_row, b_col;
  const T* bias;
  T* c;
  std::int64_t c_row;
  bool add = false;                             ///< to c; without a bias
  const PackedMatrixOf<T>* packed_b = nullptr;  ///< b with at least k rows and n columns, read instead of b
};
using Product = ProductOf<float>;

/// Whether multiply() is efficient: there are enough rows for packing b, or b can be read without.
template <class T> bool is_worth_packing(const ProductOf<T>& p) {
  constexpr std::int64_t kRowsToPack = 16;
  return p.b_col == 1 || p.m >= kRowsToPack;
}

/// Computes the product.  Threads divide the largest of the three matrices, or the rows of a if b is packed, into
/// contiguous parts, in the same way in every product with that matrix: the weights of a layer stay in the caches of
/// the cores that use, differentiate and update them.  Each element is summed by one thread in a fixed order, so the
/// bits do not depend on the number of threads.  Unsigned integers wrap around.
void multiply(const ProductOf<float>& p);
void multiply(const ProductOf<double>& p);
void multiply(const ProductOf<std::uint32_t>& p);
void multiply(const ProductOf<std::uint64_t>& p);

}  // namespace minnow::cpu
