#pragma once

#include <cstdint>
#include <minnow/tensor/in.h>
#include <minnow/tensor/internal.h>

namespace minnow::detail {

/// Windows along a dimension: element k of window i is element i * step + k * dilation.
struct Windowing {
  int dim;
  std::int64_t size, step, dilation = 1;

  /// The elements that a window extends over.
  std::int64_t span() const { return dilation * (size - 1) + 1; }
};

/// The windows that fit, as a view: their number replaces the dimension, their elements are a new last one.  Unchecked.
Tensor windows(const Tensor& x, const Windowing& w);
/// The transposed map: the elements of windows are added at their places in a dimension of `length`, the others are 0.
Tensor overlap_add(const Tensor& parts, const Windowing& w, std::int64_t length);

}  // namespace minnow::detail
