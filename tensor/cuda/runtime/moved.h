#pragma once

#include <cstdint>

namespace minnow::cuda {

/// 16 bytes, moved by one access.
struct alignas(16) Wide {
  std::uint64_t halves[2];
};

/// f(Unit()) for elements of 1, 2, 4, 8 or 16 bytes that are moved as they are.
template <class F> void visit_moved(std::int64_t bytes, const F& f) {
  switch (bytes) {
    case 1: return f(std::uint8_t());
    case 2: return f(std::uint16_t());
    case 4: return f(std::uint32_t());
    case 8: return f(std::uint64_t());
    default: return f(Wide());
  }
}

}  // namespace minnow::cuda
