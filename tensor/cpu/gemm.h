#pragma once

#include <cstdint>

namespace minnow::cpu {

/// c = a b + bias in float32.   a: [m, k]  b: [k, n]  c: [m, n], rows dense  bias: [n] or nullptr.
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
};

/// Whether multiply() packs b, or reads a plain one, with enough rows to make that worth while.
bool is_worth_packing(const Product& p);

/// The largest of the three matrices is divided among the threads in whole pieces of memory, and the same way in each
/// product that has the matrix: a layer's weights stay in the caches of the cores that use, differentiate and update
/// them.  Each element is one thread's sum in a fixed order, so the bits do not depend on the number of threads.
void multiply(const Product& p);

}  // namespace minnow::cpu
