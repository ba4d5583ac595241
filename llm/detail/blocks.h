#pragma once

#include <cstddef>
#include <cstdint>
#include <minnow/llm/gguf.h>

namespace minnow::llm::detail {

inline constexpr std::int64_t kBlock = 32;  ///< numbers in a block of q8_0, q4_0 and q4_1

/// Bytes of a block, or of a number where there are no blocks.
constexpr std::int64_t block_bytes(GgufType type) {
  switch (type) {
    case GgufType::f32: return 4;
    case GgufType::f16:
    case GgufType::bf16: return 2;
    case GgufType::q8_0: return 2 + kBlock;
    case GgufType::q4_0: return 2 + kBlock / 2;
    case GgufType::q4_1: return 4 + kBlock / 2;
  }
  return 0;
}
constexpr bool has_blocks(GgufType type) {
  return type == GgufType::q8_0 || type == GgufType::q4_0 || type == GgufType::q4_1;
}

/// The numbers of whole blocks.
void dequantize(GgufType type, const std::byte* blocks, float* numbers, std::int64_t count);

}  // namespace minnow::llm::detail
