#pragma once

#include <cstdint>

namespace minnow::cpu {

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
  bool add = false;  ///< to c; without a bias
};

/// Whether multiply() is efficient: there are enough rows for packing b, or b can be read without.
bool is_worth_packing(const Product& p);

/// Computes the product.  Threads divide the largest of the three matrices into contiguous parts, in the same way in
/// every product with that matrix: the weights of a layer stay in the caches of the cores that use, differentiate and
/// update them. Each element is summed by one thread in a fixed order, so the bits do not depend on the number of
/// threads.
void multiply(const Product& p);

}  // namespace minnow::cpu
