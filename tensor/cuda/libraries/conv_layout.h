#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <minnow/tensor/backend/backend.h>
#include <minnow/tensor/backend/plan_cache.h>
#include <minnow/tensor/internal.h>

// The choice of layouts and plans for convolutions.  Includes no header of CUDA, so that every build can test it.

namespace minnow::cuda {

/// The memory format in which a convolution of this operand runs: halves channels-last, for tensor cores; float64
/// contiguous, since cuDNN supports no other; float32 in that of the operand.
inline MemoryFormat conv_format(const View& x) {
  if (is_half(x.dtype())) return MemoryFormat::channels_last;
  const bool last = x.dtype() == DType::float32 && x.is_contiguous(MemoryFormat::channels_last) && !x.is_contiguous();
  return last ? MemoryFormat::channels_last : MemoryFormat::contiguous;
}

/// The maximum number of images in one call: cuDNN counts elements in 31 bits.  0 if a single image is too large.
inline std::int64_t images_at_once(const Shape& x, const Shape& y) {
  const auto image = [](const Shape& s) { return std::max<std::int64_t>(s[1] * s[2] * s[3], 1); };
  return std::numeric_limits<std::int32_t>::max() / std::max(image(x), image(y));
}

enum class ConvDirection : std::uint8_t { forward, backward_input, backward_weight };

/// What the choice of an algorithm depends on.
struct ConvKey {
  ConvDirection direction = ConvDirection::forward;
  DType dtype = DType::float32;
  MemoryFormat format = MemoryFormat::contiguous;
  bool tf32 = false, deterministic = false, benchmark = false;
  std::array<std::int64_t, 4> x{}, w{}, y{};
  std::array<std::int64_t, 2> stride{}, padding{}, dilation{};
  std::int64_t groups = 1;

  friend bool operator==(const ConvKey&, const ConvKey&) = default;
  std::size_t hash() const {
    KeyHash h;
    h.add(direction, dtype, format, tf32, deterministic, benchmark, groups);
    for (const auto* sizes : {&x, &w, &y}) h.add((*sizes)[0], (*sizes)[1], (*sizes)[2], (*sizes)[3]);
    for (const auto* pair : {&stride, &padding, &dilation}) h.add((*pair)[0], (*pair)[1]);
    return h.value();
  }
};

/// The key of a convolution, without the options.
inline ConvKey conv_key(ConvDirection direction, DType dtype, MemoryFormat format, const Conv2dParams& params,
                        const Shape& x, const Shape& w, const Shape& y) {
  ConvKey key;
  key.direction = direction;
  key.dtype = dtype;
  key.format = format;
  std::copy(x.begin(), x.end(), key.x.begin());
  std::copy(w.begin(), w.end(), key.w.begin());
  std::copy(y.begin(), y.end(), key.y.begin());
  std::copy_n(params.stride, 2, key.stride.begin());
  std::copy_n(params.padding, 2, key.padding.begin());
  std::copy_n(params.dilation, 2, key.dilation.begin());
  key.groups = params.groups;
  return key;
}

}  // namespace minnow::cuda
