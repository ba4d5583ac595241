#pragma once

#include <cstdint>
#include <minnow/tensor/cuda/runtime/call.h>

namespace minnow::cuda {

/// Keys and values on the device.
struct Pairs {
  std::uint32_t* keys;
  std::uint32_t* values;
};

/// Sorts n < 2^31 pairs by the lowest `bits` bits of their keys; equal keys keep their order.  `scratch` has the same
/// size. Returns the one of the two that has the result; the content of the other is undefined.
Pairs sort_pairs(const Call& call, Pairs pairs, Pairs scratch, std::int64_t n, int bits);

}  // namespace minnow::cuda
