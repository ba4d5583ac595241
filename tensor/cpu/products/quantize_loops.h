#pragma once

#include <cstdint>
#include <minnow/tensor/internal.h>

namespace minnow::cpu {

/// float32 rounded to 8 bits, for products of integers.
struct QuantizedRow {
  const std::int32_t* columns;  ///< of the weight: its sum over the inputs
  const float *scale, *bias;    ///< bias may be nullptr
  float by;
  int zero;
  bool add, relu;
};
struct QuantizeLoops {
  /// least[0] and most[0]: of n elements and 0; NaN in both if an element is NaN or infinite.
  void (*range)(const float* x, std::int64_t n, float* least, float* most);
  /// bytes[i] = x[i] * factor, rounded to the nearest integer, + zero, in [0, highest].
  void (*round)(const float* x, std::uint8_t* bytes, std::int64_t n, float factor, int zero, int highest);
  /// y[j] = (sums[j] - zero * columns[j]) * (by * scale[j]) + bias[j], or added to y[j].
  void (*finish)(const std::int32_t* sums, const QuantizedRow& row, float* y, std::int64_t n);
};

/// Those of the current instruction set.
const QuantizeLoops& quantize_loops();

}  // namespace minnow::cpu
