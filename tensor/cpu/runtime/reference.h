#pragma once

#include <algorithm>
#include <cstdint>
#include <type_traits>
#include <minnow/tensor/backend/backend.h>
#include <minnow/tensor/cpu/runtime/parallel.h>
#include <minnow/tensor/cpu/runtime/scratch.h>
#include <minnow/tensor/internal.h>

// Simple loops of products, for what neither libraries nor our kernel compute.  Each element is summed in a fixed
// order, for any number of threads.

namespace minnow::cpu::reference {

/// Element access by indices.
template <class T> struct Elements {
  explicit Elements(const View& t) : data(static_cast<T*>(t.raw_data())), strides(t.strides()), shape(t.shape()) {}
  template <class... I> T& operator()(I... i) const {
    std::int64_t at = 0;
    int d = 0;
    ((at += static_cast<std::int64_t>(i) * strides[d++]), ...);
    return data[at];
  }
  T* data;
  Strides strides;
  Shape shape;
};

/// Integers wrap around.
template <class T> T multiply_add(T sum, T a, T b) {
  if constexpr (std::is_integral_v<T>) {
    using U = std::make_unsigned_t<T>;
    return static_cast<T>(static_cast<U>(sum) + static_cast<U>(a) * static_cast<U>(b));
  } else {
    return sum + a * b;
  }
}

inline int threads_for(std::int64_t operations) { return operations < (1 << 15) ? 1 : num_threads(); }

constexpr std::int64_t kRows = 4, kColumns = 128, kDepth = 256;

/// c[i, j] += sum over k of a[i, k] b[k, j] for one block: `rows` <= kRows rows, all of b's n columns
/// contiguous.
template <class T>
void multiply_block(const T* a, std::int64_t a_row, std::int64_t a_col, const T* b, std::int64_t ldb, T* c,
                    std::int64_t ldc, std::int64_t rows, std::int64_t n, std::int64_t depth) {
  for (std::int64_t j0 = 0; j0 < n; j0 += kColumns) {
    const std::int64_t width = std::min(kColumns, n - j0);
    for (std::int64_t k = 0; k < depth; ++k) {
      const T* __restrict row = b + k * ldb + j0;
      for (std::int64_t i = 0; i < rows; ++i) {
        const T factor = a[i * a_row + k * a_col];
        T* __restrict sum = c + i * ldc + j0;
        for (std::int64_t j = 0; j < width; ++j) sum[j] = multiply_add(sum[j], factor, row[j]);
      }
    }
  }
}

/// out = alpha a b + beta out + bias, for T = double or int64.  The rows of b and out are contiguous.
template <class T>
void matmul(const MatmulParams& params, const View& a, const View& b, const View& bias, const View& out) {
  const Elements<const T> av(a), bv(b);
  const Elements<T> ov(out);
  const std::int64_t batch = out.shape()[0], m = out.shape()[1], n = out.shape()[2], depth = a.shape()[2];
  const T alpha = static_cast<T>(params.alpha), beta = static_cast<T>(params.beta);
  const T* bias_data = bias.defined() ? static_cast<const T*>(bias.raw_data()) : nullptr;
  const std::int64_t bias_step = bias.defined() ? bias.strides()[0] : 0;
  const std::int64_t blocks = (m + kRows - 1) / kRows;
  const int threads = threads_for(batch * m * n * std::max<std::int64_t>(depth, 1));
  const ThreadScratch sums_memory(static_cast<std::size_t>(kRows * n) * sizeof(T));
  parallel_loop(batch * blocks, threads, [&](std::int64_t block) {
    const std::int64_t p = block / blocks, i0 = block % blocks * kRows, rows = std::min(kRows, m - i0);
    T* sums = static_cast<T*>(sums_memory.mine());
    std::fill_n(sums, kRows * n, T(0));
    for (std::int64_t k = 0; k < depth; k += kDepth)
      multiply_block(&av(p, i0, k), av.strides[1], av.strides[2], &bv(p, k), bv.strides[1], sums, n, rows, n,
                     std::min(kDepth, depth - k));
    for (std::int64_t i = 0; i < rows; ++i)
      for (std::int64_t j = 0; j < n; ++j) {
        T value = multiply_add(T(0), alpha, sums[i * n + j]);
        if (params.beta != 0) value = multiply_add(value, beta, ov(p, i0 + i, j));
        if (bias_data) value = multiply_add(value, T(1), bias_data[j * bias_step]);
        ov(p, i0 + i, j) = value;
      }
  });
}

}  // namespace minnow::cpu::reference
