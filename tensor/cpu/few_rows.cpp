#include <minnow/tensor/cpu/few_rows.h>

#include <algorithm>
#include <minnow/tensor/cpu/parallel.h>
#include <minnow/tensor/cpu/scratch.h>

namespace minnow::cpu {

bool has_few_rows(const Product& p) {
  // Elements of b: smaller ones stay in the cache, where tiles are as fast, and for several rows faster; larger ones come from
  // memory, which few rows read in order.
  constexpr std::int64_t kSmall = 1 << 16, kLarge = 1 << 23;
  if (p.m > kFewRows || p.k < 1) return false;
  return p.b_col == 1 ? p.n * p.k >= (p.m == 1 ? kSmall : kLarge) : p.b_row == 1;
}

void multiply_few_rows(const Product& p) {
  const FewRowsLoops& loops = few_rows_loops();
  const bool plain = p.b_col == 1, dense = p.a_col == 1 && (p.a_row == p.k || p.m == 1);
  const float* a = p.a;
  if (!dense) {
    auto* const copy = static_cast<float*>(scratch(static_cast<std::size_t>(p.m * p.k) * sizeof(float)));
    for (std::int64_t r = 0; r < p.m; ++r)
      for (std::int64_t k = 0; k < p.k; ++k) copy[r * p.k + k] = p.a[r * p.a_row + k * p.a_col];
    a = copy;
  }
  const std::int64_t b_step = plain ? p.b_row : p.b_col, bytes = p.n * p.k * static_cast<std::int64_t>(sizeof(float));
  // Rows of the transpose are read one after the other, and may be taken over by another thread in small parts.
  constexpr std::int64_t kEach = 64;
  const std::int64_t parts = bytes < kParallelBytes || in_parallel() ? 1
                             : plain                                 ? num_threads()
                                                                     : (p.n + kEach - 1) / kEach;
  parallel_loop(parts, num_threads(), [&](std::int64_t i) {
    const Range cols = share(p.n, parts, i);
    if (cols.size() <= 0) return;
    const FewRowsPart part{p.m,
                           cols.size(),
                           p.k,
                           a,
                           p.b + cols.begin * (plain ? 1 : b_step),
                           b_step,
                           p.bias == nullptr ? nullptr : p.bias + cols.begin,
                           p.c + cols.begin,
                           p.c_row,
                           p.add};
    plain ? loops.plain(part) : loops.transposed(part);
  });
}

}  // namespace minnow::cpu
