#pragma once

#include <cstdint>
#include <minnow/tensor/dtype.h>
#include <minnow/tensor/internal.h>

namespace minnow::cpu {

/// A batch of matrices for libraries: one of the last two strides is 1, the other at least the length of a row; a batch
/// stride of 0 repeats one matrix.
struct Matrices {
  char* data;
  std::int64_t batch, rows, cols, batch_stride, row_stride, col_stride;

  bool transposed() const { return row_stride == 1 && col_stride != 1; }
  std::int64_t leading() const { return transposed() ? col_stride : row_stride; }
};

/// The operands of a product.
struct MatmulOperands {
  Matrices a, b, out;
  const char* bias;  // or nullptr
};

/// Of the operands, and of the result.
struct MatmulDTypes {
  DType in, out;
};

}  // namespace minnow::cpu
