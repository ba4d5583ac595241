#include <algorithm>
#include <minnow/tensor/cuda/cuda_backend.h>
#include <minnow/tensor/cuda/elementwise/element_access.h>
#include <minnow/tensor/cuda/reductions/block_counters.h>
#include <minnow/tensor/cuda/reductions/block_reduce.h>
#include <minnow/tensor/cuda/reductions/softmax.h>
#include <minnow/tensor/kernels/math.h>
#include <minnow/tensor/kernels/narrow_limit.h>

namespace minnow::cuda {
namespace {

namespace math = kernels::math;

/// [outer, channels, inner].
template <class S> struct Source {
  const S* __restrict__ x;
  const S* __restrict__ grad;        // nullptr: there is none
  const double* __restrict__ stats;  // nullptr: they are not known yet
  std::int64_t outer, channels, inner;
};

/// What is subtracted from x before it is summed: close to the mean, so that nothing is lost where that is large beside
/// the deviation.  The first element where the mean is not known.
template <class S, class T> __device__ __forceinline__ T about_of(const Source<S>& a, std::int64_t channel) {
  return a.stats == nullptr ? widen<T>(a.x[channel * a.inner]) : static_cast<T>(a.stats[channel]);
}

/// Sums of d = x - about and of d^2; with a gradient, of grad and of grad d.  Short sums are in T, their total in
/// double.
template <class T> struct RunningSums {
  TwoSums all{0, 0};
  T few = 0, products = 0;
  int count = 0;

  __device__ __forceinline__ void add(T d, T first) {
    few += first;
    products += first * d;
    if (++count == 8) flush();
  }
  __device__ __forceinline__ void flush() {
    all = AddTwo()(all, {static_cast<double>(few), static_cast<double>(products)});
    few = products = 0;
    count = 0;
  }
};

/// What a thread has loaded before it adds any of it: that many loads are under way, or the memory would wait for the
/// sums.
template <class T, int kAhead, int kCount> struct Loaded {
  T x[kAhead][kCount], grad[kAhead][kCount];
  bool there[kAhead];

  template <class S> __device__ __forceinline__ void load(int u, const Source<S>& a, bool is_there, std::int64_t at) {
    there[u] = is_there;
    if (!is_there) return;
    load_some(a.x + at, x[u]);
    if (a.grad != nullptr) load_some(a.grad + at, grad[u]);
  }
  __device__ __forceinline__ void add_to(RunningSums<T>& sums, bool has_grad, T about) const {
#pragma unroll
    for (int u = 0; u < kAhead; ++u) {
      if (!there[u]) continue;
#pragma unroll
      for (int i = 0; i < kCount; ++i) {
        const T d = x[u][i] - about;
        sums.add(d, has_grad ? grad[u][i] : d);
      }
    }
  }
};

/// Numbers for each channel, of any floating-point dtype, or none.
struct PerChannel {
  void* data;
  DType dtype;

  PerChannel(const View& t)
      : data(t.defined() ? t.raw_data() : nullptr), dtype(t.defined() ? t.dtype() : DType::float32) {}
  __device__ __forceinline__ double get(std::int64_t channel, double none) const {
    return data == nullptr ? none : load_one<Accepts::kAll, double>(data, dtype, channel);
  }
  __device__ __forceinline__ void set(std::int64_t channel, double value) const {
    if (data != nullptr) store_one<Accepts::kAll, double>(data, dtype, channel, value);
  }
};

/// out = grad of_grad + (x - about) of_x + shift, [4, channels].
template <class T> struct Coefficients {
  T* __restrict__ values;
  std::int64_t channels;

  __device__ __forceinline__ void set(std::int64_t channel, double about, double of_grad, double of_x,
                                      double shift) const {
    values[channel] = static_cast<T>(about);
    values[channels + channel] = static_cast<T>(of_grad);
    values[2 * channels + channel] = static_cast<T>(of_x);
    values[3 * channels + channel] = static_cast<T>(shift);
  }
};

/// Of a channel: from the sums, if there are some, what apply() needs, and the results besides y.
template <class S, class T> struct Finish {
  Source<S> a;
  bool training;
  PerChannel weight, bias, running_mean, running_var;
  double momentum, eps;
  double* __restrict__ stats;
  Coefficients<T> to;

  __device__ __forceinline__ void operator()(std::int64_t c, const TwoSums& all) const {
    const auto n = static_cast<double>(a.outer * a.inner);
    double mean = running_mean.get(c, 0), variance = running_var.get(c, 0);
    if (training) {
      const double of_mean = mean, of_variance = variance, rest = all.first / n;
      mean = static_cast<double>(about_of<S, T>(a, c)) + rest;
      variance = all.second / n - rest * rest;
      if (variance < 0) variance = 0;
      running_mean.set(c, of_mean + momentum * (mean - of_mean));
      running_var.set(c, of_variance + momentum * (variance * (n / (n - 1)) - of_variance));
    }
    const double rstd = 1.0 / math::sqrt(variance + eps), scale = rstd * weight.get(c, 1);
    stats[c] = mean;
    stats[a.channels + c] = rstd;
    const T about = static_cast<T>(mean);
    to.set(c, mean, 0, scale, (static_cast<double>(about) - mean) * scale + bias.get(c, 0));
  }
};

/// With h = (x - mean) rstd: the sums of grad h and grad, and the coefficients of
/// weight rstd (grad - mean(grad) - h mean(grad h)).  Without training mean and rstd do not depend on x.
template <class S, class T> struct FinishBackward {
  Source<S> a;
  bool training;
  PerChannel weight, grad_weight, grad_bias;
  Coefficients<T> to;

  __device__ __forceinline__ void operator()(std::int64_t c, const TwoSums& all) const {
    const auto n = static_cast<double>(a.outer * a.inner);
    const double mean = a.stats[c], rstd = a.stats[a.channels + c];
    const double rest = (static_cast<double>(static_cast<T>(mean)) - mean) * rstd;  // h is (x - about) rstd + rest
    const double product = all.second * rstd + rest * all.first;
    grad_weight.set(c, product);
    grad_bias.set(c, all.first);
    const double scale = weight.get(c, 1) * rstd, slope = training ? product / n : 0;
    to.set(c, mean, scale, -scale * slope * rstd, training ? -scale * (all.first / n + slope * rest) : 0);
  }
};

/// Where there is nothing to sum.
template <class F> __global__ void finish_all(std::int64_t channels, F finish) {
  const std::int64_t step = static_cast<std::int64_t>(gridDim.x) * blockDim.x;
  for (std::int64_t c = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; c < channels; c += step)
    finish(c, TwoSums{0, 0});
}

/// The sums of channels in parts: [gridDim.y, 2, channels].  The last of the blocks of a channel, which have a counter,
/// joins them.
struct Parts {
  double* sums;
  std::uint32_t* counters;  ///< one for each blockIdx.x, or nullptr where gridDim.y is 1

  __device__ __forceinline__ void put(std::int64_t channels, std::int64_t c, const TwoSums& part) const {
    sums[2 * blockIdx.y * channels + c] = part.first;
    sums[(2 * blockIdx.y + 1) * channels + c] = part.second;
  }
  /// Every `step`-th part, from `first` on.
  __device__ __forceinline__ TwoSums get(std::int64_t channels, std::int64_t c, unsigned first, unsigned step) const {
    const volatile double* const of_all = sums;
    TwoSums all{0, 0};
    for (unsigned k = first; k < gridDim.y; k += step)
      all = AddTwo()(all, {of_all[2 * k * channels + c], of_all[(2 * k + 1) * channels + c]});
    return all;
  }
};

/// A block sums a part of a channel's elements: `part` planes, by kCount adjacent ones, 1 or a vector of which a plane
/// has a whole number.
template <class S, class T, int kCount, class F>
__global__ void sum_planes(Source<S> a, std::int64_t part, Parts parts, F finish) {
  constexpr int kAhead = 2;
  const std::int64_t begin = blockIdx.y * part, end = begin + part < a.outer ? begin + part : a.outer;
  const std::int64_t inner = a.inner / kCount, planes_a_step = blockDim.x / inner, rest_of_step = blockDim.x % inner;
  for (std::int64_t c = blockIdx.x; c < a.channels; c += gridDim.x) {
    const T about = about_of<S, T>(a, c);
    RunningSums<T> own;
    std::int64_t plane = begin + threadIdx.x / inner, k = threadIdx.x % inner;
    while (plane < end) {
      Loaded<T, kAhead, kCount> some;
#pragma unroll
      for (int u = 0; u < kAhead; ++u) {
        some.load(u, a, plane < end, ((plane * a.channels + c) * inner + k) * kCount);
        plane += planes_a_step;
        k += rest_of_step;
        if (k >= inner) {
          k -= inner;
          ++plane;
        }
      }
      some.add_to(own, a.grad != nullptr, about);
    }
    own.flush();
    TwoSums all = block_join(own.all, TwoSums{0, 0}, AddTwo());
    if (parts.counters != nullptr) {
      if (threadIdx.x == 0) parts.put(a.channels, c, all);
      if (!is_last_block(parts.counters + blockIdx.x, gridDim.y)) continue;
      all = block_join(parts.get(a.channels, c, threadIdx.x, blockDim.x), TwoSums{0, 0}, AddTwo());
    }
    if (threadIdx.x == 0) finish(c, all);
  }
}

constexpr unsigned kColumns = kWarp, kSharing = kThreads / kColumns;  // threads that share a column

/// The same where inner is 1: rows of channels, of which a block has kColumns.
template <class S, class T, class F> __global__ void sum_rows(Source<S> a, std::int64_t part, Parts parts, F finish) {
  constexpr int kAhead = 4;
  const unsigned column = threadIdx.x % kColumns, row = threadIdx.x / kColumns;
  const std::int64_t begin = blockIdx.y * part, end = begin + part < a.outer ? begin + part : a.outer;
  const std::int64_t step = static_cast<std::int64_t>(gridDim.x) * kColumns;
  for (std::int64_t left = static_cast<std::int64_t>(blockIdx.x) * kColumns; left < a.channels; left += step) {
    const std::int64_t c = left + column;
    RunningSums<T> own;
    if (c < a.channels) {
      const T about = about_of<S, T>(a, c);
      for (std::int64_t r = begin + row; r < end;) {
        Loaded<T, kAhead, 1> some;
#pragma unroll
        for (int u = 0; u < kAhead; ++u, r += kSharing) some.load(u, a, r < end, r * a.channels + c);
        some.add_to(own, a.grad != nullptr, about);
      }
      own.flush();
    }
    TwoSums all = columns_join(kSharing, own.all, AddTwo());
    if (parts.counters != nullptr) {
      if (row == 0 && c < a.channels) parts.put(a.channels, c, all);
      if (!is_last_block(parts.counters + blockIdx.x, gridDim.y)) continue;
      all = c < a.channels ? parts.get(a.channels, c, row, kSharing) : TwoSums{0, 0};
      all = columns_join(kSharing, all, AddTwo());
    }
    if (row == 0 && c < a.channels) finish(c, all);
  }
}

/// Vectors of elements, and the elements after the last vector.  I: an unsigned integer that holds their number.
template <class S, class T, class I>
__global__ void apply(Source<S> a, Coefficients<T> by, bool with_x, bool vectors, S* __restrict__ out) {
  constexpr int kSize = RowVector<S>::kSize;
  const I total = static_cast<I>(a.outer * a.channels * a.inner), channels = static_cast<I>(a.channels),
          inner = static_cast<I>(a.inner), thread = I{blockIdx.x} * blockDim.x + threadIdx.x,
          threads = static_cast<I>(gridDim.x) * blockDim.x;
  const auto run = [&]<int kCount>(I i) {
    T x[kCount], grad[kCount], y[kCount];
    if (with_x) load_some(a.x + i, x);
    if (a.grad != nullptr) load_some(a.grad + i, grad);
    I c = (inner == 1 ? i : i / inner) % channels, left = inner == 1 ? I{1} : inner - i % inner;
#pragma unroll
    for (int u = 0; u < kCount; ++u) {
      y[u] = by.values[3 * channels + c];
      if (with_x) y[u] += (x[u] - by.values[c]) * by.values[2 * channels + c];
      if (a.grad != nullptr) y[u] += grad[u] * by.values[channels + c];
      if (--left > 0) continue;
      left = inner;
      c = c + 1 < channels ? c + 1 : 0;
    }
    store_some(out + i, y);
  };
  const I count = vectors ? total / kSize : 0;
  for (I k = thread; k < count; k += threads) run.template operator()<kSize>(k * kSize);
  for (I i = count * kSize + thread; i < total; i += threads) run.template operator()<1>(i);
}

template <class S> Source<S> source(const View& x, const View& grad, const View* stats) {
  return {static_cast<const S*>(x.raw_data()),
          grad.defined() ? static_cast<const S*>(grad.raw_data()) : nullptr,
          stats != nullptr ? static_cast<const double*>(stats->raw_data()) : nullptr,
          x.shape()[0],
          x.shape()[1],
          x.shape()[2]};
}

/// How the elements of a channel are divided among blocks: by the shape alone, so that the order of the sums is too.
struct Division {
  std::int64_t part, count;

  explicit Division(const View& x) {
    constexpr std::int64_t kBlocks = 2048, kLeast = 2048;  // as many blocks as fill any GPU; elements of a block
    const std::int64_t outer = x.shape()[0], channels = x.shape()[1], inner = x.shape()[2];
    const std::int64_t columns = inner == 1 ? (channels + kColumns - 1) / kColumns : channels;
    const std::int64_t wanted = columns <= kBlockCounters ? std::max<std::int64_t>(1, kBlocks / columns) : 1;
    const std::int64_t smallest = std::max<std::int64_t>(1, kLeast / (inner == 1 ? kColumns : inner));
    part = std::max((outer + wanted - 1) / wanted, smallest);
    count = (outer + part - 1) / part;
  }
};

/// The sums of all channels, each of which is given to finish().
template <class S, class T, class F> void sum(const Call& call, const View& x, const Source<S>& a, const F& finish) {
  const Division division(x);
  const auto count = static_cast<unsigned>(division.count);
  const std::int64_t numbers = count > 1 ? division.count * 2 * a.channels : 0;
  const Scratch scratch(call, static_cast<std::size_t>(numbers) * sizeof(double));
  const Parts parts{scratch.as<double>(), count > 1 ? block_counters(call) : nullptr};
  if (a.inner == 1) {
    launch(call, sum_rows<S, T, F>, dim3(blocks_for(a.channels, kColumns), count), kThreads, a, division.part, parts,
           finish);
  } else {
    constexpr int kSize = RowVector<S>::kSize;
    const auto kernel = takes_vectors<S>(a.inner, {a.x, a.grad}) ? sum_planes<S, T, kSize, F> : sum_planes<S, T, 1, F>;
    launch(call, kernel, dim3(blocks_for(a.channels, 1), count), kThreads, a, division.part, parts, finish);
  }
}

template <class S, class T>
void apply_to(const Call& call, const Source<S>& a, const Coefficients<T>& by, bool with_x, const View& out) {
  const auto kernel = out.numel() < kernels::narrow_limit() ? apply<S, T, std::uint32_t> : apply<S, T, std::uint64_t>;
  const bool vectors = takes_vectors<S>(0, {a.x, a.grad, out.raw_data()});
  launch(call, kernel, blocks_for(out.numel() / (vectors ? RowVector<S>::kSize : 1)), kThreads, a, by, with_x, vectors,
         static_cast<S*>(out.raw_data()));
}

template <class T> std::size_t bytes_of_coefficients(std::int64_t channels) {
  return static_cast<std::size_t>(4 * channels) * sizeof(T);
}

}  // namespace

template <> void execute(const calls::BatchNorm& args) {
  const std::int64_t channels = args.x.shape()[1];
  const Call call(args);
  visit_floating(args.x.dtype(), [&]<class S, class T>() {
    const Source<S> a = source<S>(args.x, View(), nullptr);
    const Scratch scratch(call, bytes_of_coefficients<T>(channels));
    const Coefficients<T> by{scratch.as<T>(), channels};
    const Finish<S, T> finish{a,
                              args.training,
                              args.weight,
                              args.bias,
                              args.running_mean,
                              args.running_var,
                              args.momentum,
                              args.eps,
                              static_cast<double*>(args.stats.raw_data()),
                              by};
    if (args.training) sum<S, T>(call, args.x, a, finish);
    else launch(call, finish_all<Finish<S, T>>, blocks_for(channels), kThreads, channels, finish);
    apply_to<S, T>(call, a, by, true, args.y);
  });
}

template <> void execute(const calls::BatchNormBackward& args) {
  const std::int64_t channels = args.x.shape()[1];
  const Call call(args);
  visit_floating(args.x.dtype(), [&]<class S, class T>() {
    const Source<S> a = source<S>(args.x, args.grad, &args.stats);
    const Scratch scratch(call, bytes_of_coefficients<T>(channels));
    const Coefficients<T> by{scratch.as<T>(), channels};
    const FinishBackward<S, T> finish{a, args.training, args.weight, args.grad_weight, args.grad_bias, by};
    if (args.training || args.grad_weight.defined() || args.grad_bias.defined()) sum<S, T>(call, args.x, a, finish);
    else launch(call, finish_all<FinishBackward<S, T>>, blocks_for(channels), kThreads, channels, finish);
    if (args.grad_x.defined()) apply_to<S, T>(call, a, by, args.training, args.grad_x);
  });
}

}  // namespace minnow::cuda
