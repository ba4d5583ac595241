#include <algorithm>
#include <minnow/tensor/cpu/gemm.h>
#include <minnow/tensor/cpu/isa.h>
#include <minnow/tensor/cpu/isa/row_vectors.h>
#include <minnow/tensor/cpu/parallel.h>

namespace minnow::cpu {

/// A matrix [rows, cols] of float32 whose rows are dense and `stride` elements apart, times a vector.
struct GemvLoops {
  /// y[rows] = a x
  void (*rows)(const float* a, std::int64_t stride, const float* x, float* y, std::int64_t rows, std::int64_t cols);
  /// y[cols] = aᵀ x
  void (*columns)(const float* a, std::int64_t stride, const float* x, float* y, std::int64_t rows, std::int64_t cols);
};

}  // namespace minnow::cpu

MINNOW_ISA_TABLE(GemvLoops, gemv_loops)

namespace minnow::cpu::MINNOW_ISA {
namespace {

/// R products of rows with x.  The order of a row's sums does not depend on R.
template <int R>
MINNOW_HD void products(const float* a, std::int64_t stride, const float* x, float* y, std::int64_t n) {
  Vector even[R] = {}, odd[R] = {};
  std::int64_t i = 0;
  for (; i + 2 * kLanes32 <= n; i += 2 * kLanes32) {
    const Vector x0 = load(x + i), x1 = load(x + i + kLanes32);
#pragma GCC unroll 4
    for (int r = 0; r < R; ++r) {
      even[r] += load(a + r * stride + i) * x0;
      odd[r] += load(a + r * stride + i + kLanes32) * x1;
    }
  }
  for (; i < n; i += kLanes32) {
    const int some = n - i < kLanes32 ? static_cast<int>(n - i) : kLanes32;
    const Vector x0 = load_first(x + i, some);
    for (int r = 0; r < R; ++r) even[r] += load_first(a + r * stride + i, some) * x0;
  }
  for (int r = 0; r < R; ++r) y[r] = fold<kLanes32 / 2>(even[r] + odd[r], [](Vector v, Vector w) { return v + w; })[0];
}

void gemv_rows(const float* a, std::int64_t stride, const float* x, float* y, std::int64_t rows, std::int64_t cols) {
  std::int64_t r = 0;
  for (; r + 4 <= rows; r += 4) products<4>(a + r * stride, stride, x, y + r, cols);
  for (; r < rows; ++r) products<1>(a + r * stride, stride, x, y + r, cols);
}

void gemv_columns(const float* a, std::int64_t stride, const float* x, float* __restrict y, std::int64_t rows,
                  std::int64_t cols) {
  for (std::int64_t j = 0; j < cols; ++j) y[j] = 0;
  std::int64_t r = 0;
  for (; r + 4 <= rows; r += 4) {
    const float *a0 = a + r * stride, *a1 = a0 + stride, *a2 = a1 + stride, *a3 = a2 + stride;
    const float x0 = x[r], x1 = x[r + 1], x2 = x[r + 2], x3 = x[r + 3];
    for (std::int64_t j = 0; j < cols; ++j) y[j] += (a0[j] * x0 + a1[j] * x1) + (a2[j] * x2 + a3[j] * x3);
  }
  for (; r < rows; ++r)
    for (std::int64_t j = 0; j < cols; ++j) y[j] += a[r * stride + j] * x[r];
}

}  // namespace

const GemvLoops gemv_loops = {gemv_rows, gemv_columns};

}  // namespace minnow::cpu::MINNOW_ISA

#if MINNOW_ISA_ONCE
namespace minnow::cpu {

void multiply_vector(const MatrixVector& p) {
  const GemvLoops& loops = MINNOW_ISA_LOOPS(gemv_loops);
  const std::int64_t bytes = p.rows * p.cols * std::int64_t{sizeof(float)};
  if (!p.transposed) {
    const std::int64_t block = std::max<std::int64_t>(4, (1 << 15) / p.cols / 4 * 4);
    parallel_blocks(p.rows, block, bytes, [&](std::int64_t begin, std::int64_t end) {
      loops.rows(p.a + begin * p.stride, p.stride, p.x, p.y + begin, end - begin, p.cols);
    });
    return;
  }
  // A strip of y stays in the first level of the cache; lines of a are read in runs that are prefetched.
  constexpr std::int64_t kStrip = 1024, kLeast = 128;
  const std::int64_t strip = std::clamp((p.cols / 8 + 15) / 16 * 16, kLeast, kStrip);
  parallel_blocks(p.cols, strip, bytes, [&](std::int64_t begin, std::int64_t end) {
    loops.columns(p.a + begin, p.stride, p.x, p.y + begin, p.rows, end - begin);
  });
}

}  // namespace minnow::cpu
#endif
