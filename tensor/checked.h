#pragma once

#include <cstdint>
#include <limits>

namespace minnow::detail {

// Arithmetic without undefined behavior for sizes and strides, whose products may overflow (2^62 beside 0).

/// a * b modulo 2^64, for results that are not used or are refused later.
constexpr std::int64_t wrapping_mul(std::int64_t a, std::int64_t b) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) * static_cast<std::uint64_t>(b));
}

constexpr std::int64_t wrapping_add(std::int64_t a, std::int64_t b) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(b));
}

/// a * b for non-negative numbers, or the largest std::int64_t if it overflows.
constexpr std::int64_t saturating_mul(std::int64_t a, std::int64_t b) {
  std::int64_t product = 0;
  return __builtin_mul_overflow(a, b, &product) ? std::numeric_limits<std::int64_t>::max() : product;
}

}  // namespace minnow::detail
