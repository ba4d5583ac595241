#pragma once

#include <cstdint>
#include <minnow/tensor/internal.h>

namespace minnow::cpu {

/// Max pooling over n channels of one pixel, in bfloat16.
struct HalfPoolLoops {
  /// y = max(x, y), NaN if one is; index = position where it is x.
  void (*take_largest)(const std::uint16_t* x, std::uint16_t* y, std::int32_t* index, std::int64_t n,
                       std::int32_t position);
  /// grad_x = grad where index is position.
  void (*give_chosen)(const std::uint16_t* grad, const std::int32_t* index, std::uint16_t* grad_x, std::int64_t n,
                      std::int32_t position);
};

/// Those of the current instruction set.
const HalfPoolLoops& half_pool_loops();

}  // namespace minnow::cpu
