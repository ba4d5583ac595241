#pragma once

#include <cstdint>
#include <span>
#include <minnow/data/random.h>

namespace minnow::data::detail {

/// Height and width of a digit in pixels.
inline constexpr int kDigitSide = 28;

/// Draws a digit (0 to 9) into kDigitSide x kDigitSide bytes: strokes on black, with random shape, position, size,
/// slant, width and brightness, and noise.  Uses +, -, *, / and square roots alone: the bytes are the same on every
/// machine.
void draw_digit(int digit, Random& random, std::span<std::uint8_t> pixels);

}  // namespace minnow::data::detail
