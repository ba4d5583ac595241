#include <minnow/tensor/cpu/isa/row_vectors.h>
#include <minnow/tensor/cpu/norms/softmax_loops.h>
#include <minnow/tensor/cpu/runtime/isa.h>

MINNOW_ISA_TABLE(ColumnTable, column_table)

namespace minnow::cpu::MINNOW_ISA {
namespace {

namespace math = kernels::math;

constexpr int kLanes = 64;
constexpr std::int64_t kChunk = 1024;

template <class T> T row_max(const T* x, std::int64_t n) {
  T lane[kLanes];
  for (int l = 0; l < kLanes; ++l) lane[l] = -math::kInfinity<T>;
  std::int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    for (int l = 0; l < kLanes; ++l) lane[l] = x[i + l] > lane[l] ? x[i + l] : lane[l];
  }
  T most = -math::kInfinity<T>;
  for (; i < n; ++i) most = x[i] > most ? x[i] : most;
  for (int l = 0; l < kLanes; ++l) most = lane[l] > most ? lane[l] : most;
  return most;
}

/// The sum of f(0), f(1), ... with independent lanes.
template <class T, class F> MINNOW_HD T lane_sum(std::int64_t n, F f) {
  T lane[kLanes] = {};
  std::int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    for (int l = 0; l < kLanes; ++l) lane[l] += f(i + l);
  }
  const int rest = static_cast<int>(n - i);
  for (int l = 0; l < rest; ++l) lane[l] += f(i + l);
  for (int width = kLanes / 2; width > 0; width /= 2) {
    for (int l = 0; l < width; ++l) lane[l] += lane[l + width];
  }
  return lane[0];
}

/// The sum of exp(x - most), through a small buffer.
template <class T> double exp_sum(const T* x, std::int64_t n, T most) {
  double sum = 0;
  T buffer[kChunk];
  for (std::int64_t at = 0; at < n; at += kChunk) {
    const std::int64_t m = n - at < kChunk ? n - at : kChunk;
    for (std::int64_t i = 0; i < m; ++i) buffer[i] = math::exp(x[at + i] - most);
    sum += static_cast<double>(lane_sum<T>(m, [&](std::int64_t i) { return buffer[i]; }));
  }
  return sum;
}

/// What is subtracted before exp: 0 if the largest element is infinite or NaN.  If all are -inf the sum is 0; an
/// infinity or NaN is propagated.
template <class T> MINNOW_HD T shift_of(T most) { return math::isfinite(most) ? most : T(0); }

template <class T> void scaled_exp(const void* data, void* result, std::int64_t n, double most, double scale) {
  const T* x = static_cast<const T*>(data);
  T* out = static_cast<T*>(result);
  const T shift = static_cast<T>(most);
  const T factor = static_cast<T>(scale);
#pragma GCC ivdep
  for (std::int64_t i = 0; i < n; ++i) out[i] = factor * math::exp(x[i] - shift);
}

// Rows of up to kChunk floats: many at a time, so that exponentials are computed in whole vectors.

constexpr std::int64_t kBuffer = 4096;  // floats
constexpr std::int64_t kRows = 256;

struct LargerNumber {
  MINNOW_HD Vector operator()(Vector a, Vector b) const { return b > a ? b : a; }
};

void largest_of(const float* x, std::int64_t rows, std::int64_t n, float* most) {
  fold_rows<Vector>(
      rows, [&](std::int64_t r) { return row_join(x + r * n, n, -math::kInfinity<float>, LargerNumber()); },
      LargerNumber(), most);
}
void sums_of(const float* x, std::int64_t rows, std::int64_t n, double* sums) {
  fold_rows<DoubleVector>(
      rows,
      [&](std::int64_t r) {
        return row_sum(n, [row = x + r * n](std::int64_t i, int some) { return load_some(row + i, some); });
      },
      Plus(), sums);
}
/// y = x - shift[row].
void subtract_each(const float* x, const float* shift, float* y, std::int64_t rows, std::int64_t n) {
  for (std::int64_t r = 0; r < rows; ++r) {
    row_map(y + r * n, n,
            [row = x + r * n, s = splat(shift[r])](std::int64_t i, int some) { return load_some(row + i, some) - s; });
  }
}
void multiply_each(float* x, const float* factor, std::int64_t rows, std::int64_t n) {
  for (std::int64_t r = 0; r < rows; ++r) {
    row_map(x + r * n, n,
            [row = x + r * n, f = splat(factor[r])](std::int64_t i, int some) { return load_some(row + i, some) * f; });
  }
}
void exp_all(const float* x, float* y, std::int64_t n) {
#pragma GCC ivdep
  for (std::int64_t i = 0; i < n; ++i) y[i] = math::exp(x[i]);
}
/// y = exp(x - shift[row]).
void exp_each(const float* x, const float* shift, float* y, std::int64_t rows, std::int64_t n) {
  if (n % kLanes32 != 0) {
    subtract_each(x, shift, y, rows, n);
    return exp_all(y, y, rows * n);
  }
  for (std::int64_t r = 0; r < rows; ++r) {
    const float s = shift[r];
    const float* from = x + r * n;
    float* to = y + r * n;
#pragma GCC ivdep
    for (std::int64_t i = 0; i < n; ++i) to[i] = math::exp(from[i] - s);
  }
}

/// Calls f(first row, rows) for parts whose elements fit into a buffer.
template <class F> MINNOW_HD void for_parts(std::int64_t rows, std::int64_t n, const F& f) {
  const std::int64_t fit = n == 0 || kBuffer / n > kRows ? kRows : kBuffer / n;
  for (std::int64_t r = 0; r < rows; r += fit) f(r, rows - r < fit ? rows - r : fit);
}

void short_rows(const float* data, float* result, std::int64_t rows, std::int64_t n, bool log) {
  for_parts(rows, n, [&](std::int64_t first, std::int64_t m) {
    const float* x = data + first * n;
    float* y = result + first * n;
    float each[kRows];
    double sum[kRows];
    largest_of(x, m, n, each);
    if (log) {
      float buffer[kBuffer];
      subtract_each(x, each, y, m, n);
      exp_all(y, buffer, m * n);
      sums_of(buffer, m, n, sum);
      for (std::int64_t r = 0; r < m; ++r) each[r] = static_cast<float>(math::host::log_wide(sum[r]));
      subtract_each(y, each, y, m, n);
    } else {
      exp_each(x, each, y, m, n);
      sums_of(y, m, n, sum);
      for (std::int64_t r = 0; r < m; ++r) each[r] = static_cast<float>(1.0 / sum[r]);
      multiply_each(y, each, m, n);
    }
  });
}

void short_rows_backward(const float* grad, const float* result, float* out, std::int64_t rows, std::int64_t n,
                         bool log) {
  for_parts(rows, n, [&](std::int64_t first, std::int64_t m) {
    const float* g = grad + first * n;
    const float* y = result + first * n;
    float* dx = out + first * n;
    double sum[kRows];
    float buffer[kBuffer];
    if (log) {
      sums_of(g, m, n, sum);
      exp_all(y, buffer, m * n);
    } else {
      fold_rows<DoubleVector>(
          m,
          [&](std::int64_t r) {
            return row_sum(n, [a = g + r * n, b = y + r * n](std::int64_t i, int some) {
              return load_some(a + i, some) * load_some(b + i, some);
            });
          },
          Plus(), sum);
    }
    for (std::int64_t r = 0; r < m; ++r) {
      const float* a = g + r * n;
      const float* b = (log ? buffer : y) + r * n;
      const Vector s = splat(static_cast<float>(sum[r]));
      if (log) {
        row_map(dx + r * n, n,
                [&](std::int64_t i, int some) { return load_some(a + i, some) - load_some(b + i, some) * s; });
      } else {
        row_map(dx + r * n, n,
                [&](std::int64_t i, int some) { return load_some(b + i, some) * (load_some(a + i, some) - s); });
      }
    }
  });
}

void short_exp_sums(const float* data, std::int64_t rows, std::int64_t n, double* most, double* sum) {
  for_parts(rows, n, [&](std::int64_t first, std::int64_t m) {
    float each[kRows], buffer[kBuffer];
    largest_of(data + first * n, m, n, each);
    for (std::int64_t r = 0; r < m; ++r) {
      most[first + r] = static_cast<double>(each[r]);
      each[r] = shift_of(each[r]);
    }
    exp_each(data + first * n, each, buffer, m, n);
    sums_of(buffer, m, n, sum + first);
  });
}

/// The largest element of each row, the sum of exp(x - largest), and its logarithm.
template <class T>
void exp_sums(const void* data, std::int64_t rows, std::int64_t n, double* most, double* sum, double* log_sum) {
  const T* x = static_cast<const T*>(data);
  if constexpr (std::is_same_v<T, float>) {
    if (n <= kChunk) {
      short_exp_sums(x, rows, n, most, sum);
      for (std::int64_t r = 0; r < rows; ++r) log_sum[r] = math::host::log_wide(sum[r]);
      return;
    }
  }
  for (std::int64_t r = 0; r < rows; ++r) {
    const T largest = row_max(x + r * n, n);
    most[r] = static_cast<double>(largest);
    sum[r] = exp_sum(x + r * n, n, shift_of(largest));
    log_sum[r] = math::log(sum[r]);
  }
}

template <class T> void row(const T* x, T* y, std::int64_t n, bool log) {
  const T most = row_max(x, n);
  if (log) {
    const T log_sum = static_cast<T>(math::log(exp_sum(x, n, most)));
#pragma GCC ivdep
    for (std::int64_t i = 0; i < n; ++i) y[i] = (x[i] - most) - log_sum;
    return;
  }
  double sum = 0;
  for (std::int64_t at = 0; at < n; at += kChunk) {
    const std::int64_t m = n - at < kChunk ? n - at : kChunk;
#pragma GCC ivdep
    for (std::int64_t i = 0; i < m; ++i) y[at + i] = math::exp(x[at + i] - most);
    sum += static_cast<double>(lane_sum<T>(m, [&](std::int64_t i) { return y[at + i]; }));
  }
  const T factor = static_cast<T>(1.0 / sum);
  for (std::int64_t i = 0; i < n; ++i) y[i] *= factor;
}

template <class T> void rows(const void* data, void* result, std::int64_t count, std::int64_t n, bool log) {
  const T* x = static_cast<const T*>(data);
  T* y = static_cast<T*>(result);
  if constexpr (std::is_same_v<T, float>) {
    if (n <= kChunk) return short_rows(x, y, count, n, log);
  }
  for (std::int64_t r = 0; r < count; ++r) row(x + r * n, y + r * n, n, log);
}

/// softmax: y (g - sum(g y));  log_softmax: g - e^y sum(g).
template <class T> void row_backward(const T* g, const T* y, T* dx, std::int64_t n, bool log) {
  double total = 0;
  for (std::int64_t at = 0; at < n; at += kChunk) {
    const std::int64_t m = n - at < kChunk ? n - at : kChunk;
    const T part = log ? lane_sum<T>(m, [&](std::int64_t i) { return g[at + i]; })
                       : lane_sum<T>(m, [&](std::int64_t i) { return g[at + i] * y[at + i]; });
    total += static_cast<double>(part);
  }
  const T sum = static_cast<T>(total);
  if (log) {
#pragma GCC ivdep
    for (std::int64_t i = 0; i < n; ++i) dx[i] = g[i] - math::exp(y[i]) * sum;
  } else {
#pragma GCC ivdep
    for (std::int64_t i = 0; i < n; ++i) dx[i] = y[i] * (g[i] - sum);
  }
}

template <class T>
void rows_backward(const void* grad, const void* result, void* out, std::int64_t count, std::int64_t n, bool log) {
  const T* g = static_cast<const T*>(grad);
  const T* y = static_cast<const T*>(result);
  T* dx = static_cast<T*>(out);
  if constexpr (std::is_same_v<T, float>) {
    if (n <= kChunk) return short_rows_backward(g, y, dx, count, n, log);
  }
  for (std::int64_t r = 0; r < count; ++r) row_backward(g + r * n, y + r * n, dx + r * n, n, log);
}

template <class T>
void columns(const void* data, void* result, std::int64_t n, std::int64_t stride, std::int64_t cols, bool log) {
  const T* x = static_cast<const T*>(data);
  T* y = static_cast<T*>(result);
  T most[kSoftmaxColumns];
  double total[kSoftmaxColumns] = {};
  for (std::int64_t j = 0; j < cols; ++j) most[j] = -math::kInfinity<T>;
  for (std::int64_t r = 0; r < n; ++r) {
    const T* from = x + r * stride;
    for (std::int64_t j = 0; j < cols; ++j) most[j] = from[j] > most[j] ? from[j] : most[j];
  }
  for (std::int64_t r = 0; r < n; ++r) {
    const T* from = x + r * stride;
    T* to = y + r * stride;
    T e[kSoftmaxColumns];
    for (std::int64_t j = 0; j < cols; ++j) e[j] = math::exp(from[j] - most[j]);
    for (std::int64_t j = 0; j < cols; ++j) total[j] += static_cast<double>(e[j]);
    for (std::int64_t j = 0; j < cols; ++j) to[j] = log ? from[j] - most[j] : e[j];
  }
  T sum[kSoftmaxColumns];
  const auto log_of = [](double v) { return std::is_same_v<T, float> ? math::host::log_wide(v) : math::log(v); };
  for (std::int64_t j = 0; j < cols; ++j) sum[j] = static_cast<T>(log ? log_of(total[j]) : 1.0 / total[j]);
  for (std::int64_t r = 0; r < n; ++r) {
    T* to = y + r * stride;
    for (std::int64_t j = 0; j < cols; ++j) to[j] = log ? to[j] - sum[j] : to[j] * sum[j];
  }
}

template <class T>
void column_sums(const void* data, std::int64_t n, std::int64_t stride, std::int64_t cols, double* most, double* sum,
                 double* log_sum) {
  for (std::int64_t left = 0; left < cols; left += kSoftmaxColumns) {
    const T* x = static_cast<const T*>(data) + left;
    const std::int64_t m = cols - left < kSoftmaxColumns ? cols - left : kSoftmaxColumns;
    T shift[kSoftmaxColumns];
    double total[kSoftmaxColumns] = {};
    for (std::int64_t j = 0; j < m; ++j) shift[j] = -math::kInfinity<T>;
    for (std::int64_t r = 0; r < n; ++r)
      for (std::int64_t j = 0; j < m; ++j) shift[j] = x[r * stride + j] > shift[j] ? x[r * stride + j] : shift[j];
    for (std::int64_t j = 0; j < m; ++j) most[left + j] = static_cast<double>(shift[j]);
    for (std::int64_t j = 0; j < m; ++j) shift[j] = shift_of(shift[j]);
    for (std::int64_t r = 0; r < n; ++r)
      for (std::int64_t j = 0; j < m; ++j) total[j] += static_cast<double>(math::exp(x[r * stride + j] - shift[j]));
    for (std::int64_t j = 0; j < m; ++j) sum[left + j] = total[j];
    for (std::int64_t j = 0; j < m; ++j)
      log_sum[left + j] = std::is_same_v<T, float> ? math::host::log_wide(total[j]) : math::log(total[j]);
  }
}

template <class T>
void scaled_exp_columns(const void* data, void* result, std::int64_t n, std::int64_t stride, std::int64_t cols,
                        const double* most, const double* scale) {
  for (std::int64_t left = 0; left < cols; left += kSoftmaxColumns) {
    const T* x = static_cast<const T*>(data) + left;
    T* out = static_cast<T*>(result) + left;
    const std::int64_t m = cols - left < kSoftmaxColumns ? cols - left : kSoftmaxColumns;
    T shift[kSoftmaxColumns], factor[kSoftmaxColumns];
    for (std::int64_t j = 0; j < m; ++j) shift[j] = static_cast<T>(most[left + j]);
    for (std::int64_t j = 0; j < m; ++j) factor[j] = static_cast<T>(scale[left + j]);
    for (std::int64_t r = 0; r < n; ++r) {
#pragma GCC ivdep
      for (std::int64_t j = 0; j < m; ++j) out[r * stride + j] = factor[j] * math::exp(x[r * stride + j] - shift[j]);
    }
  }
}

template <class T>
void columns_backward(const void* grad, const void* result, void* out, std::int64_t n, std::int64_t stride,
                      std::int64_t cols, bool log) {
  const T* g = static_cast<const T*>(grad);
  const T* y = static_cast<const T*>(result);
  T* dx = static_cast<T*>(out);
  double total[kSoftmaxColumns] = {};
  for (std::int64_t r = 0; r < n; ++r) {
    const T* gr = g + r * stride;
    const T* yr = y + r * stride;
    for (std::int64_t j = 0; j < cols; ++j) total[j] += static_cast<double>(log ? gr[j] : gr[j] * yr[j]);
  }
  T sum[kSoftmaxColumns];
  for (std::int64_t j = 0; j < cols; ++j) sum[j] = static_cast<T>(total[j]);
  for (std::int64_t r = 0; r < n; ++r) {
    const T* gr = g + r * stride;
    const T* yr = y + r * stride;
    T* to = dx + r * stride;
    if (log) {
#pragma GCC ivdep
      for (std::int64_t j = 0; j < cols; ++j) to[j] = gr[j] - math::exp(yr[j]) * sum[j];
    } else {
#pragma GCC ivdep
      for (std::int64_t j = 0; j < cols; ++j) to[j] = yr[j] * (gr[j] - sum[j]);
    }
  }
}

template <class T> SoftmaxLoops loops() {
  return {rows<T>, rows_backward<T>, columns<T>, columns_backward<T>, exp_sums<T>, scaled_exp<T>};
}

}  // namespace

template <> void install_loops<family::Softmax>(Kernels& k) {
  k.softmax[static_cast<int>(Compute::kFloat)] = loops<float>();
  k.softmax[static_cast<int>(Compute::kDouble)] = loops<double>();
}

const ColumnTable column_table = {
    {{column_sums<float>, scaled_exp_columns<float>}, {column_sums<double>, scaled_exp_columns<double>}}};

}  // namespace minnow::cpu::MINNOW_ISA

#ifdef MINNOW_ISA_ONCE
namespace minnow::cpu {

const ColumnTable& column_loops() { return MINNOW_ISA_LOOPS(column_table); }

}  // namespace minnow::cpu
#endif
