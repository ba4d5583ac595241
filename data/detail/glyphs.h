#pragma once

#include <cstdint>
#include <span>
#include <minnow/data/random.h>

namespace minnow::data::detail {

/// Pixels of a digit's side.
inline constexpr int kDigitSide = 28;

/// Draws a digit (0 to 9) into kDigitSide x kDigitSide bytes: strokes on black, distorted at random in shape, place,
/// size, slant, width and brightness, with noise.  Only +, -, *, / and square roots: the same bytes on every machine.
void draw_digit(int digit, Random& random, std::span<std::uint8_t> pixels);

}  // namespace minnow::data::detail
