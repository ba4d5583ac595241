#include <minnow/llm/detail/blocks.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <fmt/format.h>
#include <minnow/tensor/error.h>
#include <minnow/tensor/half.h>

namespace minnow::llm::detail {
namespace {

void put(float value, std::byte* to) {
  const float16_t half(value);
  std::memcpy(to, static_cast<const void*>(&half), sizeof half);
}

int nearest(float value, float least, float most) {
  return static_cast<int>(std::lround(std::clamp(value, least, most)));
}

/// 4 bits each: number i in the lower half of byte i, number i + 16 in its upper half.
template <class Value> void put_nibbles(std::byte* to, const Value& value) {
  for (std::int64_t i = 0; i < kBlock / 2; ++i) to[i] = static_cast<std::byte>(value(i) | value(i + kBlock / 2) << 4);
}

/// f32 if there is none.
GgufType type_of(std::int64_t row_bytes, std::int64_t in) {
  for (const GgufType type : {GgufType::q8_0, GgufType::q4_0, GgufType::q4_1, GgufType::bf16})
    if (in % kBlock == 0 && row_bytes == in / kBlock * block_bytes(format_of(type))) return type;
  return GgufType::f32;
}

}  // namespace

GgufType type_of_rows(const char* layer, const In& blocks, std::int64_t in) {
  if (blocks->dim() != 2 || blocks->dtype() != DType::uint8)
    throw ShapeError(
        fmt::format("{}: blocks must be uint8 [rows, bytes of a row], got {}", layer, blocks->shape().str()),
        blocks.where);
  const GgufType type = type_of(blocks->size(1), in);
  if (type == GgufType::f32)
    throw ValueError(fmt::format("{}: rows of {} bytes are no blocks of {} numbers\ngive those of quantize()", layer,
                                 blocks->size(1), in),
                     blocks.where);
  return type;
}

const char* name_of(GgufType type) {
  return type == GgufType::q8_0 ? "q8_0" : type == GgufType::q4_0 ? "q4_0" : type == GgufType::q4_1 ? "q4_1" : "bf16";
}

void quantize(GgufType type, const float* x, std::byte* to, std::int64_t count) {
  const std::int64_t bytes = block_bytes(format_of(type));
  for (; count > 0; count -= kBlock, x += kBlock, to += bytes) {
    const auto [low, high] = std::minmax_element(x, x + kBlock);
    const float largest = -*low > *high ? *low : *high;
    if (type == GgufType::bf16) {
      for (std::int64_t i = 0; i < kBlock; ++i) {
        const bfloat16_t value(x[i]);
        std::memcpy(to + 2 * i, static_cast<const void*>(&value), sizeof value);
      }
    } else if (type == GgufType::q8_0) {
      const float d = std::abs(largest) / 127, by = d > 0 ? 1 / d : 0;
      put(d, to);
      for (std::int64_t i = 0; i < kBlock; ++i)
        to[2 + i] = static_cast<std::byte>(static_cast<std::int8_t>(nearest(x[i] * by, -127, 127)));
    } else if (type == GgufType::q4_0) {
      const float d = largest / -8, by = d != 0 ? 1 / d : 0;
      put(d, to);
      put_nibbles(to + 2, [&](std::int64_t i) { return nearest(x[i] * by + 8, 0, 15); });
    } else {
      const float d = (*high - *low) / 15, by = d > 0 ? 1 / d : 0;
      put(d, to);
      put(*low, to + 2);
      put_nibbles(to + 4, [&, least = *low](std::int64_t i) { return nearest((x[i] - least) * by, 0, 15); });
    }
  }
}

bool has_finite_scales(GgufType type, const std::byte* blocks, std::int64_t bytes) {
  const std::int64_t each = block_bytes(format_of(type)), scales = type == GgufType::q4_1 ? 2 : 1;
  for (std::int64_t at = 0; at < bytes; at += each)
    for (std::int64_t i = 0; i < scales; ++i) {
      std::uint16_t bits;
      std::memcpy(&bits, blocks + at + 2 * i, sizeof bits);
      if ((bits & 0x7c00U) == 0x7c00U) return false;
    }
  return true;
}

}  // namespace minnow::llm::detail
