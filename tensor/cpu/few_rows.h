#pragma once

#include <cstdint>
#include <minnow/tensor/cpu/gemm.h>
#include <minnow/tensor/internal.h>

namespace minnow::cpu {

/// Rows of a product that read b once, as fast as memory gives it.
inline constexpr std::int64_t kFewRows = 8;

/// A part of c = a b + bias in float32, or c += a b, with `rows` rows, at most kFewRows.  b is read once.
struct FewRowsPart {
  std::int64_t rows, n, k;
  const float* a;  ///< [rows, k], dense
  const float* b;
  std::int64_t b_step;  ///< between rows of b, or of its transpose
  const float* bias;    ///< [n] or nullptr
  float* c;
  std::int64_t c_row;
  bool add;
};
struct FewRowsLoops {
  void (*plain)(const FewRowsPart& part);       ///< b: [k, n], dense columns
  void (*transposed)(const FewRowsPart& part);  ///< b: [n, k], dense columns: each element is a product of two rows
};
/// Those of the current instruction set.
const FewRowsLoops& few_rows_loops();

/// Whether multiply_few_rows() is the fastest way.
bool has_few_rows(const Product& p);
/// Computes such a product.  Each element is summed by one thread in a fixed order.
void multiply_few_rows(const Product& p);

}  // namespace minnow::cpu
