#include <algorithm>
#include <minnow/tensor/cpu/cpu_backend.h>
#include <minnow/tensor/cpu/elementwise/elements.h>
#include <minnow/tensor/cpu/isa/row_vectors.h>
#include <minnow/tensor/cpu/runtime/isa.h>
#include <minnow/tensor/cpu/runtime/parallel.h>
#include <minnow/tensor/cpu/runtime/scratch.h>
#include <minnow/tensor/cpu/runtime/streamed.h>

namespace minnow::cpu {

/// The rows of group_norm: row i is group i modulo `groups` of its sample, and `run` adjacent elements of a row, a
/// channel, share a weight and a bias.  A run of 0: each element of a row has its own, the same in all rows.
struct ChannelRuns {
  std::int64_t run = 0, groups = 1, first = 0;  ///< of the first row

  std::int64_t channels(std::int64_t n) const { return n / run; }
  /// The number of row r's first channel.
  std::int64_t channel(std::int64_t r, std::int64_t n) const { return (first + r) % groups * channels(n); }
};

/// Contiguous rows of n elements for layer normalization.  nullptr: there is none, or it is not wanted.
struct LayerNormRows {
  std::int64_t rows, n;  ///< at most kLayerNormRows rows
  const void *x, *weight, *bias;
  void* y;
  double *mean, *rstd;  ///< [rows]
  double eps;
  bool centered;
  ChannelRuns runs;
  bool prefetched;  ///< the rows behind these are wanted next, and are not in the cache
  bool streamed;    ///< y is written past the caches
};
struct LayerNormGradients {
  std::int64_t rows, n;
  const void *grad, *x, *weight;
  const double *mean, *rstd;
  void* grad_x;
  double *grad_weight, *grad_bias;  ///< [n], or of all channels: what the rows give is added
  bool centered;
  ChannelRuns runs;
  bool prefetched;
  bool streamed;
};
struct LayerNormLoops {
  void (*forward[2])(const LayerNormRows& job);  ///< of floats and of doubles
  void (*backward[2])(const LayerNormGradients& job);
};
inline constexpr std::int64_t kLayerNormRows = 64;

}  // namespace minnow::cpu

MINNOW_ISA_TABLE(LayerNormLoops, layer_norm_loops)

namespace minnow::cpu::MINNOW_ISA {
namespace {

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

/// weight[i], or 1, in every lane.
template <class T> MINNOW_HD auto factor_at(const T* weight, std::int64_t i) {
  return splat(weight ? weight[i] : T(1));
}

/// (x - mean) rstd weight + bias of a row in which runs of elements share them.
template <class T> MINNOW_HD void scale_runs(const LayerNormRows& job, const Normal<T>& normal, std::int64_t r) {
  const T *x = static_cast<const T*>(job.x) + r * job.n, *weight = static_cast<const T*>(job.weight),
          *bias = static_cast<const T*>(job.bias);
  T* y = static_cast<T*>(job.y) + r * job.n;
  const std::int64_t run = job.runs.run, begin = job.runs.channel(r, job.n), end = begin + job.runs.channels(job.n);
  for (std::int64_t c = begin; c < end; ++c, x += run, y += run) {
    const auto factor = factor_at(weight, c), shift = splat(bias ? bias[c] : T(0));
    row_map(y, run, [&](std::int64_t i, int some) { return normal(load_some(x + i, some), r) * factor + shift; });
  }
}

/// The sum of v = value(i, m) over a row, in several lanes, and that of other(v, i, m): one pass.
template <class T, class Value, class Other>
MINNOW_HD DoubleVector two_sums(std::int64_t n, const Value& value, const Other& other, DoubleVector& others) {
  constexpr int kAll = kLanesOf<T>, kTogether = 8;
  DoubleVector sum{}, rest{};
  std::int64_t i = 0;
  if constexpr (std::is_same_v<T, float>) {
    DoubleVector more{}, more_rest{};
    for (; i + kTogether * kAll <= n; i += kTogether * kAll) {
      Vector v[kTogether];
#pragma GCC unroll 8
      for (int k = 0; k < kTogether; ++k) v[k] = value(i + k * kAll, kAll);
      const Vector u = ((v[0] + v[1]) + (v[2] + v[3])) + ((v[4] + v[5]) + (v[6] + v[7]));
#pragma GCC unroll 8
      for (int k = 0; k < kTogether; ++k) v[k] = other(v[k], i + k * kAll, kAll);
      const Vector q = ((v[0] + v[1]) + (v[2] + v[3])) + ((v[4] + v[5]) + (v[6] + v[7]));
      sum += low(u), more += high(u), rest += low(q), more_rest += high(q);
    }
    for (; i < n; i += kAll) {
      const int some = static_cast<int>(n - i < kAll ? n - i : kAll);
      const Vector v = some == kAll ? value(i, kAll) : keep_first(value(i, some), some, 0.0f);
      const Vector q = some == kAll ? other(v, i, kAll) : keep_first(other(v, i, some), some, 0.0f);
      sum += low(v), more += high(v), rest += low(q), more_rest += high(q);
    }
    sum += more, rest += more_rest;
  } else {
    for (; i < n; i += kAll) {
      const int some = static_cast<int>(n - i < kAll ? n - i : kAll);
      const DoubleVector v = some == kAll ? value(i, kAll) : keep_first(value(i, some), some);
      sum += v, rest += some == kAll ? other(v, i, kAll) : keep_first(other(v, i, some), some);
    }
  }
  others = rest;
  return sum;
}

/// The sum of c = x - about over a row, in several lanes, and that of c c.
template <class T> MINNOW_HD DoubleVector sum_and_squares(const T* x, std::int64_t n, T about, DoubleVector& squares) {
  return two_sums<T>(
      n, [&](std::int64_t i, int some) { return load_some(x + i, some) - splat(about); },
      [](auto c, std::int64_t, int) { return c * c; }, squares);
}

/// Sums of rows less `about`, which is near enough to the mean, and of the squares.
template <class T>
MINNOW_HD void centered_sums(const LayerNormRows& job, const T* x, T* about, double* sums, double* squares) {
  const std::int64_t n = job.n, first = n < 16 ? n : 16;
  const auto count = static_cast<double>(n);
  for (std::int64_t r = 0; r < job.rows; ++r) {
    double sum = 0;
    for (std::int64_t i = 0; i < first; ++i) sum += static_cast<double>(x[r * n + i]);
    about[r] = static_cast<T>(sum / static_cast<double>(first));
  }
  DoubleVector wide[kLayerNormRows];
  const auto sum = [&](std::int64_t r) { return sum_and_squares(x + r * n, n, about[r], wide[r]); };
  fold_rows<DoubleVector>(job.rows, sum, Plus(), sums);
  fold_rows<DoubleVector>(
      job.rows, [&](std::int64_t r) { return wide[r]; }, Plus(), squares);
  for (std::int64_t r = 0; r < job.rows; ++r) {
    const double rest = sums[r] / count;
    if (2 * rest * rest <= squares[r] / count) continue;  // the mean is within a deviation: little is lost
    const auto all = [](DoubleVector v) { return fold<kLanes64 / 2>(v, Plus())[0]; };
    about[r] = static_cast<T>(static_cast<double>(about[r]) + rest);
    sums[r] = all(sum_and_squares(x + r * n, n, about[r], wide[r]));
    squares[r] = all(wide[r]);
  }
}

template <class T> void forward(const LayerNormRows& job) {
  const std::int64_t n = job.n;
  const auto count = static_cast<double>(n);
  const T *x = static_cast<const T*>(job.x), *weight = static_cast<const T*>(job.weight),
          *bias = static_cast<const T*>(job.bias);
  Normal<T> normal;
  double sums[kLayerNormRows] = {}, squares[kLayerNormRows];
  const auto from_about = [&](std::int64_t r, std::int64_t i, int some) {
    return load_some(x + r * n + i, some) - splat(normal.about[r]);
  };
  if (job.centered) {
    centered_sums(job, x, normal.about, sums, squares);
  } else {
    for (std::int64_t r = 0; r < job.rows; ++r) normal.about[r] = 0;
    wide_sums<T>(
        job.rows, n,
        [&](std::int64_t r, std::int64_t i, int some) {
          const auto c = from_about(r, i, some);
          return c * c;
        },
        squares);
  }
  for (std::int64_t r = 0; r < job.rows; ++r) {
    const double rest = sums[r] / count, variance = squares[r] / count - rest * rest;
    const double mean = static_cast<double>(normal.about[r]) + rest;
    double rstd = 1 / kernels::math::sqrt((variance < 0 ? 0 : variance) + job.eps);
    if (job.centered && rstd == 0) rstd = __builtin_nan("");  // the squares overflow
    normal.set(r, mean, rstd);
    if (job.mean != nullptr) job.mean[r] = mean, job.rstd[r] = rstd;
  }
  if (job.runs.run != 0) {
    for (std::int64_t r = 0; r < job.rows; ++r) scale_runs(job, normal, r);
    return;
  }
  const std::int64_t behind = job.prefetched ? job.rows * n : 0;
  const auto result = [&](std::int64_t r, std::int64_t i, int some) {
    __builtin_prefetch(x + behind + r * n + i, 0, 2);
    auto y = normal(load_some(x + r * n + i, some), r);
    if (weight != nullptr) y = y * load_some(weight + i, some);
    if (bias != nullptr) y = y + load_some(bias + i, some);
    return y;
  };
  T* const y = static_cast<T*>(job.y);
  if constexpr (std::is_same_v<T, float>) {
    if (job.streamed && can_stream(y, n)) {
      for (std::int64_t r = 0; r < job.rows; ++r)
        for (std::int64_t i = 0; i < n; i += kLanes32) stream(result(r, i, kLanes32), y + r * n + i);
      return end_stream();
    }
  }
  for (std::int64_t r = 0; r < job.rows; ++r)
    row_map(y + r * n, n, [&](std::int64_t i, int some) { return result(r, i, some); });
}

/// The gradients where runs of elements share a weight and a bias: the sums over a run are all that its channel needs.
template <class T>
MINNOW_HD void backward_runs(const LayerNormGradients& job, const Normal<T>& normal, std::int64_t r) {
  const std::int64_t n = job.n, run = job.runs.run, begin = job.runs.channel(r, n), end = begin + job.runs.channels(n);
  const T *grad = static_cast<const T*>(job.grad) + r * n, *x = static_cast<const T*>(job.x) + r * n,
          *weight = static_cast<const T*>(job.weight);
  const auto h = [&](std::int64_t i, int some) { return normal(load_some(x + i, some), r); };
  double sum = 0, product = 0;
  for (std::int64_t c = begin, at = 0; c < end; ++c, at += run) {
    const auto all = [](DoubleVector v) { return fold<kLanes64 / 2>(v, Plus())[0]; };
    const double g = all(wide_sum<T>(run, [&](std::int64_t i, int some) { return load_some(grad + at + i, some); }));
    const double gh = all(
        wide_sum<T>(run, [&](std::int64_t i, int some) { return load_some(grad + at + i, some) * h(at + i, some); }));
    if (job.grad_weight != nullptr) job.grad_weight[c] += gh;
    if (job.grad_bias != nullptr) job.grad_bias[c] += g;
    const double w = weight ? static_cast<double>(weight[c]) : 1;
    sum += w * g, product += w * gh;
  }
  if (job.grad_x == nullptr) return;
  const auto mean = splat(static_cast<T>(sum / static_cast<double>(n))),
             slope = splat(static_cast<T>(product / static_cast<double>(n))), scale = splat(normal.scale[r]);
  T* to = static_cast<T*>(job.grad_x) + r * n;
  for (std::int64_t c = begin, at = 0; c < end; ++c, at += run) {
    const auto factor = factor_at(weight, c);
    row_map(to + at, run, [&](std::int64_t i, int some) {
      return scale * (load_some(grad + at + i, some) * factor - mean - h(at + i, some) * slope);
    });
  }
}

/// rstd (g - mean(g) - h mean(g h)), without the mean of g if not centered, with g = grad weight and h = (x - mean)
/// rstd; grad h and grad for the weights.
template <class T> void backward(const LayerNormGradients& job) {
  const std::int64_t n = job.n;
  const auto count = static_cast<double>(n);
  const T *grad = static_cast<const T*>(job.grad), *x = static_cast<const T*>(job.x),
          *weight = static_cast<const T*>(job.weight);
  Normal<T> normal;
  for (std::int64_t r = 0; r < job.rows; ++r) normal.set(r, job.mean[r], job.rstd[r]);
  if (job.runs.run != 0) {
    for (std::int64_t r = 0; r < job.rows; ++r) backward_runs(job, normal, r);
    return;
  }
  const auto h = [&](std::int64_t r, std::int64_t i, int some) { return normal(load_some(x + r * n + i, some), r); };
  const std::int64_t behind = job.prefetched ? job.rows * n : 0;  // the rows that are wanted next
  const bool sums_only = job.grad_x == nullptr;
  T mean[kLayerNormRows] = {}, slope[kLayerNormRows] = {};
  if (!sums_only) {
    double sums[kLayerNormRows], products[kLayerNormRows];
    DoubleVector wide[kLayerNormRows];
    const auto row = [&](std::int64_t r) {
      const auto g = [&](std::int64_t i, int some) {
        const auto all = load_some(grad + r * n + i, some);
        return weight == nullptr ? all : all * load_some(weight + i, some);
      };
      const auto product = [&](auto v, std::int64_t i, int some) {
        __builtin_prefetch(grad + behind + r * n + i, 0, 2);
        return v * h(r, i, some);
      };
      return two_sums<T>(n, g, product, wide[r]);
    };
    fold_rows<DoubleVector>(job.rows, row, Plus(), sums);
    fold_rows<DoubleVector>(
        job.rows, [&](std::int64_t r) { return wide[r]; }, Plus(), products);
    for (std::int64_t r = 0; r < job.rows; ++r) {
      if (job.centered) mean[r] = static_cast<T>(sums[r] / count);
      slope[r] = static_cast<T>(products[r] / count);
    }
  }
  T* const grad_x = static_cast<T*>(job.grad_x);
  bool streams = false;
  if constexpr (std::is_same_v<T, float>) streams = job.streamed && can_stream(grad_x, n);
  for_some<T>(n, [&](std::int64_t i, int some) {
    auto to_weight = splat(T(0)), to_bias = splat(T(0));
    const auto factor = weight == nullptr ? splat(T(1)) : load_some(weight + i, some);
    for (std::int64_t r = 0; r < job.rows; ++r) {
      const std::int64_t at = r * n + i;
      __builtin_prefetch(x + behind + at, 0, 2);
      const auto g = load_some(grad + at, some), of_row = h(r, i, some);
      to_weight += g * of_row;
      to_bias += g;
      if (sums_only) continue;
      const auto result = splat(normal.scale[r]) * (g * factor - splat(mean[r]) - of_row * splat(slope[r]));
      if constexpr (std::is_same_v<T, float>) {
        if (streams) {
          stream(result, grad_x + at);
          continue;
        }
      }
      store_some(result, grad_x + at, some);
    }
    if (job.grad_weight != nullptr) add_some(to_weight, job.grad_weight + i, some);
    if (job.grad_bias != nullptr) add_some(to_bias, job.grad_bias + i, some);
  });
  if (streams) end_stream();
}

}  // namespace

const LayerNormLoops layer_norm_loops = {{forward<float>, forward<double>}, {backward<float>, backward<double>}};

}  // namespace minnow::cpu::MINNOW_ISA

#if MINNOW_ISA_ONCE
namespace minnow::cpu {
namespace {

/// Rows that are worked on together: what the first level of the cache holds of their operands.
std::int64_t rows_together(std::int64_t n) { return std::clamp<std::int64_t>(4096 / n, 1, kLayerNormRows); }

/// Reading a few rows of several operands at a time, the processor waits for the first lines of each: a backward pass
/// over operands in memory took 1.4 times as long.
bool is_prefetched(const View& x) {
  constexpr std::int64_t kCached = 4 << 20;  // bytes
  return x.nbytes() > kCached && !is_half(x.dtype());
}

/// Bytes of `count` converted elements.
std::size_t converted(const View& x, std::int64_t count) {
  return is_half(x.dtype()) ? static_cast<std::size_t>(count) * sizeof(float) : 0;
}

/// Operands of weights that are matrices [groups, channels] are those of group_norm, on rows of n.
ChannelRuns runs_of(std::initializer_list<const View*> weights, std::int64_t n) {
  for (const View* w : weights)
    if (w->defined() && w->dim() == 2) return {n / w->shape()[1], w->shape()[0]};
  return {};
}
/// The numbers of weights.
std::int64_t weights_of(const ChannelRuns& runs, std::int64_t n) {
  return runs.run ? runs.groups * runs.channels(n) : n;
}
ChannelRuns from_row(ChannelRuns runs, std::int64_t row) {
  runs.first = row;
  return runs;
}

/// The index of the loops in a table.
int of_type(const View& x) { return x.dtype() == DType::float64 ? 1 : 0; }

}  // namespace

template <> void execute(const calls::LayerNorm& args) {
  const std::int64_t rows = args.x.shape()[0], n = args.x.shape()[1], together = rows_together(n);
  const Elements x(args.x), weight(args.weight), bias(args.bias), y(args.y);
  auto* const mean = args.stats.defined() ? static_cast<double*>(args.stats.raw_data()) : nullptr;
  const auto forward = MINNOW_ISA_LOOPS(layer_norm_loops).forward[of_type(args.x)];
  const ChannelRuns runs = runs_of({&args.weight, &args.bias}, n);
  const std::int64_t count_of_weights = weights_of(runs, n);
  const ThreadScratch scratch(converted(args.x, 2 * together * n), converted(args.x, 2 * count_of_weights));
  float* shared = static_cast<float*>(scratch.shared());
  const void* const weights = weight.read(0, count_of_weights, shared);
  const void* const biases = bias.read(0, count_of_weights, shared);
  parallel_blocks(rows, together, 2 * args.x.nbytes(), [&](std::int64_t first, std::int64_t last) {
    float* room = static_cast<float*>(scratch.mine());
    const std::int64_t at = first * n, count = (last - first) * n;
    const void* const from = x.read(at, count, room);
    void* const to = y.write(at, count, room);
    forward({last - first, n, from, weights, biases, to, mean ? mean + first : nullptr,
             mean ? mean + rows + first : nullptr, args.eps, args.centered, from_row(runs, first),
             is_prefetched(args.x), is_streamed(2 * args.x.nbytes())});
    y.written(at, count, to);
  });
}

namespace {

/// The gradients of weight and bias are sums over parts of the rows, joined in order: their number is the shape's
/// alone.
struct Parts {
  std::int64_t rows, count;  ///< rows of a part

  Parts(std::int64_t all, std::int64_t n) {
    constexpr std::int64_t kElements = 1 << 15, kLeast = 4, kMost = 64;
    rows = std::max({kElements / n, kLeast, (all + kMost - 1) / kMost});
    count = (all + rows - 1) / rows;
  }
};

/// out = the sum of `parts` arrays of n, `step` apart.
void join(const double* parts, std::int64_t count, std::int64_t step, const View& out) {
  constexpr std::int64_t kColumns = 512;
  const std::int64_t n = out.numel();
  const auto size = static_cast<std::int64_t>(out.itemsize());
  const ConvertLoop store = loops().store[static_cast<int>(Compute::kDouble)][static_cast<int>(out.dtype())];
  parallel_blocks(n, kColumns, count * n * std::int64_t{sizeof(double)}, [&](std::int64_t first, std::int64_t last) {
    double sums[kColumns] = {};
    for (std::int64_t k = 0; k < count; ++k)
      for (std::int64_t j = first; j < last; ++j) sums[j - first] += parts[k * step + j];
    store(sums, static_cast<char*>(out.raw_data()) + first * size, last - first);
  });
}

}  // namespace

template <> void execute(const calls::LayerNormBackward& args) {
  const std::int64_t rows = args.x.shape()[0], n = args.x.shape()[1], together = rows_together(n);
  const Elements grad(args.grad), x(args.x), weight(args.weight), grad_x(args.grad_x);
  const auto* const mean = static_cast<const double*>(args.stats.raw_data());
  const auto backward = MINNOW_ISA_LOOPS(layer_norm_loops).backward[of_type(args.x)];
  const bool sums = args.grad_weight.defined() || args.grad_bias.defined();
  const Parts parts(rows, n);
  const ChannelRuns runs = runs_of({&args.weight, &args.grad_weight, &args.grad_bias}, n);
  const std::int64_t k = weights_of(runs, n);
  const std::size_t sums_size = sums ? static_cast<std::size_t>(parts.count * 2 * k) * sizeof(double) : 0;
  const ThreadScratch scratch(converted(args.x, 3 * together * n), sums_size + converted(args.x, k));
  auto* const of_parts = static_cast<double*>(scratch.shared());  // [parts, 2, k]
  float* shared =
      sums ? reinterpret_cast<float*>(of_parts + parts.count * 2 * k) : static_cast<float*>(scratch.shared());
  const void* const weights = weight.read(0, k, shared);
  parallel_for(parts.count, 3 * args.x.nbytes(), [&](std::int64_t part) {
    double* const to_weight = sums ? of_parts + part * 2 * k : nullptr;
    if (sums) std::fill_n(to_weight, 2 * k, 0.0);
    const std::int64_t end = std::min(rows, (part + 1) * parts.rows);
    for (std::int64_t first = part * parts.rows; first < end; first += together) {
      float* room = static_cast<float*>(scratch.mine());
      const std::int64_t last = std::min(end, first + together), at = first * n, count = (last - first) * n;
      const void* const grads = grad.read(at, count, room);
      const void* const from = x.read(at, count, room);
      void* const to = grad_x.write(at, count, room);
      backward({last - first, n, grads, from, weights, mean + first, mean + rows + first, to,
                args.grad_weight.defined() ? to_weight : nullptr, args.grad_bias.defined() ? to_weight + k : nullptr,
                args.centered, from_row(runs, first), is_prefetched(args.x), is_streamed(3 * args.x.nbytes())});
      grad_x.written(at, count, to);
    }
  });
  if (args.grad_weight.defined()) join(of_parts, parts.count, 2 * k, args.grad_weight);
  if (args.grad_bias.defined()) join(of_parts + k, parts.count, 2 * k, args.grad_bias);
}

}  // namespace minnow::cpu
#endif
