#include <minnow/tensor/cpu/isa/row_vectors.h>
#include <minnow/tensor/cpu/products/few_rows.h>
#include <minnow/tensor/cpu/runtime/isa.h>

MINNOW_ISA_TABLE(FewRowsLoopsOf<float>, few_rows_table)
MINNOW_ISA_TABLE(FewRowsLoopsOf<double>, few_rows_double_table)

namespace minnow::cpu::MINNOW_ISA {
namespace {

constexpr std::int64_t kStrip = 1024;     // columns whose sums stay in the first-level cache
constexpr int kDeep = 8;                  // rows of b at a time
constexpr std::int64_t kBlock = 1 << 16;  // products that are added before they are added to a sum, which may be large

template <class T> using VectorOf = decltype(splat(T()));

template <class T> struct Sums {
  T* data;
  std::int64_t row;  ///< between rows
};

/// Adds rows [0, Deep) of b, times Deep elements of each row of a, to sums of n columns.
template <int Deep, class T>
void add_rows(const FewRowsPartOf<T>& p, const T* a, const T* b, Sums<T> c, std::int64_t n) {
  for (std::int64_t r = 0; r < p.rows; ++r) {
    const T* const of_row = a + r * p.k;
    T* const sums = c.data + r * c.row;
    VectorOf<T> x[Deep];
#pragma GCC unroll 8
    for (int d = 0; d < Deep; ++d) x[d] = splat(of_row[d]);
    for_some<T>(n, [&](std::int64_t j, int some) {
      // Added to each other first, which rounds them less than a large sum.
      VectorOf<T> added = x[0] * load_some(b + j, some);
#pragma GCC unroll 8
      for (int d = 1; d < Deep; ++d) added += x[d] * load_some(b + d * p.b_step + j, some);
      store_some(load_some(sums + j, some) + added, sums + j, some);
    });
  }
}

/// Adds rows [k, end) of b.
template <class T>
void add_block(const FewRowsPartOf<T>& p, std::int64_t k, std::int64_t end, std::int64_t left, std::int64_t n,
               Sums<T> c) {
  for (; k + kDeep <= end; k += kDeep) add_rows<kDeep>(p, p.a + k, p.b + k * p.b_step + left, c, n);
  for (; k < end; ++k) add_rows<1>(p, p.a + k, p.b + k * p.b_step + left, c, n);
}

template <class T> void plain(const FewRowsPartOf<T>& p) {
  // A strip of b is read for every row of a: with several rows, strips are so narrow that kDeep of its rows stay in the
  // cache.
  for (std::int64_t left = 0; left < p.n; left += kStrip) {
    const std::int64_t n = p.n - left < kStrip ? p.n - left : kStrip;
    if (!p.add)
      for (std::int64_t r = 0; r < p.rows; ++r)
        for (std::int64_t j = 0; j < n; ++j) p.c[r * p.c_row + left + j] = p.start(r, left + j);
    if (p.k <= kBlock) {
      add_block(p, 0, p.k, left, n, Sums<T>{p.c + left, p.c_row});
      continue;
    }
    T own[kFewRows * kStrip];
    for (std::int64_t k = 0; k < p.k; k += kBlock) {
      for (std::int64_t i = 0; i < p.rows * kStrip; ++i) own[i] = 0;
      add_block(p, k, p.k - k < kBlock ? p.k : k + kBlock, left, n, Sums<T>{own, kStrip});
      for (std::int64_t r = 0; r < p.rows; ++r)
        for (std::int64_t j = 0; j < n; ++j) p.c[r * p.c_row + left + j] += own[r * kStrip + j];
    }
  }
}

struct PlusLanes {
  template <class V> MINNOW_HD V operator()(V a, V b) const { return a + b; }
};

/// Products of R rows of a with C rows of the transpose.
template <int R, int C, class T> void dots(const FewRowsPartOf<T>& p, std::int64_t row, std::int64_t col) {
  T* const to = p.c + row * p.c_row + col * p.c_col;
  T total[R][C];
  for (int r = 0; r < R; ++r)
    for (int c = 0; c < C; ++c) total[r][c] = p.add ? to[r * p.c_row + c * p.c_col] : p.start(row + r, col + c);
  for (std::int64_t first = 0; first < p.k; first += kBlock) {
    const T *const a = p.a + row * p.k + first, *const b = p.b + col * p.b_step + first;
    VectorOf<T> sum[R][C] = {};
    for_some<T>(p.k - first < kBlock ? p.k - first : kBlock, [&](std::int64_t k, int some) {
      VectorOf<T> y[C];
#pragma GCC unroll 4
      for (int c = 0; c < C; ++c) y[c] = load_some(b + c * p.b_step + k, some);
#pragma GCC unroll 4
      for (int r = 0; r < R; ++r) {
        const VectorOf<T> x = load_some(a + r * p.k + k, some);
#pragma GCC unroll 4
        for (int c = 0; c < C; ++c) sum[r][c] += x * y[c];
      }
    });
    for (int r = 0; r < R; ++r)
      for (int c = 0; c < C; ++c) total[r][c] += fold<kLanesOf<T> / 2>(sum[r][c], PlusLanes())[0];
  }
  for (int r = 0; r < R; ++r)
    for (int c = 0; c < C; ++c) to[r * p.c_row + c * p.c_col] = total[r][c];
}

/// A product of two rows, whose sums are so many that additions need not wait for each other.
template <class T> void dot(const FewRowsPartOf<T>& p) {
  constexpr int kSums = 8, kEach = kLanesOf<T>;
  if (!p.add) *p.c = p.start(0, 0);
  for (std::int64_t first = 0; first < p.k; first += kBlock) {
    const T *const a = p.a + first, *const b = p.b + first;
    const std::int64_t n = p.k - first < kBlock ? p.k - first : kBlock;
    VectorOf<T> sum[kSums] = {};
    std::int64_t k = 0;
    for (; k + kSums * kEach <= n; k += kSums * kEach)
#pragma GCC unroll 8
      for (int i = 0; i < kSums; ++i)
        sum[i] += load_some(a + k + i * kEach, kEach) * load_some(b + k + i * kEach, kEach);
    for_some<T>(n - k, [&](std::int64_t i, int some) {
      sum[i / kEach] += load_some(a + k + i, some) * load_some(b + k + i, some);
    });
    for (int half = kSums / 2; half > 0; half /= 2)
      for (int i = 0; i < half; ++i) sum[i] += sum[i + half];
    *p.c += fold<kEach / 2>(sum[0], PlusLanes())[0];
  }
}

template <int C, class T> void columns(const FewRowsPartOf<T>& p, std::int64_t col) {
  std::int64_t row = 0;
  for (; row + 4 <= p.rows; row += 4) dots<4, C>(p, row, col);
  for (; row + 2 <= p.rows; row += 2) dots<2, C>(p, row, col);
  for (; row < p.rows; ++row) dots<1, C>(p, row, col);
}

/// Products of one row with rows that fit in a vector.
template <class T> void short_dots(const FewRowsPartOf<T>& p) {
  const int k = static_cast<int>(p.k);
  const VectorOf<T> x = load_some(p.a, k);
  fold_rows<VectorOf<T>>(
      p.n, [&](std::int64_t j) { return x * load_some(p.b + j * p.b_step, k); }, PlusLanes(), p.c);
  for (std::int64_t j = 0; p.bias != nullptr && j < p.n; ++j) p.c[j] += p.start(0, j);
}

template <class T> void transposed(const FewRowsPartOf<T>& p) {
  if (p.rows == 1 && p.n == 1) return dot(p);
  if (p.rows == 1 && p.k <= kLanesOf<T> && p.c_col == 1 && !p.add) return short_dots(p);
  std::int64_t col = 0;
  for (; col + 4 <= p.n; col += 4) columns<4>(p, col);
  for (; col < p.n; ++col) columns<1>(p, col);
}

}  // namespace

const FewRowsLoopsOf<float> few_rows_table = {plain<float>, transposed<float>};
const FewRowsLoopsOf<double> few_rows_double_table = {plain<double>, transposed<double>};

}  // namespace minnow::cpu::MINNOW_ISA

#ifdef MINNOW_ISA_ONCE
namespace minnow::cpu {

template <> const FewRowsLoopsOf<float>& few_rows_loops() { return MINNOW_ISA_LOOPS(few_rows_table); }
template <> const FewRowsLoopsOf<double>& few_rows_loops() { return MINNOW_ISA_LOOPS(few_rows_double_table); }

}  // namespace minnow::cpu
#endif
