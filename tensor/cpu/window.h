#pragma once

#include <algorithm>
#include <cstdint>

namespace minnow::cpu {

/// The windows of a convolution or pooling along one dimension: tap k of output o reads input
/// o * stride - padding + k * dilation, which is in the padding unless it is in [0, in).
struct Window {
  std::int64_t kernel, stride, padding, dilation, in, out;

  std::int64_t input(std::int64_t o, std::int64_t k) const { return o * stride - padding + k * dilation; }
  bool inside(std::int64_t i) const { return i >= 0 && i < in; }
  /// The outputs whose tap k is inside: a range [first, last).
  std::int64_t first(std::int64_t k) const {
    const std::int64_t shift = padding - k * dilation;
    return shift <= 0 ? 0 : (shift + stride - 1) / stride;
  }
  std::int64_t last(std::int64_t k) const {
    const std::int64_t room = in - 1 + padding - k * dilation;
    return room < 0 ? 0 : std::min(out, room / stride + 1);
  }
  /// The output whose tap k reads input i, or -1.
  std::int64_t output(std::int64_t i, std::int64_t k) const {
    const std::int64_t shifted = i + padding - k * dilation;
    if (shifted < 0 || shifted % stride != 0 || shifted / stride >= out) return -1;
    return shifted / stride;
  }
  /// The first input of window o that is not in the padding.
  std::int64_t first_inside(std::int64_t o) const {
    for (std::int64_t k = 0; k < kernel; ++k)
      if (inside(input(o, k))) return input(o, k);
    return 0;
  }
  /// What an average over window o (of dilation 1) divides by.
  std::int64_t count(std::int64_t o, bool include_pad) const {
    const std::int64_t start = o * stride - padding, end = std::min(start + kernel, in + padding);
    return include_pad ? end - start : std::min(end, in) - std::max<std::int64_t>(start, 0);
  }
};

}  // namespace minnow::cpu
