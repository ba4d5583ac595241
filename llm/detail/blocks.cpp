#include <minnow/llm/detail/blocks.h>

#include <bit>
#include <cstring>
#include <minnow/tensor/half.h>

namespace minnow::llm::detail {
namespace {

float half_at(const std::byte* bytes) {
  float16_t value;
  std::memcpy(static_cast<void*>(&value), bytes, sizeof value);
  return static_cast<float>(value);
}

/// Two numbers in a byte: the lower half is number i, the upper one i + 16.
template <class Value> void nibbles(const std::byte* bytes, float* numbers, const Value& value) {
  for (std::int64_t i = 0; i < kBlock / 2; ++i) {
    const auto byte = std::to_integer<int>(bytes[i]);
    numbers[i] = value(byte & 15);
    numbers[i + kBlock / 2] = value(byte >> 4);
  }
}

}  // namespace

void dequantize(GgufType type, const std::byte* blocks, float* numbers, std::int64_t count) {
  for (std::int64_t i = 0; i < count; i += kBlock, blocks += block_bytes(type), numbers += kBlock) {
    const float d = half_at(blocks);
    if (type == GgufType::q8_0) {
      for (std::int64_t k = 0; k < kBlock; ++k)
        numbers[k] = d * static_cast<float>(std::bit_cast<std::int8_t>(blocks[2 + k]));
    } else if (type == GgufType::q4_0) {
      nibbles(blocks + 2, numbers, [d](int q) { return d * static_cast<float>(q - 8); });
    } else {
      const float m = half_at(blocks + 2);
      nibbles(blocks + 4, numbers, [d, m](int q) { return d * static_cast<float>(q) + m; });
    }
  }
}

}  // namespace minnow::llm::detail
