#include <minnow/text/detail/pieces.h>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <utf8proc.h>
#include <minnow/text/bpe_tokenizer.h>

// The patterns are scanned by hand: no library of regular expressions that is here knows Unicode's categories.
//   gpt2     's|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+
//   smollm   each \p{N} alone, and GPT-2's in what is between
//   llama3   (?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|
//            \s+(?!\S)|\s+
//   qwen2    the same with \p{N}

namespace minnow::text::detail {
namespace {

enum class Kind : std::uint8_t { letter, number, space, other };

struct Char {
  Kind kind;
  std::size_t bytes;
  std::uint32_t code;

  bool breaks_line() const { return code == '\r' || code == '\n'; }
};

/// White_Space, which is more than the category of that name.
bool is_space(std::uint32_t code) {
  return (code >= 9 && code <= 13) || code == 0x85 || code == 0x2028 || code == 0x2029 ||
         utf8proc_category(static_cast<utf8proc_int32_t>(code)) == UTF8PROC_CATEGORY_ZS;
}

/// A byte that is not UTF-8 is an `other`.
Char char_at(std::string_view text, std::size_t at) {
  const auto* bytes = reinterpret_cast<const utf8proc_uint8_t*>(text.data()) + at;
  utf8proc_int32_t code = 0;
  const utf8proc_ssize_t length = utf8proc_iterate(bytes, static_cast<utf8proc_ssize_t>(text.size() - at), &code);
  if (length < 1) return {Kind::other, 1, *bytes};
  const utf8proc_category_t category = utf8proc_category(code);
  const bool letter = category >= UTF8PROC_CATEGORY_LU && category <= UTF8PROC_CATEGORY_LO;
  const bool number = category >= UTF8PROC_CATEGORY_ND && category <= UTF8PROC_CATEGORY_NO;
  const auto value = static_cast<std::uint32_t>(code);
  return {is_space(value) ? Kind::space
          : letter        ? Kind::letter
          : number        ? Kind::number
                          : Kind::other,
          static_cast<std::size_t>(length), value};
}

/// The end of a run of one kind, of at most `most` characters.
std::size_t run_end(std::string_view text, std::size_t at, Kind kind, std::size_t most = std::string_view::npos) {
  for (; at < text.size() && most > 0; --most) {
    const Char c = char_at(text, at);
    if (c.kind != kind) break;
    at += c.bytes;
  }
  return at;
}

/// The end of the spaces at `at`: the last of several belongs to what follows.
std::size_t spaces_end(std::string_view text, std::size_t at) {
  std::size_t end = at, last = at;
  while (end < text.size()) {
    const Char c = char_at(text, end);
    if (c.kind != Kind::space) break;
    last = end;
    end += c.bytes;
  }
  return end < text.size() && last > at ? last : end;
}

std::size_t gpt2_end(std::string_view text, std::size_t at) {
  if (text[at] == '\'')
    for (const std::string_view ending : {"'s", "'t", "'re", "'ve", "'m", "'ll", "'d"})
      if (text.substr(at).starts_with(ending)) return at + ending.size();
  std::size_t begin = at;
  Kind kind = char_at(text, at).kind;
  if (text[at] == ' ' && at + 1 < text.size())
    if (const Kind next = char_at(text, at + 1).kind; next != Kind::space) kind = next, begin = at + 1;
  return kind == Kind::space ? spaces_end(text, at) : run_end(text, begin, kind);
}

/// Without regard to case, where the long s (U+017F) is an s too; 0 if there is none.
std::size_t contraction(std::string_view text) {
  if (text.starts_with("'\xc5\xbf")) return 3;
  const auto lower = [&](std::size_t i) {
    const char c = i < text.size() ? text[i] : '\0';
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  };
  for (const std::string_view ending : {"s", "t", "re", "ve", "m", "ll", "d"})
    if (lower(1) == ending[0] && (ending.size() == 1 || lower(2) == ending[1])) return 1 + ending.size();
  return 0;
}

std::size_t llama3_end(std::string_view text, std::size_t at, std::size_t digits) {
  if (text[at] == '\'')
    if (const std::size_t length = contraction(text.substr(at))) return at + length;
  const Char first = char_at(text, at);
  const std::size_t second = at + first.bytes;
  if (first.kind == Kind::letter) return run_end(text, at, Kind::letter);
  if (first.kind == Kind::number) return run_end(text, at, Kind::number, digits);
  const Kind next = second < text.size() ? char_at(text, second).kind : Kind::space;
  if (!first.breaks_line() && next == Kind::letter) return run_end(text, second, Kind::letter);
  if (first.kind == Kind::other || (text[at] == ' ' && next == Kind::other)) {
    std::size_t end = run_end(text, first.kind == Kind::other ? at : second, Kind::other);
    while (end < text.size() && (text[end] == '\r' || text[end] == '\n')) ++end;
    return end;
  }
  std::size_t lines = at;  // behind the last break of a line among these spaces
  for (std::size_t end = at; end < text.size();) {
    const Char c = char_at(text, end);
    if (c.kind != Kind::space) break;
    end += c.bytes;
    if (c.breaks_line()) lines = end;
  }
  return lines > at ? lines : spaces_end(text, at);
}

}  // namespace

std::array<std::uint32_t, 256> characters_of_bytes() {
  std::array<std::uint32_t, 256> characters{};
  std::uint32_t next = 256;
  for (std::uint32_t byte = 0; byte < 256; ++byte) {
    const bool printed = (byte >= 0x21 && byte <= 0x7e) || (byte >= 0xa1 && byte <= 0xac) || byte >= 0xae;
    characters[byte] = printed ? byte : next++;
  }
  return characters;
}

CodePoint code_point(std::string_view text, std::size_t at) {
  const Char c = char_at(text, at);
  return {c.code, c.bytes};
}

std::size_t piece_end(PreTokenizer pre, std::string_view text, std::size_t at) {
  switch (pre) {
    case PreTokenizer::gpt2: return gpt2_end(text, at);
    case PreTokenizer::llama3: return llama3_end(text, at, 3);
    case PreTokenizer::qwen2: return llama3_end(text, at, 1);
    case PreTokenizer::smollm: break;
  }
  const Char first = char_at(text, at);
  if (first.kind == Kind::number) return at + first.bytes;
  // As if the text ended before the next number: what GPT-2's pattern takes does not reach beyond it, but spaces before
  // it are its end.
  std::size_t end = gpt2_end(text, at);
  if (first.kind != Kind::space) return end;
  if (text[at] == ' ' && at + 1 < text.size() && char_at(text, at + 1).kind == Kind::number) return at + 1;
  const std::size_t all = run_end(text, at, Kind::space);
  return all < text.size() && char_at(text, all).kind == Kind::number ? all : end;
}

std::string nfc(std::string_view text) {
  if (std::all_of(text.begin(), text.end(), [](char c) { return static_cast<unsigned char>(c) < 0x80; }))
    return std::string(text);
  utf8proc_uint8_t* composed = nullptr;
  const utf8proc_ssize_t length =
      utf8proc_map(reinterpret_cast<const utf8proc_uint8_t*>(text.data()), static_cast<utf8proc_ssize_t>(text.size()),
                   &composed, static_cast<utf8proc_option_t>(UTF8PROC_STABLE | UTF8PROC_COMPOSE));
  const std::unique_ptr<utf8proc_uint8_t, decltype(&std::free)> owner(composed, &std::free);
  return length < 0 ? std::string(text)
                    : std::string(reinterpret_cast<const char*>(composed), static_cast<std::size_t>(length));
}

std::size_t torn_bytes(std::string_view text) {
  for (std::size_t back = 1; back <= std::min<std::size_t>(3, text.size()); ++back) {
    const auto byte = static_cast<unsigned char>(text[text.size() - back]);
    if ((byte & 0xc0) == 0x80) continue;
    const std::size_t length = byte >= 0xf0 && byte < 0xf5 ? 4 : byte >= 0xe0 ? 3 : byte >= 0xc2 ? 2 : 1;
    return byte < 0xf5 && length > back ? back : 0;
  }
  return 0;
}

}  // namespace minnow::text::detail
