#pragma once

#include <span>
#include <minnow/tensor/backend/calls/call.h>

namespace minnow::detail::calls {

/// One fused pass of an optimizer over all parameters.  found_inf: float32, one element, or undefined; nothing is
/// changed if it is not 0.
struct Update {
  static constexpr const char* kName = "update";
  UpdateParams params;
  std::span<const UpdateItem> items;
  const View& found_inf = kUndefined;
};

// All gradients at once: grad of each item; param is the same, and there are no states.

/// Multiplies them by a number: factor, or 1 / factor if `divide`; one element, float32, or the gradients' dtype.
/// found_inf, if it is defined, becomes 1 if an element was not finite.
struct ScaleGradients {
  static constexpr const char* kName = "scale_gradients";
  std::span<const UpdateItem> items;
  const View& factor;
  const View& found_inf;
  bool divide;
};

/// norm: the square root of the sum of all squares; factor: min(1, max_norm / (norm + 1e-6)), or NaN if norm is.  Both
/// have one element, and with the gradients, which are dense, one dtype: float32 or float64.
struct GradientNorm {
  static constexpr const char* kName = "gradient_norm";
  std::span<const UpdateItem> items;
  const View &norm, &factor;
  double max_norm;
};

/// A gradient scaler.  scale, found_inf: float32, growth_tracker: int32, one element each.  scale *= backoff_factor if
/// found_inf is not 0, else *= growth_factor, unless it becomes infinite, each time when growth_tracker has counted
/// growth_interval steps.
struct UpdateScale {
  static constexpr const char* kName = "update_scale";
  const View& scale;
  const View& growth_tracker;
  const View& found_inf;
  double growth_factor, backoff_factor;
  std::int64_t growth_interval;
};

}  // namespace minnow::detail::calls
