#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>

namespace minnow {

/// A number for height and width: 3, or {3, 5}.
struct Pair {
  std::int64_t height, width;
  constexpr Pair(std::int64_t both) : height(both), width(both) {}
  constexpr Pair(int both) : Pair(std::int64_t{both}) {}
  constexpr Pair(std::int64_t h, std::int64_t w) : height(h), width(w) {}
};

/// A number for depth, height and width: 3, or {1, 3, 5}.
struct Triple {
  std::int64_t depth, height, width;
  constexpr Triple(std::int64_t each) : depth(each), height(each), width(each) {}
  constexpr Triple(int each) : Triple(std::int64_t{each}) {}
  constexpr Triple(std::int64_t d, std::int64_t h, std::int64_t w) : depth(d), height(h), width(w) {}
};

namespace detail {
/// Whether N numbers in braces are a Size: {3, 5} or {1, 3, 5}.
template <class Size, std::size_t N>
concept BracedSize = (N == 2 && std::same_as<Size, Pair>) || (N == 3 && std::same_as<Size, Triple>);

template <class Size, std::size_t N> constexpr Size braced_size(const std::int64_t (&numbers)[N]) {
  if constexpr (N == 2) return Size(numbers[0], numbers[1]);
  else return Size(numbers[0], numbers[1], numbers[2]);
}
}  // namespace detail

}  // namespace minnow
