#pragma once

#include <string>
#include <minnow/ops/conv.h>

namespace minnow::nn::detail {

inline bool both_equal(Pair p, std::int64_t value) { return p.height == value && p.width == value; }
inline bool at_least(Pair p, std::int64_t value) { return p.height >= value && p.width >= value; }
/// "3", or "3x5".
inline std::string text(Pair p) {
  const std::string height = std::to_string(p.height);
  return p.height == p.width ? height : height + "x" + std::to_string(p.width);
}

}  // namespace minnow::nn::detail
