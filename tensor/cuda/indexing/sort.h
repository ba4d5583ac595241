#pragma once

#include <cstdint>
#include <minnow/tensor/cuda/runtime/call.h>

namespace minnow::cuda {

/// Numbers on the device, and what belongs to each.
struct Pairs {
  std::uint32_t* keys;
  std::uint32_t* values;
};

/// Sorts n < 2^31 pairs by the lowest `bits` bits of their keys; equal keys keep their order.  `room` is for as many
/// more.  Returns whichever of the two has the result; the other one has anything.
Pairs sort_pairs(const Call& call, Pairs pairs, Pairs room, std::int64_t n, int bits);

}  // namespace minnow::cuda
