#pragma once

#include <cstdint>
#include <minnow/tensor/internal.h>

namespace minnow::cpu {

struct ByteLoops {
  /// The product of x and w.
  std::int32_t (*dot)(const std::uint8_t* x, const std::int8_t* w, std::int64_t n);
  /// to[i] = from[i]
  void (*unsigned_to_float)(const std::uint8_t* from, float* to, std::int64_t n);
  void (*signed_to_float)(const std::int8_t* from, float* to, std::int64_t n);
  /// sums[i] += part[i], which are integers
  void (*add)(const float* part, std::int32_t* sums, std::int64_t n);
};

/// Those of the current instruction set.
const ByteLoops& byte_loops();

}  // namespace minnow::cpu
