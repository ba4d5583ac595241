#pragma once

#include <cstddef>
#include <cstdint>
#include <minnow/llm/gguf.h>
#include <minnow/tensor/backend/call_parameters.h>
#include <minnow/tensor/in.h>

namespace minnow::llm::detail {

inline constexpr std::int64_t kBlock = 32;  ///< numbers in a block

constexpr bool has_blocks(GgufType type) {
  return type == GgufType::q8_0 || type == GgufType::q4_0 || type == GgufType::q4_1;
}
/// Of a type that has blocks, or of bf16.
constexpr minnow::detail::BlockFormat format_of(GgufType type) {
  using minnow::detail::BlockFormat;
  return type == GgufType::q8_0   ? BlockFormat::q8_0
         : type == GgufType::q4_0 ? BlockFormat::q4_0
         : type == GgufType::q4_1 ? BlockFormat::q4_1
                                  : BlockFormat::bf16;
}

/// The type of which a row of `in` numbers has as many bytes as one of blocks: uint8 [rows, bytes of a row].   layer:
/// for errors.  ShapeError, ValueError.
GgufType type_of_rows(const char* layer, const In& blocks, std::int64_t in);
/// Of a type that has blocks, or of bf16.
const char* name_of(GgufType type);

/// Rounds `count` numbers, a multiple of kBlock, as llama.cpp does.
void quantize(GgufType type, const float* numbers, std::byte* blocks, std::int64_t count);

/// Whether all scales of whole blocks are finite.
bool has_finite_scales(GgufType type, const std::byte* blocks, std::int64_t bytes);

}  // namespace minnow::llm::detail
