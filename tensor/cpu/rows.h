#pragma once

#include <cstdint>
#include <minnow/tensor/cpu/isa.h>

namespace minnow::cpu {

/// n elements `stride` apart as a dense row of the compute type: `from` itself if it is one, otherwise gathered and
/// converted to `buffer` (n times 8 bytes).  n is at most kReduceBlock.
const void* dense_row(const char* from, std::int64_t stride, DType dtype, Compute compute, char* buffer,
                      std::int64_t n);

}  // namespace minnow::cpu
