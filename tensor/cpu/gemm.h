#pragma once

#include <cstdint>

namespace minnow::cpu {

/// The matrix b of several products, packed once.
class PackedMatrix {
 public:
  /// What a matrix [k, n] needs.
  static std::int64_t floats(std::int64_t k, std::int64_t n);
  /// Packs b [k, n], one of whose strides is 1, to `memory`, which must outlive this.
  PackedMatrix(const float* b, std::int64_t b_row, std::int64_t b_col, std::int64_t k, std::int64_t n, float* memory);
  /// Rows from k, a multiple of kGemmDepth, and columns from j, the first ones of a panel.
  const float* panel(std::int64_t k, std::int64_t j) const;

 private:
  const float* data_;
  std::int64_t rows_, cols_;
};

/// c = a b + bias in float32, or c += a b.   a: [m, k]  b: [k, n]  c: [m, n], rows dense  bias: [n] or nullptr.
/// Strides in elements; one of b's is 1.
struct Product {
  std::int64_t m, n, k;
  const float* a;
  std::int64_t a_row, a_col;
  const float* b;
  std::int64_t b_row, b_col;
  const float* bias;
  float* c;
  std::int64_t c_row;
  bool add = false;                        ///< to c; without a bias
  const PackedMatrix* packed_b = nullptr;  ///< b with at least k rows and n columns, read instead of b
};

/// Whether multiply() is efficient: there are enough rows for packing b, or b can be read without.
bool is_worth_packing(const Product& p);

/// Computes the product.  Threads divide the largest of the three matrices, or the rows of a if b is packed, into
/// contiguous parts, in the same way in every product with that matrix: the weights of a layer stay in the caches of the
/// cores that use, differentiate and update them.  Each element is summed by one thread in a fixed order, so the bits do
/// not depend on the number of threads.
void multiply(const Product& p);

}  // namespace minnow::cpu
