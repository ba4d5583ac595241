#pragma once

#include <algorithm>
#include <cstdint>
#include <minnow/tensor/cpu/runtime/team.h>
#include <minnow/tensor/runtime/threads.h>

namespace minnow::cpu {

/// If a loop touches fewer bytes, waking a second thread costs more than it saves.
inline constexpr std::int64_t kParallelBytes = 128 * 1024;

/// Calls f(i) for i in [0, n), on at most `threads` threads.  Exceptions of f are rethrown.  Results must not
/// depend on the division among threads: divide by sizes, never by the number of threads.
template <class F> void parallel_loop(std::int64_t n, int threads, const F& f) {
  run_on_team(
      n, threads,
      [](const void* object, std::int64_t begin, std::int64_t end) {
        const F& call = *static_cast<const F*>(object);
        for (std::int64_t i = begin; i < end; ++i) call(i);
      },
      &f);
}

/// The same on num_threads() threads, or on one if the loop touches few bytes.
template <class F> void parallel_for(std::int64_t n, std::int64_t bytes, const F& f) {
  parallel_loop(n, bytes < kParallelBytes ? 1 : num_threads(), f);
}

/// The same over ranges [begin, end) of at most `block` numbers.
template <class F> void parallel_blocks(std::int64_t n, std::int64_t block, std::int64_t bytes, const F& f) {
  parallel_for((n + block - 1) / block, bytes, [&](std::int64_t i) { f(i * block, std::min(n, (i + 1) * block)); });
}

struct Range {
  std::int64_t begin, end;
  std::int64_t size() const { return end - begin; }
};

/// Part i of n rows divided into `parts`.  Products and updates divide a matrix in the same way, so that a core has its
/// rows in its cache: moving a cache line between cores costs more than the arithmetic on it.
inline Range share(std::int64_t n, std::int64_t parts, std::int64_t i) {
  constexpr std::int64_t kRows = 16;
  const std::int64_t steps = (n + kRows - 1) / kRows;
  return {std::min(n, steps * i / parts * kRows), std::min(n, steps * (i + 1) / parts * kRows)};
}

}  // namespace minnow::cpu
