#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace minnow::text {
enum class PreTokenizer : std::uint8_t;
}

namespace minnow::text::detail {

/// The character that stands for a byte in GPT-2's files: itself where it can be printed, else one from U+0100 on.
std::array<std::uint32_t, 256> characters_of_bytes();

/// The character at `at` and its length; a byte that is not UTF-8 counts as a character.
struct CodePoint {
  std::uint32_t code;
  std::size_t bytes;
};
CodePoint code_point(std::string_view text, std::size_t at);

/// The end of the piece that begins at `at`, as the patterns of PreTokenizer say.
std::size_t piece_end(PreTokenizer pre, std::string_view text, std::size_t at);

/// Normalization form C; the text itself if it is not UTF-8.
std::string nfc(std::string_view text);

/// How many bytes at the end are the beginning of a character that goes on.
std::size_t torn_bytes(std::string_view text);

}  // namespace minnow::text::detail
