#pragma once

#include <string>
#include <minnow/ops/detail/extents.h>

namespace minnow::nn::detail {

using minnow::detail::Extents;

inline std::string text(const Extents& e) { return e.short_str(); }

}  // namespace minnow::nn::detail
