#include <minnow/ops/signal.h>

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <vector>
#include <minnow/ops/convolution/unfold.h>
#include <minnow/ops/detail/operation.h>
#include <minnow/ops/elementwise/arithmetic.h>
#include <minnow/ops/fft.h>
#include <minnow/ops/reductions/reduce.h>
#include <minnow/tensor/error.h>

namespace minnow {
namespace {

using detail::CallSite, detail::message;

constexpr double kPi = 3.14159265358979323846;

struct Frames {
  std::int64_t n_fft, hop;
  Tensor window;  // [n_fft]; undefined: ones
};

/// What stft() and istft() share of their options.
template <class Options> Frames frames_of(const Tensor& x, std::int64_t n_fft, const Options& options) {
  const std::int64_t hop = options.hop_length.value_or(std::max<std::int64_t>(n_fft / 4, 1));
  const std::int64_t width = options.win_length.value_or(n_fft);
  if (n_fft < 1 || hop < 1 || width < 1 || width > n_fft)
    throw ValueError(message(fmt::format("got n_fft {}, hop_length {}, win_length {}", n_fft, hop, width), {{"x", x}},
                             "they are 1 or more, and win_length at most n_fft"));
  Tensor window = options.window;
  if (!window.defined()) {
    if (width == n_fft) return {n_fft, hop, window};
    window = ones({width}, {x.dtype(), x.device()});
  } else if (window.shape() != Shape{width}) {
    throw ShapeError(message(fmt::format("the window must have the shape [{}]", width), {{"window", window}},
                             "give .win_length for a window that is shorter than n_fft"));
  }
  const std::int64_t left = (n_fft - width) / 2;
  return {n_fft, hop, width == n_fft ? window : pad(window, {left, n_fft - width - left})};
}

/// Columns [N, n_fft, frames] added up at their places: [N, n_fft + hop (frames - 1)].
Tensor overlap_add(const Tensor& columns, const Frames& f) {
  const std::int64_t length = f.n_fft + f.hop * (columns.size(2) - 1);
  return fold(columns, {1, length}, {1, f.n_fft}, {.stride = {1, f.hop}}).reshape({columns.size(0), length});
}

/// value(t) of the numbers of a window.
template <class F>
Tensor window_of(const char* op, std::int64_t n, const WindowOptions& options, SourceLocation where, const F& value) {
  const CallSite site(op, where);
  if (n < 0) throw ValueError(fmt::format("{}: got n {}\ngive 0 or more", op, n));
  const DType dtype = options.dtype.value_or(DType::float32);
  if (!is_floating_point(dtype))
    throw DTypeError(fmt::format("{}: a window of dtype {}\ntake a floating-point dtype", op, name_of(dtype)));
  std::vector<double> numbers(static_cast<std::size_t>(n), 1);
  const auto period = static_cast<double>(options.periodic ? n : n - 1);
  for (std::size_t k = 0; n > 1 && k < numbers.size(); ++k) numbers[k] = value(static_cast<double>(k) / period);
  return tensor(numbers, {dtype, options.device});
}

double to_mel(double hz, MelScale scale) {
  if (scale == MelScale::htk) return 2595 * std::log10(1 + hz / 700);
  return hz < 1000 ? hz * 3 / 200 : 15 + std::log(hz / 1000) * 27 / std::log(6.4);
}
double to_hz(double mel, MelScale scale) {
  if (scale == MelScale::htk) return 700 * (std::pow(10, mel / 2595) - 1);
  return mel < 15 ? mel * 200 / 3 : 1000 * std::exp((mel - 15) * std::log(6.4) / 27);
}

}  // namespace

Tensor stft(const In& x, std::int64_t n_fft, const StftOptions& options) {
  const CallSite site("stft", x.where);
  const Frames f = frames_of(*x, n_fft, options);
  if (x->dim() == 0) throw ShapeError(message("x needs a dimension of time", {{"x", *x}}, "give it as [..., L]"));
  const std::int64_t length = x->size(-1);
  if (options.center ? length == 0 : length < n_fft)
    throw ShapeError(message(fmt::format("x is shorter than a frame of {} numbers", n_fft), {{"x", *x}},
                             "pad it, or use a smaller n_fft"));
  const Tensor padded = options.center ? pad(*x, {n_fft / 2, n_fft / 2}, options.pad_mode) : *x;
  Tensor frames = padded.unfold(-1, n_fft, f.hop);
  if (f.window.defined()) frames = frames * f.window;
  return rfft(frames, {}, -1, options.normalized ? FftNorm::ortho : FftNorm::backward).transpose(-3, -2);
}

Tensor istft(const In& x, std::int64_t n_fft, const IstftOptions& options) {
  const CallSite site("istft", x.where);
  const Frames f = frames_of(*x, n_fft, options);
  if (x->dim() < 3 || x->size(-3) != n_fft / 2 + 1 || x->size(-2) == 0 || x->size(-1) != 2)
    throw ShapeError(message(fmt::format("x must have the shape [..., {}, frames, 2]", n_fft / 2 + 1), {{"x", *x}},
                             "that is what stft() gives for this n_fft"));
  const std::int64_t count = x->size(-2);
  Tensor frames = irfft(x->transpose(-3, -2), n_fft, -1, options.normalized ? FftNorm::ortho : FftNorm::backward);
  const Tensor window = f.window.defined() ? f.window : ones({n_fft}, {frames.dtype(), frames.device()});
  frames = (frames * window).reshape({frames.numel() / (count * n_fft), count, n_fft}).transpose(1, 2);
  const Tensor sum = overlap_add(frames, f);
  const Tensor weight = overlap_add((window * window).reshape({1, n_fft, 1}).expand({1, n_fft, count}), f);

  const std::int64_t start = options.center ? n_fft / 2 : 0, covered = sum.size(1);
  const std::int64_t asked = options.length.value_or(covered - 2 * start);
  if (asked < 1)
    throw ValueError(message(fmt::format("a result of {} numbers", asked), {{"x", *x}},
                             "give more frames, or a .length of 1 or more"));
  const std::int64_t kept = std::min(asked, covered - start);
  const Tensor inside = weight.narrow(1, start, kept);
  if (inside.device().is_cpu() && amin(inside.detach()).item<double>() < 1e-11)
    throw ValueError(message("the windows leave out numbers between frames, or at the ends", {{"x", *x}},
                             "use a smaller hop_length, or a window that is not 0 there"));
  Tensor y = sum.narrow(1, start, kept) / inside;
  if (kept < asked) y = pad(y, {0, asked - kept});
  Shape shape = x->shape();
  for (int i = 0; i < 3; ++i) shape.erase(shape.rank() - 1);
  shape.push_back(asked);
  return y.reshape(shape);
}

Tensor hann_window(std::int64_t n, const WindowOptions& options, SourceLocation where) {
  return window_of("hann_window", n, options, where, [](double t) { return 0.5 - 0.5 * std::cos(2 * kPi * t); });
}
Tensor hamming_window(std::int64_t n, const WindowOptions& options, SourceLocation where) {
  return window_of("hamming_window", n, options, where, [](double t) { return 0.54 - 0.46 * std::cos(2 * kPi * t); });
}
Tensor blackman_window(std::int64_t n, const WindowOptions& options, SourceLocation where) {
  return window_of("blackman_window", n, options, where,
                   [](double t) { return 0.42 - 0.5 * std::cos(2 * kPi * t) + 0.08 * std::cos(4 * kPi * t); });
}
Tensor bartlett_window(std::int64_t n, const WindowOptions& options, SourceLocation where) {
  return window_of("bartlett_window", n, options, where, [](double t) { return 1 - std::abs(2 * t - 1); });
}

Tensor melscale_fbanks(std::int64_t n_freqs, std::int64_t n_mels, std::int64_t sample_rate, const MelOptions& options,
                       SourceLocation where) {
  const CallSite site("melscale_fbanks", where);
  const double f_max = options.f_max.value_or(static_cast<double>(sample_rate) / 2);
  if (n_freqs < 2 || n_mels < 1 || sample_rate < 1 || !(options.f_min >= 0 && options.f_min < f_max))
    throw ValueError(
        fmt::format("melscale_fbanks: got n_freqs {}, n_mels {}, sample_rate {}, f_min {}, f_max {}\n"
                    "give 2 or more frequencies, 1 or more bands, and 0 <= f_min < f_max",
                    n_freqs, n_mels, sample_rate, options.f_min, f_max));
  const DType dtype = options.dtype.value_or(DType::float32);
  if (!is_floating_point(dtype))
    throw DTypeError(fmt::format("melscale_fbanks: got dtype {}\ntake a floating-point dtype", name_of(dtype)));
  const double low = to_mel(options.f_min, options.scale), high = to_mel(f_max, options.scale);
  const auto edge = [&](std::int64_t i) {
    return to_hz(low + (high - low) * static_cast<double>(i) / static_cast<double>(n_mels + 1), options.scale);
  };
  const double nyquist = static_cast<double>(sample_rate / 2);  // NOLINT(bugprone-integer-division): as torchaudio
  std::vector<double> banks(static_cast<std::size_t>(n_freqs * n_mels));
  for (std::int64_t m = 0; m < n_mels; ++m) {
    const double left = edge(m), top = edge(m + 1), right = edge(m + 2);
    const double height = options.area_norm ? 2 / (right - left) : 1;
    for (std::int64_t k = 0; k < n_freqs; ++k) {
      const double f = nyquist * static_cast<double>(k) / static_cast<double>(n_freqs - 1);
      const double value = std::min((f - left) / (top - left), (right - f) / (right - top));
      banks[static_cast<std::size_t>(k * n_mels + m)] = height * std::max(0.0, value);
    }
  }
  return tensor(banks, {dtype, options.device}).reshape({n_freqs, n_mels});
}

}  // namespace minnow
