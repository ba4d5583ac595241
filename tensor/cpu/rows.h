#pragma once

#include <cstdint>
#include <minnow/tensor/cpu/isa.h>

namespace minnow::cpu {

/// n elements `stride` apart as a dense row of the compute type: the very elements where they are that
/// already, else gathered and converted into `buffer` (n times 8 bytes).  n: at most kReduceBlock.
const void* dense_row(const char* from, std::int64_t stride, DType dtype, Compute compute, char* buffer,
                      std::int64_t n);

}  // namespace minnow::cpu
