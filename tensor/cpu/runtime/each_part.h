#pragma once

#include <algorithm>
#include <minnow/tensor/cpu/runtime/buffer.h>
#include <minnow/tensor/cpu/runtime/parallel.h>
#include <minnow/tensor/runtime/threads.h>

namespace minnow::cpu {

/// Calls f(i, `bytes` of memory of the thread) for i in [0, count), in parallel.
template <class F> void for_each_part(std::int64_t count, std::size_t bytes, const F& f) {
  const int threads = in_parallel() ? 1 : static_cast<int>(std::min<std::int64_t>(num_threads(), count));
  bytes = (bytes + 63) / 64 * 64;
  const Buffer memory(bytes * static_cast<std::size_t>(threads));
  parallel_loop(count, threads, [&](std::int64_t i) {
    char* own = static_cast<char*>(memory.data());
    if (own) own += bytes * static_cast<std::size_t>(threads > 1 ? thread_number() : 0);
    f(i, own);
  });
}

}  // namespace minnow::cpu
