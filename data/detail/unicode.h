#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace minnow::data::detail {

enum class CharClass : std::uint8_t { letter, number, space, other };

/// The class of the character at `at`, and how many bytes it has; a byte that is not UTF-8 is an `other` of one.
struct Char {
  CharClass kind;
  std::size_t bytes;
  std::uint32_t code;
};
Char char_at(std::string_view text, std::size_t at);

}  // namespace minnow::data::detail
