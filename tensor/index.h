#pragma once

#include <cstdint>
#include <limits>
#include <minnow/tensor/source_location.h>

namespace minnow {

inline constexpr std::int64_t kToEnd = std::numeric_limits<std::int64_t>::max();

/// Elements start, start + step, ... before stop, of one dimension.  Negative start and stop count from its
/// end.
struct Slice {
  std::int64_t start = 0;
  std::int64_t stop = kToEnd;
  std::int64_t step = 1;
};

/// start:stop:step of Python; step must be positive.
constexpr Slice slice(std::int64_t start = 0, std::int64_t stop = kToEnd, std::int64_t step = 1) {
  return {start, stop, step};
}

struct NewAxis {};
struct Ellipsis {};
/// All of a dimension.
inline constexpr Slice all{};
/// A new dimension of size 1.
inline constexpr NewAxis newaxis{};
/// All dimensions that the other indices leave over.
inline constexpr Ellipsis ellipsis{};

/// One argument of t(...): an integer, a slice, newaxis or ellipsis; remembers the user's line.
struct Index {
  enum class Kind : std::uint8_t { kInteger, kSlice, kNewAxis, kEllipsis };

  constexpr Index(std::int64_t i, SourceLocation l = SourceLocation::current())
      : kind(Kind::kInteger), range{i, i, 1}, where(l) {}
  constexpr Index(int i, SourceLocation l = SourceLocation::current()) : Index(std::int64_t{i}, l) {}
  constexpr Index(Slice s, SourceLocation l = SourceLocation::current()) : kind(Kind::kSlice), range(s), where(l) {}
  constexpr Index(NewAxis, SourceLocation l = SourceLocation::current()) : kind(Kind::kNewAxis), where(l) {}
  constexpr Index(Ellipsis, SourceLocation l = SourceLocation::current()) : kind(Kind::kEllipsis), where(l) {}

  Kind kind;
  Slice range{};
  SourceLocation where;
};

}  // namespace minnow
