#pragma once

#include <cstdint>

namespace minnow::cuda {

/// 16 bytes, copied by one access.
struct alignas(16) Unit16 {
  std::uint64_t halves[2];
};

/// Calls f(Unit()) with a type of 1, 2, 4, 8 or 16 bytes, to copy elements unchanged.
template <class F> void visit_unit(std::int64_t bytes, const F& f) {
  switch (bytes) {
    case 1: return f(std::uint8_t());
    case 2: return f(std::uint16_t());
    case 4: return f(std::uint32_t());
    case 8: return f(std::uint64_t());
    default: return f(Unit16());
  }
}

}  // namespace minnow::cuda
