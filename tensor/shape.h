#pragma once

#include <algorithm>
#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <iosfwd>
#include <span>
#include <string>
#include <vector>
#include <minnow/tensor/source_location.h>

namespace minnow {

/// The maximum number of dimensions of a tensor.
inline constexpr int kMaxRank = 8;

/// Up to kMaxRank signed 64-bit sizes, strides or dimension numbers, stored without allocation.  ShapeError for more.
class Shape {
 public:
  using value_type = std::int64_t;

  constexpr Shape() = default;
  /// One size: zeros(3), x.reshape(-1).
  template <std::integral I>
  requires(!std::same_as<I, bool>) Shape(I size) : rank_(1) { sizes_[0] = static_cast<std::int64_t>(size); }
  Shape(std::initializer_list<std::int64_t> sizes, SourceLocation where = SourceLocation::current())
      : Shape(std::span(sizes.begin(), sizes.size()), where) {}
  Shape(std::span<const std::int64_t> sizes, SourceLocation where = SourceLocation::current());
  Shape(const std::vector<std::int64_t>& sizes, SourceLocation where = SourceLocation::current())
      : Shape(std::span(sizes), where) {}
  /// `rank` times the same value.
  static Shape filled(int rank, std::int64_t value, SourceLocation where = SourceLocation::current());

  int rank() const { return rank_; }
  bool empty() const { return rank_ == 0; }
  /// Negative i counts from the end.  Unchecked, as back() is.
  std::int64_t operator[](int i) const { return sizes_[i < 0 ? i + rank_ : i]; }
  std::int64_t& operator[](int i) { return sizes_[i < 0 ? i + rank_ : i]; }
  std::int64_t back() const { return sizes_[rank_ - 1]; }

  const std::int64_t* begin() const { return sizes_; }
  const std::int64_t* end() const { return sizes_ + rank_; }
  std::int64_t* begin() { return sizes_; }
  std::int64_t* end() { return sizes_ + rank_; }
  std::span<const std::int64_t> span() const { return {sizes_, static_cast<std::size_t>(rank_)}; }

  // ShapeError for more than kMaxRank sizes, IndexError for an index out of range.
  void push_back(std::int64_t value, SourceLocation where = SourceLocation::current());
  void insert(int at, std::int64_t value, SourceLocation where = SourceLocation::current());
  void erase(int at, SourceLocation where = SourceLocation::current());

  /// Product of the sizes; 1 for rank 0.
  std::int64_t numel() const;
  /// "[64, 784]".
  std::string str() const;
  std::string to_string() const { return str(); }

  friend bool operator==(const Shape& a, const Shape& b);

 private:
  std::int64_t sizes_[kMaxRank] = {};
  int rank_ = 0;
};

/// The dimensions that a function works along: a number or a list; empty means all.
class Dims {
 public:
  Dims() = default;
  template <std::integral I>
  requires(!std::same_as<I, bool>) Dims(I dim) : list_(dim) {}
  Dims(std::initializer_list<std::int64_t> dims, SourceLocation where = SourceLocation::current())
      : list_(dims, where) {}
  Dims(const Shape& dims) : list_(dims) {}
  Dims(const std::vector<std::int64_t>& dims, SourceLocation where = SourceLocation::current()) : list_(dims, where) {}

  operator const Shape&() const { return list_; }

 private:
  Shape list_;
};

/// Prints str().
std::ostream& operator<<(std::ostream& out, const Shape& shape);

/// Strides are counted in elements.
using Strides = Shape;

namespace detail {

/// Row-major strides of a shape.
Strides contiguous_strides(const Shape& shape);
/// Strides of an NCHW shape whose memory order is NHWC.
Strides channels_last_strides(const Shape& shape);
/// Whether the strides are row-major (dimensions of size 1 do not count; true if there are no elements).
bool is_contiguous(const Shape& shape, const Strides& strides);
/// Whether the elements fill a block of memory without gaps or overlap, in any order of dimensions.
bool is_dense(const Shape& shape, const Strides& strides);
/// Whether both have the same strides and no gaps, so that element i of one corresponds to element i of the other in
/// memory order.
bool same_dense_layout(const Shape& shape, const Strides& a, const Strides& b);
/// Whether elements share memory, so that they cannot be written to.
bool is_expanded(const Shape& shape, const Strides& strides);
/// Whether the number of elements fits into 64 bits.
bool is_countable(const Shape& shape);
/// Dense strides with the order of dimensions of `like` (equal strides and broadcast dimensions: row-major).
Strides strides_like(const Shape& shape, const Strides& like);

}  // namespace detail
}  // namespace minnow
