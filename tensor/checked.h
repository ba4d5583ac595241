#pragma once

#include <cstdint>
#include <limits>

namespace minnow::detail {

// Sizes and strides may be absurd (a dimension of 2^62 beside one of 0): arithmetic on them that is never undefined.

/// a * b modulo 2^64: where the number does not count, or is refused later.
constexpr std::int64_t wrapping_mul(std::int64_t a, std::int64_t b) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) * static_cast<std::uint64_t>(b));
}

constexpr std::int64_t wrapping_add(std::int64_t a, std::int64_t b) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(b));
}

/// a * b of numbers that are not negative, or the largest number that there is.
constexpr std::int64_t saturating_mul(std::int64_t a, std::int64_t b) {
  std::int64_t product = 0;
  return __builtin_mul_overflow(a, b, &product) ? std::numeric_limits<std::int64_t>::max() : product;
}

}  // namespace minnow::detail
