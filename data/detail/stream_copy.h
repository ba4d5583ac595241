#pragma once

#include <cstddef>

namespace minnow::data::detail {

/// Copies with non-temporal stores, where the processor has them, to memory that other cores read next.  The target's
/// cache lines are in the caches of the cores that read the batch before; ordinary stores would fetch each of them,
/// which takes ten times as long as the copy.  Call finish_copies() before another thread reads the target.
void copy_past_cache(const void* from, void* to, std::size_t bytes);
void finish_copies();

}  // namespace minnow::data::detail
