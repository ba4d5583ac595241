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

// A gradient scaler.  scale, found_inf: float32, growth_tracker: int32, one element each.

/// Multiplies all gradients (grad of each item; param is the same, and there are no states) by 1 / scale, and sets
/// found_inf to 1 if an element was not finite.
struct Unscale {
  static constexpr const char* kName = "unscale";
  std::span<const UpdateItem> items;
  const View& scale;
  const View& found_inf;
};

/// scale *= backoff_factor if found_inf is not 0, else *= growth_factor, unless it becomes infinite, each time when
/// growth_tracker has counted growth_interval steps.
struct UpdateScale {
  static constexpr const char* kName = "update_scale";
  const View& scale;
  const View& growth_tracker;
  const View& found_inf;
  double growth_factor, backoff_factor;
  std::int64_t growth_interval;
};

}  // namespace minnow::detail::calls
