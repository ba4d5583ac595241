#pragma once

#include <cstddef>
#include <minnow/distributed/collectives.h>
#include <minnow/tensor/dtype.h>

namespace minnow::dist {

/// out = part 0 combined with part 1, with part 2, ...: `count` parts of n elements, one behind the other.  `out` may
/// be one of the parts.
void combine(ReduceOp op, DType dtype, const std::byte* parts, int count, std::int64_t n, std::byte* out);

}  // namespace minnow::dist
