#include <minnow/data/detail/unicode.h>

#include <algorithm>
#include <vector>
#include <minnow/data/detail/unicode_table.h>

namespace minnow::data::detail {
namespace {

struct Range {
  std::uint32_t first, end;
  CharClass kind;
};

std::vector<Range> make_ranges() {
  std::vector<Range> ranges;
  std::uint32_t at = 0;
  const std::uint8_t* byte = kUnicodeTable;
  const auto number = [&] {
    std::uint32_t value = 0;
    for (; *byte < 128; ++byte) value = value << 7 | *byte;
    return value << 7 | (*byte++ & 127U);
  };
  while (byte != std::end(kUnicodeTable)) {
    const std::uint32_t gap = number(), length = number();
    at += gap / 2;
    ranges.push_back({at, at + length, gap % 2 == 0 ? CharClass::letter : CharClass::number});
    at += length;
  }
  return ranges;
}

CharClass class_of(std::uint32_t code) {
  const bool space = (code >= 9 && code <= 13) || code == 0x20 || code == 0x85 || code == 0xa0 || code == 0x1680 ||
                     (code >= 0x2000 && code <= 0x200a) || code == 0x2028 || code == 0x2029 || code == 0x202f ||
                     code == 0x205f || code == 0x3000;
  if (space) return CharClass::space;
  static const auto* ranges = new std::vector<Range>(make_ranges());
  const auto after = std::upper_bound(ranges->begin(), ranges->end(), code,
                                      [](std::uint32_t c, const Range& range) { return c < range.first; });
  return after != ranges->begin() && code < after[-1].end ? after[-1].kind : CharClass::other;
}

}  // namespace

Char char_at(std::string_view text, std::size_t at) {
  const auto byte = [&](std::size_t i) { return static_cast<std::uint32_t>(static_cast<unsigned char>(text[at + i])); };
  const std::uint32_t first = byte(0);
  if (first < 0x80) return {class_of(first), 1, first};
  const std::size_t bytes = first >= 0xf0 && first < 0xf5 ? 4 : first >= 0xe0 ? 3 : 2;
  const Char invalid{CharClass::other, 1, first};
  if (first < 0xc2 || first >= 0xf5 || bytes > text.size() - at) return invalid;
  std::uint32_t code = first & (0xffU >> (bytes + 1));
  for (std::size_t i = 1; i < bytes; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return invalid;
    code = code << 6 | (byte(i) & 0x3f);
  }
  constexpr std::uint32_t kLeast[] = {0, 0, 0x80, 0x800, 0x10000};
  if (code < kLeast[bytes] || code > 0x10ffff || (code >= 0xd800 && code < 0xe000)) return invalid;
  return {class_of(code), bytes, code};
}

}  // namespace minnow::data::detail
