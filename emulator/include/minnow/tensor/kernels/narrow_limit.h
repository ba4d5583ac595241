#pragma once

#include <emulator/launch.h>

namespace minnow::detail::kernels {

/// Replaces the backend's header of this name, so that small tensors can be computed as those that need 64 bits.
inline std::int64_t narrow_limit() { return emulator::narrow_limit(); }

}  // namespace minnow::detail::kernels
