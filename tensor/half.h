#pragma once

#include <bit>
#include <cstdint>

namespace minnow {

/// IEEE binary16.  A storage type: arithmetic is done in float.  Conversion from float rounds to nearest
/// even.
struct float16_t {
  std::uint16_t bits = 0;

  constexpr float16_t() = default;
  constexpr explicit float16_t(float value) : bits(from_float(value)) {}
  static constexpr float16_t from_bits(std::uint16_t b) {
    float16_t h;
    h.bits = b;
    return h;
  }

  constexpr operator float() const {
    const std::uint32_t sign = std::uint32_t{bits & 0x8000u} << 16;
    const std::uint32_t magnitude = bits & 0x7fffu;
    if (magnitude >= 0x7c00u) return std::bit_cast<float>(sign | 0x7f800000u | ((magnitude & 0x3ffu) << 13));
    // A subnormal is a whole number of 2^-24, else the exponent's bias moves from 15 to 127.  (Shifted subnormals are
    // those of float, whose products take 40 ns.)
    const float small = static_cast<float>(static_cast<std::int32_t>(magnitude)) * 0x1p-24f;
    const std::uint32_t absolute =
        magnitude < 0x400u ? std::bit_cast<std::uint32_t>(small) : (magnitude << 13) + 0x38000000u;
    return std::bit_cast<float>(absolute | sign);
  }

 private:
  static constexpr std::uint16_t from_float(float value) {
    const std::uint32_t f = std::bit_cast<std::uint32_t>(value);
    const std::uint32_t sign = (f >> 16) & 0x8000u;
    const std::uint32_t magnitude = f & 0x7fffffffu;
    if (magnitude > 0x7f800000u) return static_cast<std::uint16_t>(sign | 0x7e00u);
    if (magnitude >= 0x47800000u) return static_cast<std::uint16_t>(sign | 0x7c00u);
    if (magnitude < 0x38800000u) {  // subnormal or zero: let the float addition round
      const float shifted = std::bit_cast<float>(magnitude) + 0.5f;
      return static_cast<std::uint16_t>(sign | (std::bit_cast<std::uint32_t>(shifted) - 0x3f000000u));
    }
    const std::uint32_t rounded = magnitude - 0x38000000u + 0xfffu + ((magnitude >> 13) & 1u);
    return static_cast<std::uint16_t>(sign | (rounded >> 13));
  }
};

/// The upper half of a binary32.  A storage type: arithmetic is done in float.  Conversion rounds to nearest
/// even.
struct bfloat16_t {
  std::uint16_t bits = 0;

  constexpr bfloat16_t() = default;
  constexpr explicit bfloat16_t(float value) : bits(from_float(value)) {}
  static constexpr bfloat16_t from_bits(std::uint16_t b) {
    bfloat16_t h;
    h.bits = b;
    return h;
  }

  constexpr operator float() const { return std::bit_cast<float>(std::uint32_t{bits} << 16); }

 private:
  static constexpr std::uint16_t from_float(float value) {
    const std::uint32_t f = std::bit_cast<std::uint32_t>(value);
    if ((f & 0x7fffffffu) > 0x7f800000u) return static_cast<std::uint16_t>((f >> 16) | 0x40u);
    return static_cast<std::uint16_t>((f + 0x7fffu + ((f >> 16) & 1u)) >> 16);
  }
};

}  // namespace minnow
