#pragma once

#include <string>
#include <minnow/ops/detail/extents.h>

namespace minnow::nn::detail {

using minnow::detail::Extents;

inline std::string text(const Extents& e) { return e.short_str(); }

/// Of functions for one, two and three dimensions the one for a Size.
template <class Size, class One, class Two, class Three> constexpr auto for_size(One one, Two two, Three three) {
  if constexpr (std::same_as<Size, Pair>) return two;
  else if constexpr (std::same_as<Size, Triple>) return three;
  else return one;
}

}  // namespace minnow::nn::detail
