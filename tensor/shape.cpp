#include <minnow/tensor/shape.h>

#include <numeric>
#include <ostream>
#include <minnow/tensor/checked.h>
#include <minnow/tensor/error.h>
#include <minnow/tensor/internal.h>
#include <minnow/tensor/text.h>

namespace minnow {
namespace {

[[noreturn]] void too_many(std::size_t rank, SourceLocation where) {
  throw ShapeError("Shape: " + std::to_string(rank) + " dimensions are more than the maximum of " +
                       std::to_string(kMaxRank) + "\njoin some of them, e.g. by reshape or flatten",
                   where);
}

[[noreturn]] void no_place(const char* op, int at, const Shape& shape, SourceLocation where) {
  throw IndexError(std::string(op) + ": index " + std::to_string(at) + " is out of range\n  shape  " + shape.str() +
                       "\nindices are counted from 0, not from the end",
                   where);
}

}  // namespace

Shape::Shape(std::span<const std::int64_t> sizes, SourceLocation where) : rank_(static_cast<int>(sizes.size())) {
  if (sizes.size() > kMaxRank) too_many(sizes.size(), where);
  std::copy(sizes.begin(), sizes.end(), sizes_);
}

Shape Shape::filled(int rank, std::int64_t value, SourceLocation where) {
  if (rank < 0)
    throw ShapeError(
        "Shape: the rank must be 0 or more, got " + std::to_string(rank) + "\ngive 0 to " + std::to_string(kMaxRank),
        where);
  if (rank > kMaxRank) too_many(static_cast<std::size_t>(rank), where);
  Shape s;
  s.rank_ = rank;
  std::fill(s.begin(), s.end(), value);
  return s;
}

void Shape::push_back(std::int64_t value, SourceLocation where) { insert(rank_, value, where); }

void Shape::insert(int at, std::int64_t value, SourceLocation where) {
  if (rank_ == kMaxRank) too_many(kMaxRank + 1, where);
  if (at < 0 || at > rank_) no_place("Shape::insert", at, *this, where);
  std::copy_backward(sizes_ + at, sizes_ + rank_, sizes_ + rank_ + 1);
  sizes_[at] = value;
  ++rank_;
}

void Shape::erase(int at, SourceLocation where) {
  if (at < 0 || at >= rank_) no_place("Shape::erase", at, *this, where);
  std::copy(sizes_ + at + 1, sizes_ + rank_, sizes_ + at);
  --rank_;
}

bool operator==(const Shape& a, const Shape& b) {
  if (a.rank_ != b.rank_) return false;
  for (int d = 0; d < a.rank_; ++d)  // few elements: faster than std::equal, which calls memcmp
    if (a.sizes_[d] != b.sizes_[d]) return false;
  return true;
}

std::int64_t Shape::numel() const {
  // 0 if a size is 0, also beside sizes whose product overflows; creation refuses other products that overflow.
  std::uint64_t product = 1;
  for (const std::int64_t size : *this) {
    if (size == 0) return 0;
    product *= static_cast<std::uint64_t>(size);
  }
  return static_cast<std::int64_t>(product);
}

std::string Shape::str() const {
  std::string text = "[";
  for (int i = 0; i < rank_; ++i) text.append(i ? ", " : "").append(std::to_string(sizes_[i]));
  return text + "]";
}

std::ostream& operator<<(std::ostream& out, const Shape& shape) {
  write_text(out, shape.str());
  return out;
}

namespace detail {

Strides contiguous_strides(const Shape& shape) {
  // Wrapping, because this is called before creation refuses shapes that are too large.
  Strides strides = shape;
  std::int64_t step = 1;
  for (int d = shape.rank() - 1; d >= 0; --d) {
    strides[d] = step;
    step = wrapping_mul(step, std::max<std::int64_t>(shape[d], 1));
  }
  return strides;
}

Strides channels_last_strides(const Shape& shape) {
  const std::int64_t c = shape[1], h = shape[2], w = shape[3];
  return {wrapping_mul(wrapping_mul(h, w), c), 1, wrapping_mul(w, c), c};
}

bool is_contiguous(const Shape& shape, const Strides& strides) {
  std::int64_t step = 1;
  for (int d = shape.rank() - 1; d >= 0; --d) {
    if (shape[d] == 0) return true;
    if (shape[d] == 1) continue;
    if (strides[d] != step) return shape.numel() == 0;
    step = wrapping_mul(step, shape[d]);
  }
  return true;
}

bool is_dense(const Shape& shape, const Strides& strides) {
  if (is_contiguous(shape, strides)) return true;
  int order[kMaxRank];
  std::iota(order, order + shape.rank(), 0);
  std::stable_sort(order, order + shape.rank(), [&](int a, int b) { return strides[a] < strides[b]; });
  std::int64_t step = 1;
  for (int i = 0; i < shape.rank(); ++i) {
    const int d = order[i];
    if (shape[d] == 0) return true;
    if (shape[d] == 1) continue;
    if (strides[d] != step) return false;
    step = wrapping_mul(step, shape[d]);
  }
  return true;
}

bool same_dense_layout(const Shape& shape, const Strides& a, const Strides& b) {
  if (is_contiguous(shape, a) && is_contiguous(shape, b)) return true;
  return a == b && is_dense(shape, a);
}

bool is_expanded(const Shape& shape, const Strides& strides) {
  for (int d = 0; d < shape.rank(); ++d)
    if (strides[d] == 0 && shape[d] > 1) return true;
  return false;
}

bool is_countable(const Shape& shape) {
  std::int64_t product = 1;
  bool fits = true;
  for (const std::int64_t size : shape) fits &= !__builtin_mul_overflow(product, size, &product);
  return fits || std::find(shape.begin(), shape.end(), 0) != shape.end();
}

Strides strides_like(const Shape& shape, const Strides& like) {
  const int rank = shape.rank();
  if (like.rank() != rank) return contiguous_strides(shape);
  int order[kMaxRank];
  std::iota(order, order + rank, 0);
  for (int i = 1; i < rank; ++i) {
    // Insertion sort, outermost first, among those that have a stride and a size other than 1.
    const auto informative = [&](int d) { return shape[d] != 1 && like[d] != 0; };
    for (int at = i, j = i - 1; j >= 0 && informative(order[at]); --j) {
      if (!informative(order[j])) continue;
      if (like[order[j]] >= like[order[at]]) break;
      std::swap(order[j], order[at]);
      at = j;
    }
  }
  Strides strides = shape;
  std::int64_t step = 1;
  for (int i = rank - 1; i >= 0; --i) {
    strides[order[i]] = step;
    step = wrapping_mul(step, std::max<std::int64_t>(shape[order[i]], 1));
  }
  return strides;
}

}  // namespace detail
}  // namespace minnow
