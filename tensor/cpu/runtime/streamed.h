#pragma once

#include <cstdint>

namespace minnow::cpu {

/// Whether an operation on so many bytes of operands writes its result past the caches.  A usual store reads the line
/// first, which is a third of a copy's traffic; past the caches it does not, but whoever reads the result next finds
/// nothing there.  Below this size the last level still holds most of it.
constexpr bool is_streamed(std::int64_t bytes) { return bytes >= 24 << 20; }

}  // namespace minnow::cpu
