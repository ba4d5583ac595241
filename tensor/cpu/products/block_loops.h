#pragma once

#include <cstdint>
#include <minnow/tensor/backend/call_parameters.h>
#include <minnow/tensor/internal.h>

namespace minnow::cpu {

/// Rows of a product with rows of a matrix in blocks: y[r * y_row + j] = x_r w_j.
struct BlockRows {
  std::int64_t rows, in, out;
  const float* x;         ///< [rows, in]
  const std::uint8_t* w;  ///< [out, bytes of a row]
  float* y;
  std::int64_t y_row;
};
struct BlockLoops {
  void (*product)(BlockFormat format, const BlockRows& part);
  /// The numbers of whole blocks.
  void (*dequantize)(BlockFormat format, const std::uint8_t* w, float* y, std::int64_t count);
};

/// Those of the current instruction set.
const BlockLoops& block_loops();

}  // namespace minnow::cpu
