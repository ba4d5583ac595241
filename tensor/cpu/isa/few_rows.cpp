#include <minnow/tensor/cpu/few_rows.h>
#include <minnow/tensor/cpu/isa.h>
#include <minnow/tensor/cpu/isa/row_vectors.h>

MINNOW_ISA_TABLE(FewRowsLoops, few_rows_table)

namespace minnow::cpu::MINNOW_ISA {
namespace {

constexpr std::int64_t kStrip = 1024;  // columns whose sums stay in the first-level cache
constexpr int kDeep = 8;               // rows of b at a time

/// Adds rows [0, Deep) of b, times Deep elements of each row of a, to sums of n columns.
template <int Deep> void add_rows(const FewRowsPart& p, const float* a, const float* b, float* c, std::int64_t n) {
  for (std::int64_t r = 0; r < p.rows; ++r) {
    const float* const of_row = a + r * p.k;
    float* const sums = c + r * p.c_row;
    Vector x[Deep];
#pragma GCC unroll 8
    for (int d = 0; d < Deep; ++d) x[d] = splat(of_row[d]);
    const auto step = [&](std::int64_t j, int some) {
      // Added to each other first, which rounds them less than a large sum.
      Vector added = x[0] * load_some(b + j, some);
#pragma GCC unroll 8
      for (int d = 1; d < Deep; ++d) added += x[d] * load_some(b + d * p.b_step + j, some);
      store_some(load_some(sums + j, some) + added, sums + j, some);
    };
    std::int64_t j = 0;
    for (; j + kLanes32 <= n; j += kLanes32) step(j, kLanes32);
    if (j < n) step(j, static_cast<int>(n - j));
  }
}

void plain(const FewRowsPart& p) {
  // A strip of b is read for every row of a: with several rows, strips are so narrow that kDeep of its rows stay in the cache.
  for (std::int64_t left = 0; left < p.n; left += kStrip) {
    const std::int64_t n = p.n - left < kStrip ? p.n - left : kStrip;
    if (!p.add)
      for (std::int64_t r = 0; r < p.rows; ++r)
        for (std::int64_t j = 0; j < n; ++j) p.c[r * p.c_row + left + j] = p.bias == nullptr ? 0.0f : p.bias[left + j];
    std::int64_t k = 0;
    for (; k + kDeep <= p.k; k += kDeep) add_rows<kDeep>(p, p.a + k, p.b + k * p.b_step + left, p.c + left, n);
    for (; k < p.k; ++k) add_rows<1>(p, p.a + k, p.b + k * p.b_step + left, p.c + left, n);
  }
}

struct PlusFloat {
  MINNOW_HD Vector operator()(Vector a, Vector b) const { return a + b; }
};

MINNOW_HD float total(Vector v) { return fold<kLanes32 / 2>(v, PlusFloat())[0]; }

/// Products of R rows of a with C rows of the transpose.
template <int R, int C> void dots(const FewRowsPart& p, std::int64_t row, std::int64_t col) {
  const float *const a = p.a + row * p.k, *const b = p.b + col * p.b_step;
  Vector sum[R][C] = {};
  const auto step = [&](std::int64_t k, int some) {
    Vector y[C];
#pragma GCC unroll 4
    for (int c = 0; c < C; ++c) y[c] = load_some(b + c * p.b_step + k, some);
#pragma GCC unroll 4
    for (int r = 0; r < R; ++r) {
      const Vector x = load_some(a + r * p.k + k, some);
#pragma GCC unroll 4
      for (int c = 0; c < C; ++c) sum[r][c] += x * y[c];
    }
  };
  std::int64_t k = 0;
  for (; k + kLanes32 <= p.k; k += kLanes32) step(k, kLanes32);
  if (k < p.k) step(k, static_cast<int>(p.k - k));
  for (int r = 0; r < R; ++r)
    for (int c = 0; c < C; ++c) {
      float* const to = p.c + (row + r) * p.c_row + col + c;
      const float start = p.add ? *to : p.bias == nullptr ? 0.0f : p.bias[col + c];
      *to = start + total(sum[r][c]);
    }
}

template <int C> void columns(const FewRowsPart& p, std::int64_t col) {
  std::int64_t row = 0;
  for (; row + 4 <= p.rows; row += 4) dots<4, C>(p, row, col);
  for (; row < p.rows; ++row) dots<1, C>(p, row, col);
}

void transposed(const FewRowsPart& p) {
  std::int64_t col = 0;
  for (; col + 4 <= p.n; col += 4) columns<4>(p, col);
  for (; col < p.n; ++col) columns<1>(p, col);
}

}  // namespace

const FewRowsLoops few_rows_table = {plain, transposed};

}  // namespace minnow::cpu::MINNOW_ISA

#ifdef MINNOW_ISA_ONCE
namespace minnow::cpu {

const FewRowsLoops& few_rows_loops() { return MINNOW_ISA_LOOPS(few_rows_table); }

}  // namespace minnow::cpu
#endif
