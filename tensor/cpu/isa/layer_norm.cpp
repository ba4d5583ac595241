#include <minnow/tensor/cpu/isa/row_vectors.h>

namespace minnow::cpu::MINNOW_ISA {
namespace {

// What row_vectors.h has for float, for double.

MINNOW_HD DoubleVector splat(double x) { return x - DoubleVector{}; }
MINNOW_HD DoubleVector load_some(const double* from, int n) {
  DoubleVector v{};
  if (n == kLanes64) std::memcpy(&v, from, sizeof v);
  else
    for (int l = 0; l < n; ++l) v[l] = from[l];
  return v;
}
MINNOW_HD DoubleVector keep_first(DoubleVector v, int n) {
  for (int l = n; l < kLanes64; ++l) v[l] = 0;
  return v;
}
template <class F> MINNOW_HD void row_map(double* to, std::int64_t n, const F& f) {
  std::int64_t i = 0;
  for (; i + kLanes64 <= n; i += kLanes64) {
    const DoubleVector v = f(i, kLanes64);
    std::memcpy(to + i, &v, sizeof v);
  }
  if (i == n) return;
  const DoubleVector v = f(i, static_cast<int>(n - i));
  for (int l = 0; i + l < n; ++l) to[i + l] = v[l];
}

template <class T> constexpr int kLanes = static_cast<int>(kVectorBytes / sizeof(T));

/// The sum of read(0, m), read(m, m), ... over a row, in double and still in several lanes.
template <class T, class Read> MINNOW_HD DoubleVector wide_sum(std::int64_t n, const Read& read) {
  if constexpr (std::is_same_v<T, float>) {
    return row_sum(n, read);
  } else {
    DoubleVector a{}, b{};
    std::int64_t i = 0;
    for (; i + 2 * kLanes64 <= n; i += 2 * kLanes64) a += read(i, kLanes64), b += read(i + kLanes64, kLanes64);
    for (; i + kLanes64 <= n; i += kLanes64) a += read(i, kLanes64);
    if (i < n) b += keep_first(read(i, static_cast<int>(n - i)), static_cast<int>(n - i));
    return a + b;
  }
}
template <class T, class Read>
MINNOW_HD void wide_sums(std::int64_t rows, std::int64_t n, const Read& read, double* sums) {
  fold_rows<DoubleVector>(
      rows, [&](std::int64_t r) { return wide_sum<T>(n, [&](std::int64_t i, int some) { return read(r, i, some); }); },
      Plus(), sums);
}

/// (x - mean) rstd as ((x - about) scale + shift): about is the mean rounded to T, which nothing is lost by subtracting
/// where it is large beside the deviation, and shift what the rounding took away.
template <class T> struct Normal {
  T about[kLayerNormRows], scale[kLayerNormRows], shift[kLayerNormRows];

  void set(std::int64_t r, double mean, double rstd) {
    about[r] = static_cast<T>(mean);
    scale[r] = static_cast<T>(rstd);
    shift[r] = static_cast<T>((static_cast<double>(about[r]) - mean) * rstd);
  }
  template <class V> MINNOW_HD V operator()(V x, std::int64_t r) const {
    return (x - splat(about[r])) * splat(scale[r]) + splat(shift[r]);
  }
};

template <class T> void forward(const LayerNormRows& job) {
  const std::int64_t n = job.n;
  const auto count = static_cast<double>(n);
  const T *x = static_cast<const T*>(job.x), *weight = static_cast<const T*>(job.weight),
          *bias = static_cast<const T*>(job.bias);
  Normal<T> normal;
  double sums[kLayerNormRows], squares[kLayerNormRows];
  const auto centered = [&](std::int64_t r, std::int64_t i, int some) {
    return load_some(x + r * n + i, some) - splat(normal.about[r]);
  };
  wide_sums<T>(
      job.rows, n, [&](std::int64_t r, std::int64_t i, int some) { return load_some(x + r * n + i, some); }, sums);
  for (std::int64_t r = 0; r < job.rows; ++r) normal.about[r] = static_cast<T>(sums[r] / count);
  wide_sums<T>(job.rows, n, centered, sums);
  wide_sums<T>(
      job.rows, n,
      [&](std::int64_t r, std::int64_t i, int some) {
        const auto c = centered(r, i, some);
        return c * c;
      },
      squares);
  for (std::int64_t r = 0; r < job.rows; ++r) {
    const double rest = sums[r] / count, variance = squares[r] / count - rest * rest;
    const double mean = static_cast<double>(normal.about[r]) + rest;
    const double rstd = 1 / kernels::math::sqrt((variance < 0 ? 0 : variance) + job.eps);
    normal.set(r, mean, rstd);
    if (job.mean != nullptr) job.mean[r] = mean, job.rstd[r] = rstd;
  }
  for (std::int64_t r = 0; r < job.rows; ++r)
    row_map(static_cast<T*>(job.y) + r * n, n, [&](std::int64_t i, int some) {
      auto y = normal(load_some(x + r * n + i, some), r);
      if (weight != nullptr) y = y * load_some(weight + i, some);
      if (bias != nullptr) y = y + load_some(bias + i, some);
      return y;
    });
}

MINNOW_HD void add_some(Vector v, double* to, int n) {
  DoubleVector halves[2] = {};
  std::memcpy(halves, to, static_cast<std::size_t>(n) * sizeof(double));
  halves[0] += low(v), halves[1] += high(v);
  std::memcpy(to, halves, static_cast<std::size_t>(n) * sizeof(double));
}
MINNOW_HD void add_some(DoubleVector v, double* to, int n) {
  v += load_some(to, n);
  std::memcpy(to, &v, static_cast<std::size_t>(n) * sizeof(double));
}

/// f(first, m) for m elements from the first on: all of a row, a vector at a time.
template <class T, class F> MINNOW_HD void for_some(std::int64_t n, const F& f) {
  std::int64_t i = 0;
  for (; i + kLanes<T> <= n; i += kLanes<T>) f(i, kLanes<T>);
  if (i < n) f(i, static_cast<int>(n - i));
}

/// rstd (g - mean(g) - h mean(g h)) with g = grad weight and h = (x - mean) rstd; grad h and grad for the weights.
template <class T> void backward(const LayerNormGradients& job) {
  const std::int64_t n = job.n;
  const auto count = static_cast<double>(n);
  const T *grad = static_cast<const T*>(job.grad), *x = static_cast<const T*>(job.x),
          *weight = static_cast<const T*>(job.weight);
  Normal<T> normal;
  for (std::int64_t r = 0; r < job.rows; ++r) normal.set(r, job.mean[r], job.rstd[r]);
  const auto h = [&](std::int64_t r, std::int64_t i, int some) { return normal(load_some(x + r * n + i, some), r); };
  if (job.grad_x != nullptr) {
    double sums[kLayerNormRows], products[kLayerNormRows];
    const auto g = [&](std::int64_t r, std::int64_t i, int some) {
      const auto all = load_some(grad + r * n + i, some);
      return weight == nullptr ? all : all * load_some(weight + i, some);
    };
    wide_sums<T>(job.rows, n, g, sums);
    wide_sums<T>(
        job.rows, n, [&](std::int64_t r, std::int64_t i, int some) { return g(r, i, some) * h(r, i, some); }, products);
    for (std::int64_t r = 0; r < job.rows; ++r) {
      const auto mean = splat(static_cast<T>(sums[r] / count)), slope = splat(static_cast<T>(products[r] / count)),
                 scale = splat(normal.scale[r]);
      row_map(static_cast<T*>(job.grad_x) + r * n, n,
              [&](std::int64_t i, int some) { return scale * (g(r, i, some) - mean - h(r, i, some) * slope); });
    }
  }
  if (job.grad_weight == nullptr && job.grad_bias == nullptr) return;
  for_some<T>(n, [&](std::int64_t i, int some) {
    auto to_weight = splat(T(0)), to_bias = splat(T(0));
    for (std::int64_t r = 0; r < job.rows; ++r) {
      const auto g = load_some(grad + r * n + i, some);
      to_weight += g * h(r, i, some);
      to_bias += g;
    }
    if (job.grad_weight != nullptr) add_some(to_weight, job.grad_weight + i, some);
    if (job.grad_bias != nullptr) add_some(to_bias, job.grad_bias + i, some);
  });
}

}  // namespace

template <> void install_loops<family::LayerNorm>(Kernels& k) {
  k.layer_norm[static_cast<int>(Compute::kFloat)] = {forward<float>, backward<float>};
  k.layer_norm[static_cast<int>(Compute::kDouble)] = {forward<double>, backward<double>};
}

}  // namespace minnow::cpu::MINNOW_ISA
