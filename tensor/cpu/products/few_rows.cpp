#include <minnow/tensor/cpu/products/few_rows.h>

#include <algorithm>
#include <type_traits>
#include <minnow/tensor/cpu/runtime/isa.h>
#include <minnow/tensor/cpu/runtime/parallel.h>
#include <minnow/tensor/cpu/runtime/scratch.h>

namespace minnow::cpu {
namespace {

constexpr std::int64_t kDotPart = 1 << 14;

/// The product of two long vectors, as a sum of parts that do not depend on the number of threads.
template <class T> void run_dot(const FewRowsPartOf<T>& whole) {
  constexpr std::int64_t kParts = 64;
  const std::int64_t each = std::max(kDotPart, (whole.k + kParts - 1) / kParts), parts = (whole.k + each - 1) / each;
  T sums[kParts];
  parallel_loop(parts, num_threads(), [&](std::int64_t i) {
    FewRowsPartOf<T> part = whole;
    part.k = std::min(each, whole.k - i * each);
    part.a += i * each, part.b += i * each, part.c = sums + i, part.add = false;
    few_rows_loops<T>().transposed(part);
  });
  T sum = whole.add ? *whole.c : T(0);
  for (std::int64_t i = 0; i < parts; ++i) sum += sums[i];
  *whole.c = sum;
}

/// Computes `whole`, whose rows of a have strides; plain: b has dense columns, else its transpose.
template <class T> void run(FewRowsPartOf<T> whole, std::int64_t a_row, std::int64_t a_col, bool plain) {
  const FewRowsLoopsOf<T>& loops = few_rows_loops<T>();
  const std::int64_t rows = whole.rows, n = whole.n, depth = whole.k;
  if (a_col != 1 || (a_row != depth && rows > 1)) {
    auto* const copy = static_cast<T*>(scratch(static_cast<std::size_t>(rows * depth) * sizeof(T)));
    parallel_blocks(depth, kDotPart, rows * depth * static_cast<std::int64_t>(sizeof(T)), [&](auto begin, auto end) {
      for (std::int64_t r = 0; r < rows; ++r)
        for (std::int64_t k = begin; k < end; ++k) copy[r * depth + k] = whole.a[r * a_row + k * a_col];
    });
    whole.a = copy;
  }
  if (rows == 1 && n == 1 && !plain && depth >= 2 * kDotPart && whole.bias == nullptr) return run_dot(whole);
  // Rows of the transpose are read one after the other, and may be taken over by another thread in small parts.
  constexpr std::int64_t kEach = 64;
  const std::int64_t bytes = n * depth * static_cast<std::int64_t>(sizeof(T)), step = plain ? 1 : whole.b_step;
  const std::int64_t parts = bytes < kParallelBytes || in_parallel() ? 1
                             : plain                                 ? num_threads()
                                                                     : (n + kEach - 1) / kEach;
  parallel_loop(parts, num_threads(), [&](std::int64_t i) {
    const Range cols = share(n, parts, i);
    if (cols.size() <= 0) return;
    FewRowsPartOf<T> part = whole;
    part.n = cols.size();
    part.b += cols.begin * step;
    part.c += cols.begin * part.c_col;
    if (part.bias) part.bias += cols.begin * part.bias_col;
    plain ? loops.plain(part) : loops.transposed(part);
  });
}

/// Whether rows of b are read, not those of its transpose.
template <class T> bool is_plain(const ProductOf<T>& p) { return p.b_col == 1 && !(p.b_row == 1 && p.n == 1); }

/// Whether c is a dense vector that columns of a are added to.
template <class T> bool is_plain_column(const ProductOf<T>& p) { return p.n == 1 && p.a_row == 1 && p.c_row == 1; }

}  // namespace

template <class T> bool has_few_rows(const ProductOf<T>& p) {
  // Elements of b: smaller ones stay in the cache, where tiles are as fast, and for several rows faster; larger ones
  // come from memory, which few rows read in order.  Columns beside whole tiles would be packed.
  constexpr std::int64_t kSmall = 1 << 16, kLarge = 1 << 23, kTile = 64;
  if (p.m > kFewRows || p.k < 1) return false;
  return is_plain(p) ? p.n * p.k >= (p.m > 1 ? kLarge : p.n % kTile == 0 ? kSmall : kTile) : p.b_row == 1;
}

template <class T> bool has_few_columns(const ProductOf<T>& p) {
  const std::int64_t kDepth = p.n == 1 ? 1 : 16;  // below, tiles are as fast
  return p.n <= kFewRows && p.n <= p.m && p.k >= 1 && (is_plain_column(p) || (p.a_col == 1 && p.k >= kDepth));
}

template <class T> void multiply_few_rows(const ProductOf<T>& p) {
  run<T>({p.m, p.n, p.k, p.a, p.b, is_plain(p) ? p.b_row : p.b_col, p.bias, 0, 1, p.c, p.c_row, 1, p.add}, p.a_row,
         p.a_col, is_plain(p));
}

template <class T> void multiply_few_columns(const ProductOf<T>& p) {
  const bool plain = is_plain_column(p);
  run<T>({p.n, p.m, p.k, p.b, p.a, plain ? p.a_col : p.a_row, p.bias, 1, 0, p.c, 1, p.c_row, p.add}, p.b_col, p.b_row,
         plain);
}

template <class H> bool multiply_few_halves(const ProductOf<H>& p, std::int64_t most) {
  const bool few_rows = p.m <= p.n;
  if (std::min(p.m, p.n) > std::min(most, kFewRows) || p.a_col != 1 || p.b_row != 1 || p.k < 16) return false;
  constexpr std::int64_t kEach = 16, kDepth = 256;  // rows of the long operand, and their elements, at a time
  const std::int64_t rows = few_rows ? p.m : p.n, n = few_rows ? p.n : p.m, parts = (n + kEach - 1) / kEach;
  const H *const a = few_rows ? p.a : p.b, *const b = few_rows ? p.b : p.a;
  const std::int64_t a_step = few_rows ? p.a_row : p.b_col, b_step = few_rows ? p.b_col : p.a_row;
  const auto load = loops().load[static_cast<int>(std::is_same_v<H, float16_t> ? DType::float16 : DType::bfloat16)]
                                [static_cast<int>(Compute::kFloat)];
  parallel_for(parts, n * p.k * static_cast<std::int64_t>(sizeof(H)), [&](std::int64_t i) {
    const std::int64_t first = i * kEach, count = std::min(kEach, n - first);
    alignas(64) float x[kFewRows * kDepth], y[kEach * kDepth], sums[kFewRows * kEach];
    for (std::int64_t k = 0; k < p.k; k += kDepth) {
      const std::int64_t depth = std::min(kDepth, p.k - k);
      for (std::int64_t r = 0; r < rows; ++r) load(a + r * a_step + k, x + r * depth, depth);
      for (std::int64_t j = 0; j < count; ++j) load(b + (first + j) * b_step + k, y + j * depth, depth);
      few_rows_loops<float>().transposed({rows, count, depth, x, y, depth, nullptr, 0, 0, sums, kEach, 1, k > 0});
    }
    for (std::int64_t r = 0; r < rows; ++r)
      for (std::int64_t j = 0; j < count; ++j) {
        const std::int64_t row = few_rows ? r : first + j, col = few_rows ? first + j : r;
        const float start = p.bias == nullptr ? 0.0F : static_cast<float>(p.bias[col]);
        p.c[row * p.c_row + col] = H(sums[r * kEach + j] + start);
      }
  });
  return true;
}

template bool multiply_few_halves(const ProductOf<float16_t>& p, std::int64_t most);
template bool multiply_few_halves(const ProductOf<bfloat16_t>& p, std::int64_t most);
template bool has_few_rows(const ProductOf<float>& p);
template bool has_few_rows(const ProductOf<double>& p);
template bool has_few_columns(const ProductOf<float>& p);
template bool has_few_columns(const ProductOf<double>& p);
template void multiply_few_rows(const ProductOf<float>& p);
template void multiply_few_rows(const ProductOf<double>& p);
template void multiply_few_columns(const ProductOf<float>& p);
template void multiply_few_columns(const ProductOf<double>& p);

}  // namespace minnow::cpu
