#pragma once

#include <cstdint>
#include <string>
#include <minnow/ops/pair.h>

namespace minnow::detail {

/// The numbers of one to three spatial dimensions.
struct Extents {
  int dims;
  std::int64_t size[3];

  constexpr Extents(std::int64_t n) : dims(1), size{n, 0, 0} {}
  constexpr Extents(Pair p) : dims(2), size{p.height, p.width, 0} {}
  constexpr Extents(Triple t) : dims(3), size{t.depth, t.height, t.width} {}
  constexpr Extents(int count, std::int64_t each) : dims(count), size{each, each, each} {}

  constexpr std::int64_t operator[](int d) const { return size[d]; }
  constexpr std::int64_t& operator[](int d) { return size[d]; }
  const std::int64_t* begin() const { return size; }
  const std::int64_t* end() const { return size + dims; }
  constexpr bool all_equal(std::int64_t n) const {
    for (int d = 0; d < dims; ++d)
      if (size[d] != n) return false;
    return true;
  }
  constexpr bool at_least(std::int64_t n) const {
    for (int d = 0; d < dims; ++d)
      if (size[d] < n) return false;
    return true;
  }
  constexpr std::int64_t product() const {
    std::int64_t n = 1;
    for (int d = 0; d < dims; ++d) n *= size[d];
    return n;
  }
  /// "{1, 2}"; of one dimension "1".
  std::string str() const;
  /// "3", or "3x5", as layers describe themselves.
  std::string short_str() const;
};

}  // namespace minnow::detail
