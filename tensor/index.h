#pragma once

#include <concepts>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <minnow/tensor/shape.h>
#include <minnow/tensor/source_location.h>

namespace minnow {

class Tensor;
struct In;
namespace detail {
struct TensorImpl;
}

inline constexpr std::int64_t kToEnd = std::numeric_limits<std::int64_t>::max();

namespace detail {

/// A number of a Slice, which {} and std::nullopt leave out.
template <std::int64_t kDefault> struct SliceNumber {
  constexpr SliceNumber() = default;
  constexpr SliceNumber(std::nullopt_t) {}
  constexpr SliceNumber(std::int64_t number) : value(number) {}

  std::int64_t value = kDefault;
};

}  // namespace detail

/// Elements start, start + step, ... up to, not including, stop.  Negative start and stop count from the end.
struct Slice {
  constexpr Slice(detail::SliceNumber<0> first = 0, detail::SliceNumber<kToEnd> end = kToEnd,
                  detail::SliceNumber<1> every = 1)
      : start(first.value), stop(end.value), step(every.value) {}

  std::int64_t start, stop, step;
};

/// Python's start:stop:step, where {} leaves a number out: slice({}, {}, 2) is ::2.  ValueError unless step is
/// positive.
constexpr Slice slice(detail::SliceNumber<0> start = 0, detail::SliceNumber<kToEnd> stop = kToEnd,
                      detail::SliceNumber<1> step = 1) {
  return {start, stop, step};
}

/// As an index, all of a dimension: x(all, 0).  As a function, the reduction: all(mask), all(mask, 0).
struct All : Slice {
  /// Whether no element is zero, of all or along dims: bool.
  [[nodiscard]] Tensor operator()(const In& x, const Dims& dims = {}, bool keepdim = false) const;
};

struct NewAxis {};
struct Ellipsis {};
inline constexpr All all{};
/// A new dimension of size 1.
inline constexpr NewAxis newaxis{};
/// All dimensions without an index.
inline constexpr Ellipsis ellipsis{};

/// One argument of t(...): an integer, a slice, newaxis, ellipsis, an index tensor (int64 or int32) or a mask
/// (bool).  Keeps the user's line.
struct Index {
  enum class Kind : std::uint8_t { kInteger, kSlice, kNewAxis, kEllipsis, kTensor };

  template <std::integral I>
  requires(!std::same_as<I, bool>) Index(I i, SourceLocation l = SourceLocation::current())
      : kind(Kind::kInteger), range(checked(i, l)), where(l) {}
  Index(Slice s, SourceLocation l = SourceLocation::current()) : kind(Kind::kSlice), range(s), where(l) {}
  Index(NewAxis, SourceLocation l = SourceLocation::current()) : kind(Kind::kNewAxis), where(l) {}
  Index(Ellipsis, SourceLocation l = SourceLocation::current()) : kind(Kind::kEllipsis), where(l) {}
  Index(const Tensor& indices, SourceLocation l = SourceLocation::current());

  Kind kind;
  Slice range{};
  std::shared_ptr<detail::TensorImpl> tensor{};
  SourceLocation where;

 private:
  template <std::integral I> static std::int64_t checked(I i, SourceLocation l) {
    if constexpr (std::unsigned_integral<I> && sizeof(I) == sizeof(std::int64_t))
      if (i > static_cast<I>(kToEnd)) refuse(i, l);
    return static_cast<std::int64_t>(i);
  }
  [[noreturn]] static void refuse(std::uint64_t i, SourceLocation where);
};

/// For each dimension, `size` elements start, start + step, ...
struct Slices {
  Shape start, size, step;
};

}  // namespace minnow
