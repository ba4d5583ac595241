#pragma once

#include <algorithm>
#include <cstdint>

namespace minnow::cpu {

/// The windows of a convolution or pooling along one dimension.  Tap k of output o reads input o * stride - padding + k
/// * dilation, which is padding unless it is in [0, in).
struct Window {
  std::int64_t kernel, stride, padding, dilation, in, out;

  std::int64_t input(std::int64_t o, std::int64_t k) const { return o * stride - padding + k * dilation; }
  bool inside(std::int64_t i) const { return i >= 0 && i < in; }
  /// The range [first, last) of outputs whose tap k is inside the input.
  std::int64_t first(std::int64_t k) const {
    const std::int64_t shift = padding - k * dilation;
    return shift <= 0 ? 0 : (shift + stride - 1) / stride;
  }
  std::int64_t last(std::int64_t k) const {
    const std::int64_t distance = in - 1 + padding - k * dilation;
    return distance < 0 ? 0 : std::min(out, distance / stride + 1);
  }
  /// The output whose tap k reads input i, or -1.
  std::int64_t output(std::int64_t i, std::int64_t k) const {
    const std::int64_t shifted = i + padding - k * dilation;
    if (shifted < 0 || shifted % stride != 0 || shifted / stride >= out) return -1;
    return shifted / stride;
  }
  /// The range [first_tap, last_tap) of taps of window o that are inside the input.  Kernels may be much larger than
  /// the input.
  std::int64_t first_tap(std::int64_t o) const {
    const std::int64_t start = input(o, 0);
    return start >= 0 ? 0 : std::min(kernel, (-start - 1) / dilation + 1);
  }
  std::int64_t last_tap(std::int64_t o) const {
    const std::int64_t distance = in - 1 - input(o, 0);
    return distance < 0 ? 0 : std::min(kernel, distance / dilation + 1);
  }
  /// The taps that are inside the input for some output.
  std::int64_t first_tap() const { return first_tap(out - 1); }
  std::int64_t last_tap() const { return last_tap(0); }
  /// The taps that read input i for some output are in [first_reading, last_reading).
  std::int64_t first_reading(std::int64_t i) const {
    const std::int64_t beyond = i - input(out - 1, 0);
    return beyond <= 0 ? 0 : std::min(kernel, (beyond - 1) / dilation + 1);
  }
  std::int64_t last_reading(std::int64_t i) const { return std::min(kernel, (i + padding) / dilation + 1); }
  /// The first input of window o that is not in the padding.
  std::int64_t first_inside(std::int64_t o) const {
    const std::int64_t start = input(o, 0);
    if (start >= 0) return inside(start) ? start : 0;
    const std::int64_t k = first_tap(o);
    return k < last_tap(o) ? input(o, k) : 0;
  }
  /// The divisor of an average over window o (with dilation 1).
  std::int64_t count(std::int64_t o, bool include_pad) const {
    const std::int64_t start = o * stride - padding, end = std::min(start + kernel, in + padding);
    return include_pad ? end - start : std::min(end, in) - std::max<std::int64_t>(start, 0);
  }
};

}  // namespace minnow::cpu
