#include <minnow/tensor/cpu/isa/variant.h>

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

/// The sum of exp(x - most); the terms pass through a small buffer.
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

template <class T> double log_sum_exp(const void* data, std::int64_t n) {
  const T* x = static_cast<const T*>(data);
  const T most = row_max(x, n);
  // All -inf: the sum is 0.  An infinity or NaN among them comes through.
  const T shift = math::isfinite(most) ? most : T(0);
  return static_cast<double>(shift) + math::log(exp_sum(x, n, shift));
}

template <class T> void scaled_exp(const void* data, void* result, std::int64_t n, double log_sum, double scale) {
  const T* x = static_cast<const T*>(data);
  T* out = static_cast<T*>(result);
  const T shift = static_cast<T>(log_sum);
  const T factor = static_cast<T>(scale);
#pragma GCC ivdep
  for (std::int64_t i = 0; i < n; ++i) out[i] = factor * math::exp(x[i] - shift);
}

template <class T> void row(const void* data, void* result, std::int64_t n, bool log) {
  const T* x = static_cast<const T*>(data);
  T* y = static_cast<T*>(result);
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

/// softmax: y (g - sum(g y));  log_softmax: g - e^y sum(g).
template <class T> void row_backward(const void* grad, const void* result, void* out, std::int64_t n, bool log) {
  const T* g = static_cast<const T*>(grad);
  const T* y = static_cast<const T*>(result);
  T* dx = static_cast<T*>(out);
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
  for (std::int64_t j = 0; j < cols; ++j) sum[j] = static_cast<T>(log ? math::log(total[j]) : 1.0 / total[j]);
  for (std::int64_t r = 0; r < n; ++r) {
    T* to = y + r * stride;
    for (std::int64_t j = 0; j < cols; ++j) to[j] = log ? to[j] - sum[j] : to[j] * sum[j];
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
  return {row<T>, row_backward<T>, columns<T>, columns_backward<T>, log_sum_exp<T>, scaled_exp<T>};
}

}  // namespace

void install_softmax(Kernels& k) {
  k.softmax[static_cast<int>(Compute::kFloat)] = loops<float>();
  if constexpr (kWhole) k.softmax[static_cast<int>(Compute::kDouble)] = loops<double>();
}

}  // namespace minnow::cpu::MINNOW_ISA
