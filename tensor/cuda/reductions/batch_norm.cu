#include <algorithm>
#include <minnow/tensor/cuda/cuda_backend.h>
#include <minnow/tensor/cuda/elementwise/element_access.h>
#include <minnow/tensor/cuda/reductions/block_reduce.h>
#include <minnow/tensor/kernels/math.h>

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

  template <class S> __device__ __forceinline__ void add(const Source<S>& a, std::int64_t at, T about) {
    const T d = widen<T>(a.x[at]) - about, first = a.grad == nullptr ? d : widen<T>(a.grad[at]);
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

/// parts: [gridDim.y, 2, channels].  A block sums a part of a channel's elements: `part` planes.
template <class S, class T> __global__ void sum_planes(Source<S> a, std::int64_t part, double* __restrict__ parts) {
  const std::int64_t begin = blockIdx.y * part, end = begin + part < a.outer ? begin + part : a.outer;
  const std::int64_t planes_a_step = blockDim.x / a.inner, rest_of_step = blockDim.x % a.inner;
  for (std::int64_t c = blockIdx.x; c < a.channels; c += gridDim.x) {
    const T about = about_of<S, T>(a, c);
    RunningSums<T> own;
    std::int64_t plane = begin + threadIdx.x / a.inner, k = threadIdx.x % a.inner;
    while (plane < end) {
      own.add(a, (plane * a.channels + c) * a.inner + k, about);
      plane += planes_a_step;
      k += rest_of_step;
      if (k >= a.inner) {
        k -= a.inner;
        ++plane;
      }
    }
    own.flush();
    const TwoSums all = block_join(own.all, TwoSums{0, 0}, AddTwo());
    if (threadIdx.x != 0) continue;
    parts[2 * blockIdx.y * a.channels + c] = all.first;
    parts[(2 * blockIdx.y + 1) * a.channels + c] = all.second;
  }
}

constexpr unsigned kColumns = kWarp, kSharing = kThreads / kColumns;  // threads that share a column

/// The same where inner is 1: rows of channels.
template <class S, class T> __global__ void sum_rows(Source<S> a, std::int64_t part, double* __restrict__ parts) {
  const unsigned column = threadIdx.x % kColumns, row = threadIdx.x / kColumns;
  const std::int64_t begin = blockIdx.y * part, end = begin + part < a.outer ? begin + part : a.outer;
  const std::int64_t step = static_cast<std::int64_t>(gridDim.x) * kColumns;
  for (std::int64_t left = static_cast<std::int64_t>(blockIdx.x) * kColumns; left < a.channels; left += step) {
    const std::int64_t c = left + column;
    RunningSums<T> own;
    if (c < a.channels) {
      const T about = about_of<S, T>(a, c);
      for (std::int64_t r = begin + row; r < end; r += kSharing) own.add(a, r * a.channels + c, about);
      own.flush();
    }
    const TwoSums all = columns_join(kSharing, own.all, AddTwo());
    if (row != 0 || c >= a.channels) continue;
    parts[2 * blockIdx.y * a.channels + c] = all.first;
    parts[(2 * blockIdx.y + 1) * a.channels + c] = all.second;
  }
}

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

__device__ __forceinline__ TwoSums joined(const double* parts, std::int64_t count, std::int64_t channels,
                                          std::int64_t channel) {
  TwoSums all{0, 0};
#pragma unroll 8
  for (std::int64_t k = 0; k < count; ++k)
    all = AddTwo()(all, {parts[2 * k * channels + channel], parts[(2 * k + 1) * channels + channel]});
  return all;
}

/// parts: nullptr unless training.
template <class S, class T>
__global__ void finish(Source<S> a, const double* __restrict__ parts, std::int64_t count, PerChannel weight,
                       PerChannel bias, PerChannel running_mean, PerChannel running_var, double momentum, double eps,
                       double* __restrict__ stats, Coefficients<T> to) {
  const auto n = static_cast<double>(a.outer * a.inner);
  const std::int64_t step = static_cast<std::int64_t>(gridDim.x) * blockDim.x;
  for (std::int64_t c = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; c < a.channels; c += step) {
    double mean = running_mean.get(c, 0), variance = running_var.get(c, 0);
    if (parts != nullptr) {
      const TwoSums all = joined(parts, count, a.channels, c);
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
}

/// With h = (x - mean) rstd: the sums of grad h and grad, and the coefficients of
/// weight rstd (grad - mean(grad) - h mean(grad h)).  Without training mean and rstd do not depend on x.
template <class S, class T>
__global__ void finish_backward(Source<S> a, const double* __restrict__ parts, std::int64_t count, PerChannel weight,
                                PerChannel grad_weight, PerChannel grad_bias, bool training, Coefficients<T> to) {
  const auto n = static_cast<double>(a.outer * a.inner);
  const std::int64_t step = static_cast<std::int64_t>(gridDim.x) * blockDim.x;
  for (std::int64_t c = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x; c < a.channels; c += step) {
    const double mean = a.stats[c], rstd = a.stats[a.channels + c];
    const double rest = (static_cast<double>(static_cast<T>(mean)) - mean) * rstd;  // h is (x - about) rstd + rest
    const TwoSums all = parts == nullptr ? TwoSums{0, 0} : joined(parts, count, a.channels, c);
    const double product = all.second * rstd + rest * all.first;
    grad_weight.set(c, product);
    grad_bias.set(c, all.first);
    const double scale = weight.get(c, 1) * rstd, slope = training ? product / n : 0;
    to.set(c, mean, scale, -scale * slope * rstd, training ? -scale * (all.first / n + slope * rest) : 0);
  }
}

/// I: an unsigned integer that holds `total`.
template <class S, class T, class I>
__global__ void apply(Source<S> a, Coefficients<T> by, bool with_x, S* __restrict__ out) {
  const I total = static_cast<I>(a.outer * a.channels * a.inner), channels = static_cast<I>(a.channels),
          inner = static_cast<I>(a.inner), step = static_cast<I>(gridDim.x) * blockDim.x;
  for (I i = static_cast<I>(blockIdx.x) * blockDim.x + threadIdx.x; i < total; i += step) {
    const I c = (inner == 1 ? i : i / inner) % channels;
    T y = by.values[3 * channels + c];
    if (with_x) y += (widen<T>(a.x[i]) - by.values[c]) * by.values[2 * channels + c];
    if (a.grad != nullptr) y += widen<T>(a.grad[i]) * by.values[channels + c];
    out[i] = narrow<S>(y);
  }
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
    constexpr std::int64_t kBlocks = 512, kLeast = 2048;  // as many blocks as fill any GPU; elements of a block
    const std::int64_t outer = x.shape()[0], channels = x.shape()[1], inner = x.shape()[2];
    const std::int64_t columns = inner == 1 ? (channels + kColumns - 1) / kColumns : channels;
    const std::int64_t wanted = std::max<std::int64_t>(1, kBlocks / columns);
    const std::int64_t smallest = std::max<std::int64_t>(1, kLeast / (inner == 1 ? kColumns : inner));
    part = std::max((outer + wanted - 1) / wanted, smallest);
    count = (outer + part - 1) / part;
  }
};

template <class S, class T> void sum(const Call& call, const Source<S>& a, const Division& division, double* parts) {
  const auto count = static_cast<unsigned>(division.count);
  if (a.inner == 1)
    launch(call, sum_rows<S, T>, dim3(blocks_for(a.channels, kColumns), count), kThreads, a, division.part, parts);
  else launch(call, sum_planes<S, T>, dim3(blocks_for(a.channels, 1), count), kThreads, a, division.part, parts);
}

template <class S, class T>
void apply_to(const Call& call, const Source<S>& a, const Coefficients<T>& by, bool with_x, const View& out) {
  constexpr std::int64_t kNarrow = std::int64_t{1} << 31;
  const auto kernel = out.numel() < kNarrow ? apply<S, T, std::uint32_t> : apply<S, T, std::uint64_t>;
  launch(call, kernel, blocks_for(out.numel()), kThreads, a, by, with_x, static_cast<S*>(out.raw_data()));
}

}  // namespace

template <> void execute(const calls::BatchNorm& args) {
  const std::int64_t channels = args.x.shape()[1];
  const Call call(args);
  visit_floating(args.x.dtype(), [&]<class S, class T>() {
    const Source<S> a = source<S>(args.x, View(), nullptr);
    const Division division(args.x);
    const std::size_t sums = args.training ? static_cast<std::size_t>(division.count * 2 * channels) : 0;
    const Scratch scratch(call, sums * sizeof(double) + static_cast<std::size_t>(4 * channels) * sizeof(T));
    double* const parts = args.training ? scratch.as<double>() : nullptr;
    const Coefficients<T> by{reinterpret_cast<T*>(scratch.as<double>() + sums), channels};
    if (args.training) sum<S, T>(call, a, division, parts);
    launch(call, finish<S, T>, blocks_for(channels), kThreads, a, parts, division.count, args.weight, args.bias,
           args.running_mean, args.running_var, args.momentum, args.eps, static_cast<double*>(args.stats.raw_data()),
           by);
    apply_to<S, T>(call, a, by, true, args.y);
  });
}

template <> void execute(const calls::BatchNormBackward& args) {
  const std::int64_t channels = args.x.shape()[1];
  const Call call(args);
  visit_floating(args.x.dtype(), [&]<class S, class T>() {
    const Source<S> a = source<S>(args.x, args.grad, &args.stats);
    const bool sums = args.training || args.grad_weight.defined() || args.grad_bias.defined();
    const Division division(args.x);
    const std::size_t size = sums ? static_cast<std::size_t>(division.count * 2 * channels) : 0;
    const Scratch scratch(call, size * sizeof(double) + static_cast<std::size_t>(4 * channels) * sizeof(T));
    double* const parts = sums ? scratch.as<double>() : nullptr;
    const Coefficients<T> by{reinterpret_cast<T*>(scratch.as<double>() + size), channels};
    if (sums) sum<S, T>(call, a, division, parts);
    launch(call, finish_backward<S, T>, blocks_for(channels), kThreads, a, parts, division.count, args.weight,
           args.grad_weight, args.grad_bias, args.training, by);
    if (args.grad_x.defined()) apply_to<S, T>(call, a, by, args.training, args.grad_x);
  });
}

}  // namespace minnow::cuda
