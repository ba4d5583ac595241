#pragma once

#include <cstddef>
#include <cstdint>
#include <minnow/distributed/collectives.h>
#include <minnow/distributed/detail/communicator.h>
#include <minnow/tensor/dtype.h>

// Collectives over dense host memory.  Large ones go in segments, so that the room they need is bounded.  Each element
// is combined by one rank, in the order of the ranks, and sent to the others: all have the same bits.
namespace minnow::dist {

void all_reduce_bytes(Communicator& c, ReduceOp op, DType dtype, std::byte* data, std::int64_t n);
/// `data`: [size, n]; the combined row of this rank goes to `out`.
void reduce_scatter_bytes(Communicator& c, ReduceOp op, DType dtype, const std::byte* data, std::int64_t n,
                          std::byte* out);
/// `bytes` of each rank to out: [size, bytes].
void all_gather_bytes(Communicator& c, const std::byte* data, std::byte* out, std::size_t bytes);

}  // namespace minnow::dist
