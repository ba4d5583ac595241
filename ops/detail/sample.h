#pragma once

#include <limits>
#include <minnow/tensor/in.h>
#include <minnow/tensor/internal.h>

namespace minnow::detail {

/// What the parameters of a distribution may be.  NaN is in no range.
struct Range {
  const char* text;  ///< "above 0"
  double low, high;
  bool open = false;  ///< without low
};
inline constexpr Range kAnyNumber{"numbers", -std::numeric_limits<double>::infinity(),
                                  std::numeric_limits<double>::infinity()};
inline constexpr Range kAboveZero{"above 0", 0, std::numeric_limits<double>::infinity(), true};
inline constexpr Range kFromZero{"0 or more", 0, std::numeric_limits<double>::infinity()};
inline constexpr Range kProbability{"in [0, 1]", 0, 1};

/// ValueError that names the tensor and counts its elements outside of the range, of a floating-point tensor on the
/// cpu; elsewhere a look would wait for the device, and none is taken.
void require_in(const Range& range, const char* name, const Tensor& x, const char* hint);

}  // namespace minnow::detail
