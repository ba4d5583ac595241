#include <algorithm>
#include <cmath>
#include <minnow/tensor/cpu/cpu_backend.h>
#include <minnow/tensor/cpu/elementwise/elements.h>
#include <minnow/tensor/cpu/isa/row_vectors.h>
#include <minnow/tensor/cpu/runtime/isa.h>
#include <minnow/tensor/cpu/runtime/parallel.h>
#include <minnow/tensor/cpu/runtime/scratch.h>

namespace minnow::cpu {

/// Rows of n elements: each of the next channel, or each with an element of every channel.  So the coefficients and
/// sums are of the first row's channel on, or of the first element's.
struct ChannelJob {
  std::int64_t rows, n;
  const void *x, *grad;
  void* out;
  const void* about;    ///< is subtracted from x: nothing is lost where the mean is large beside the deviation
  const void* of_grad;  ///< the other coefficients
  const void *of_x, *shift;
  double *sums, *products;  ///< what the elements give is added
};
struct BatchNormLoops {
  /// Sums of d = x - about, and of d^2; with a gradient, of grad and of grad d.
  void (*sums)(const ChannelJob& job);
  /// out = d of_x + grad of_grad + shift, without what is nullptr.
  void (*apply)(const ChannelJob& job);
};
/// [a row is of one channel, of all channels][of floats, of doubles, of bfloat16 with coefficients of float]
struct BatchNormTable {
  BatchNormLoops loops[2][3];
};

}  // namespace minnow::cpu

MINNOW_ISA_TABLE(BatchNormTable, batch_norm_table)

namespace minnow::cpu::MINNOW_ISA {
namespace {

/// The coefficients of elements i, i + 1 ... of row r.
template <class T, bool kAllChannels>
MINNOW_HD auto coefficient(const void* from, std::int64_t r, std::int64_t i, int some) {
  const T* const of = static_cast<const T*>(from);
  if constexpr (kAllChannels) return load_some(of + i, some);
  else return splat(of[r]);
}

template <class E, class T> void channel_sums(const ChannelJob& job) {
  const auto sum = [&](const auto& read) { return fold<kLanes64 / 2>(wide_sum<T>(job.n, read), Plus())[0]; };
  for (std::int64_t r = 0; r < job.rows; ++r) {
    const E* const x = static_cast<const E*>(job.x) + r * job.n;
    const auto about = splat(static_cast<const T*>(job.about)[r]);
    const auto distance = [&](std::int64_t i, int some) { return load_some(x + i, some) - about; };
    if (job.grad == nullptr) {
      job.sums[r] += sum(distance);
      job.products[r] += sum([&](std::int64_t i, int some) {
        const auto d = distance(i, some);
        return d * d;
      });
    } else {
      const E* const grad = static_cast<const E*>(job.grad) + r * job.n;
      job.sums[r] += sum([&](std::int64_t i, int some) { return load_some(grad + i, some); });
      job.products[r] += sum([&](std::int64_t i, int some) { return load_some(grad + i, some) * distance(i, some); });
    }
  }
}

template <class E, class T> void row_sums(const ChannelJob& job) {
  const E *x = static_cast<const E*>(job.x), *grad = static_cast<const E*>(job.grad);
  for_some<T>(job.n, [&](std::int64_t i, int some) {
    const auto about = coefficient<T, true>(job.about, 0, i, some);
    auto sums = splat(T(0)), products = splat(T(0));
    for (std::int64_t r = 0; r < job.rows; ++r) {
      const auto d = load_some(x + r * job.n + i, some) - about;
      const auto first = grad == nullptr ? d : load_some(grad + r * job.n + i, some);
      sums += first;
      products += first * d;
    }
    add_some(sums, job.sums + i, some);
    add_some(products, job.products + i, some);
  });
}

template <class E, class T, bool kAllChannels> void apply(const ChannelJob& job) {
  const E *x = static_cast<const E*>(job.x), *grad = static_cast<const E*>(job.grad);
  for (std::int64_t r = 0; r < job.rows; ++r)
    row_map(static_cast<E*>(job.out) + r * job.n, job.n, [&](std::int64_t i, int some) {
      auto y = coefficient<T, kAllChannels>(job.shift, r, i, some);
      if (x != nullptr)
        y += (load_some(x + r * job.n + i, some) - coefficient<T, kAllChannels>(job.about, r, i, some)) *
             coefficient<T, kAllChannels>(job.of_x, r, i, some);
      if (grad != nullptr)
        y += load_some(grad + r * job.n + i, some) * coefficient<T, kAllChannels>(job.of_grad, r, i, some);
      return y;
    });
}

}  // namespace

const BatchNormTable batch_norm_table = {{{{channel_sums<float, float>, apply<float, float, false>},
                                           {channel_sums<double, double>, apply<double, double, false>},
                                           {channel_sums<std::uint16_t, float>, apply<std::uint16_t, float, false>}},
                                          {{row_sums<float, float>, apply<float, float, true>},
                                           {row_sums<double, double>, apply<double, double, true>},
                                           {row_sums<std::uint16_t, float>, apply<std::uint16_t, float, true>}}}};

}  // namespace minnow::cpu::MINNOW_ISA

#if MINNOW_ISA_ONCE
namespace minnow::cpu {
namespace {

constexpr int kDouble = static_cast<int>(Compute::kDouble);

/// Element i of [channels]; `none` where t is undefined.
double number(const View& t, std::int64_t i, double none) {
  if (t.defined())
    loops().load[static_cast<int>(t.dtype())][kDouble](
        static_cast<const char*>(t.raw_data()) + i * static_cast<std::int64_t>(t.itemsize()), &none, 1);
  return none;
}
/// All `n` elements, one call for all: one for each takes as long as the pass over a small x.
void numbers(const View& t, std::int64_t n, double none, double* to) {
  if (t.defined()) loops().load[static_cast<int>(t.dtype())][kDouble](t.raw_data(), to, n);
  else std::fill_n(to, n, none);
}
void set_numbers(const View& t, std::int64_t n, const double* from) {
  if (t.defined()) loops().store[kDouble][static_cast<int>(t.dtype())](from, t.raw_data(), n);
}

/// Passes over x, or x and a gradient, [outer, channels, inner]: sums for each channel, and an output from coefficients
/// of each channel.
class Channels {
 public:
  /// grad and out may be undefined.
  Channels(const View& x, const View& grad, const View& out)
      : outer_(x.shape()[0]),
        channels_(x.shape()[1]),
        inner_(x.shape()[2]),
        rows_(inner_ == 1),
        part_(rows_of_a_part(outer_, channels_)),
        parts_(rows_ ? (outer_ + part_ - 1) / part_ : 1),
        together_(rows_ ? std::clamp<std::int64_t>(4096 / channels_, 1, 16) : std::min<std::int64_t>(inner_, 4096)),
        planes_(std::clamp<std::int64_t>(2048 / inner_, 1, channels_)),
        bytes_((grad.defined() ? 2 : 1) * x.nbytes()),
        first_(x),
        of_bfloat16_(x.dtype() == DType::bfloat16),
        x_(x, of_bfloat16_),
        grad_(grad, of_bfloat16_),
        out_(out, of_bfloat16_),
        compute_(kernels::compute_type(x.dtype())),
        loops_(MINNOW_ISA_LOOPS(batch_norm_table)
                   .loops[rows_ ? 1 : 0][of_bfloat16_                 ? 2
                                         : compute_ == DType::float64 ? 1
                                                                      : 0]),
        scratch_(x.dtype() == DType::float16
                     ? static_cast<std::size_t>(3 * together_ * (rows_ ? channels_ : planes_)) * sizeof(float)
                     : 0,
                 static_cast<std::size_t>((2 * parts_ + 12) * channels_) * sizeof(double)),
        about(static_cast<double*>(scratch_.shared())),
        of_grad(about + channels_),
        of_x(of_grad + channels_),
        shift(of_x + channels_),
        sums(shift + channels_),
        products(sums + channels_),
        of_caller(sums + 2 * parts_ * channels_),
        rounded_(reinterpret_cast<char*>(of_caller + 4 * channels_)) {
    std::fill_n(about, 4 * channels_, 0.0);
  }

  std::int64_t size() const { return channels_; }
  /// The number of a channel's elements.
  double count() const { return static_cast<double>(outer_ * inner_); }
  /// A channel's first element.
  double first(std::int64_t channel) const { return number(first_, channel * inner_, 0); }
  /// As x is computed.
  double rounded(double value) const {
    return compute_ == DType::float64 ? value : static_cast<double>(static_cast<float>(value));
  }

  /// Sets sums and products from about.
  void sum() {
    round_coefficients();
    std::fill_n(sums, 2 * parts_ * channels_, 0.0);
    if (!rows_) {
      parallel_blocks(channels_, planes_, bytes_, [&](std::int64_t first, std::int64_t end) {
        for (std::int64_t o = 0; o < outer_; ++o) for_planes(o, first, end, false, loops_.sums);
      });
      return;
    }
    parallel_for(parts_, bytes_, [&](std::int64_t part) {
      for_rows(part * part_, std::min(outer_, (part + 1) * part_), false, loops_.sums, part);
    });
    for (std::int64_t part = 1; part < parts_; ++part)
      for (std::int64_t i = 0; i < 2 * channels_; ++i) sums[i] += sums[part * 2 * channels_ + i];
  }

  /// Sets out from the coefficients.
  void apply(bool with_x) {
    round_coefficients();
    with_x_ = with_x;
    const std::int64_t blocks = (channels_ + planes_ - 1) / planes_;
    if (rows_)
      parallel_blocks(outer_, part_, bytes_,
                      [&](std::int64_t begin, std::int64_t end) { for_rows(begin, end, true, loops_.apply, 0); });
    else
      parallel_for(outer_ * blocks, bytes_, [&](std::int64_t block) {
        const std::int64_t first = block % blocks * planes_;
        for_planes(block / blocks, first, std::min(channels_, first + planes_), true, loops_.apply);
      });
  }

 private:
  using Loop = void (*)(const ChannelJob& job);

  /// By the shape alone, so that the order of the sums is too.
  static std::int64_t rows_of_a_part(std::int64_t rows, std::int64_t channels) {
    constexpr std::int64_t kElements = 1 << 15, kLeast = 16, kMost = 64;
    return std::max({kElements / channels, kLeast, (rows + kMost - 1) / kMost});
  }
  void round_coefficients() { loops().store[kDouble][static_cast<int>(compute_)](about, rounded_, 4 * channels_); }
  /// Channels [first, end) of one outer index: several together, or one in pieces.
  void for_planes(std::int64_t outer, std::int64_t first, std::int64_t end, bool writes, Loop loop) const {
    const std::int64_t at = (outer * channels_ + first) * inner_;
    if (planes_ > 1) return run(at, end - first, inner_, first, writes, loop, 0);
    for (std::int64_t k = 0; k < inner_; k += together_)
      run(at + k, 1, std::min(together_, inner_ - k), first, writes, loop, 0);
  }
  void for_rows(std::int64_t begin, std::int64_t end, bool writes, Loop loop, std::int64_t part) const {
    for (std::int64_t r = begin; r < end; r += together_)
      run(r * channels_, std::min(together_, end - r), channels_, 0, writes, loop, part);
  }
  void run(std::int64_t at, std::int64_t rows, std::int64_t n, std::int64_t channel, bool writes, Loop loop,
           std::int64_t part) const {
    const std::int64_t count = rows * n, sum = 2 * part * channels_ + channel;
    float* room = static_cast<float*>(scratch_.mine());
    const auto coefficient = [&](std::int64_t which) {
      return rounded_ + (which * channels_ + channel) * static_cast<std::int64_t>(size_of(compute_));
    };
    const void* const x = with_x_ ? x_.read(at, count, room) : nullptr;
    const void* const grad = grad_.read(at, count, room);
    void* const out = writes ? out_.write(at, count, room) : nullptr;
    loop({rows, n, x, grad, out, coefficient(0), coefficient(1), coefficient(2), coefficient(3), sums + sum,
          products + sum});
    if (writes) out_.written(at, count, out);
  }

  const std::int64_t outer_, channels_, inner_;
  const bool rows_;  // of channels; else each channel has contiguous elements
  const std::int64_t part_, parts_, together_, planes_, bytes_;
  const View& first_;
  const bool of_bfloat16_;  // which the loops read and write, as all tensors have one dtype
  const Elements x_, grad_, out_;
  const DType compute_;
  const BatchNormLoops& loops_;
  const ThreadScratch scratch_;
  bool with_x_ = true;

 public:
  // [channels]: coefficients, which the caller sets, and sums.
  double *const about, *const of_grad, *const of_x, *const shift, *const sums, *const products;
  double* const of_caller;  // [4, channels]

 private:
  char* const rounded_;  // the coefficients as x is computed
};

}  // namespace

template <> void execute(const calls::BatchNorm& args) {
  Channels channels(args.x, View(), args.y);
  const std::int64_t size = channels.size();
  double *const mean = static_cast<double*>(args.stats.raw_data()), *const rstd = mean + size;
  if (args.training) {
    for (std::int64_t c = 0; c < size; ++c) channels.about[c] = channels.first(c);
    channels.sum();
  }
  const double count = channels.count();
  double *const running_mean = channels.of_caller, *const running_var = running_mean + size;
  double *const weight = running_var + size, *const bias = weight + size;
  numbers(args.running_mean, size, 0, running_mean), numbers(args.running_var, size, 0, running_var);
  numbers(args.weight, size, 1, weight), numbers(args.bias, size, 0, bias);
  for (std::int64_t c = 0; c < size; ++c) {
    double average = running_mean[c], variance = running_var[c];
    if (args.training) {
      const double rest = channels.sums[c] / count, of_x = channels.products[c] / count - rest * rest;
      average = channels.about[c] + rest;
      variance = of_x < 0 ? 0 : of_x;
      running_mean[c] += args.momentum * (average - running_mean[c]);
      running_var[c] += args.momentum * (variance * (count / (count - 1)) - running_var[c]);
    }
    mean[c] = average;
    rstd[c] = 1 / std::sqrt(variance + args.eps);
    channels.about[c] = channels.rounded(average);
    channels.of_x[c] = rstd[c] * weight[c];
    channels.shift[c] = (channels.about[c] - average) * channels.of_x[c] + bias[c];
  }
  if (args.training)
    set_numbers(args.running_mean, size, running_mean), set_numbers(args.running_var, size, running_var);
  channels.apply(true);
}

template <> void execute(const calls::BatchNormBackward& args) {
  Channels channels(args.x, args.grad, args.grad_x);
  const std::int64_t size = channels.size();
  const double *const mean = static_cast<const double*>(args.stats.raw_data()), *const rstd = mean + size;
  for (std::int64_t c = 0; c < size; ++c) channels.about[c] = channels.rounded(mean[c]);
  if (args.training || args.grad_weight.defined() || args.grad_bias.defined()) channels.sum();
  const double count = channels.count();
  double *const weight = channels.of_caller, *const grad_weight = weight + size;
  numbers(args.weight, size, 1, weight);
  for (std::int64_t c = 0; c < size; ++c) {
    // With h = (x - mean) rstd = (x - about) rstd + rest:
    const double rest = (channels.about[c] - mean[c]) * rstd[c], sum = channels.sums[c];
    const double product = channels.products[c] * rstd[c] + rest * sum;  // of grad and h
    grad_weight[c] = product;
    // grad_x = weight rstd (grad - mean(grad) - h mean(grad h))
    const double scale = weight[c] * rstd[c], slope = args.training ? product / count : 0;
    channels.of_grad[c] = scale;
    channels.of_x[c] = -scale * slope * rstd[c];
    channels.shift[c] = args.training ? -scale * (sum / count + slope * rest) : 0;
  }
  set_numbers(args.grad_weight, size, grad_weight), set_numbers(args.grad_bias, size, channels.sums);
  if (args.grad_x.defined()) channels.apply(args.training);
}

}  // namespace minnow::cpu
#endif
