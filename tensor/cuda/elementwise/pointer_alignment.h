#pragma once

#include <cstdint>

namespace minnow::cuda {

/// The largest power of two up to 256 that divides an address, by which libraries choose their loads.
inline int alignment_of(const void* address) {
  const auto bits = reinterpret_cast<std::uintptr_t>(address) | 256u;
  return static_cast<int>(bits & (~bits + 1));
}

}  // namespace minnow::cuda
