#pragma once

#include <cstdint>

namespace minnow::detail::kernels {

/// Element numbers and offsets below it are computed in 32 bits.  In a file of its own, because the emulator has
/// another.
constexpr std::int64_t narrow_limit() { return std::int64_t{1} << 31; }

}  // namespace minnow::detail::kernels
