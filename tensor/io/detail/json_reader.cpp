#include <minnow/tensor/io/detail/json_reader.h>

#include <algorithm>
#include <charconv>
#include <limits>
#include <system_error>

namespace minnow::io::detail {
namespace {

constexpr std::string_view kHex = "0123456789abcdef";

void append_utf8(std::string& out, unsigned code) {
  const auto put = [&out](unsigned byte) { out.push_back(static_cast<char>(byte)); };
  if (code < 0x80) {
    put(code);
  } else if (code < 0x800) {
    put(0xc0 | code >> 6);
    put(0x80 | (code & 0x3f));
  } else if (code < 0x10000) {
    put(0xe0 | code >> 12);
    put(0x80 | (code >> 6 & 0x3f));
    put(0x80 | (code & 0x3f));
  } else {
    put(0xf0 | code >> 18);
    put(0x80 | (code >> 12 & 0x3f));
    put(0x80 | (code >> 6 & 0x3f));
    put(0x80 | (code & 0x3f));
  }
}

}  // namespace

void JsonReader::fail(const char* expected) const {
  std::string found = "the end of the text";
  if (at_ < text_.size()) {
    const auto byte = static_cast<unsigned char>(text_[at_]);
    if (byte > 0x20 && byte < 0x7f) found = std::string("'") + text_[at_] + "'";
    else found = std::string("byte 0x") + kHex[byte >> 4] + kHex[byte & 15];
  }
  throw Refusal{found + " at byte " + std::to_string(at_) + " of the header", expected};
}

void JsonReader::skip_space() {
  while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\t' || text_[at_] == '\n' || text_[at_] == '\r'))
    ++at_;
}

bool JsonReader::accept(char c) {
  skip_space();
  if (at_ == text_.size() || text_[at_] != c) return false;
  ++at_;
  return true;
}

void JsonReader::expect(char c, const char* what) {
  if (!accept(c)) fail(what);
}

bool JsonReader::accept_word(std::string_view word) {
  skip_space();
  if (text_.substr(at_, word.size()) != word) return false;
  at_ += word.size();
  return true;
}

void JsonReader::end() {
  skip_space();
  if (at_ != text_.size()) fail("nothing but white space after the object");
}

std::string JsonReader::string(const char* what) {
  expect('"', what);
  std::string out;
  for (;;) {
    if (at_ == text_.size()) fail("the closing quote of a string");
    const char c = text_[at_];
    if (static_cast<unsigned char>(c) < 0x20) fail("control characters in strings to be escaped");
    ++at_;
    if (c == '"') return out;
    if (c == '\\') escape(out);
    else out.push_back(c);
  }
}

void JsonReader::escape(std::string& out) {
  constexpr std::string_view kShort = "\"\\/bfnrt", kMeaning = "\"\\/\b\f\n\r\t";
  if (at_ == text_.size()) fail("an escape");
  const char c = text_[at_];
  if (const auto i = kShort.find(c); i != std::string_view::npos) {
    ++at_;
    out.push_back(kMeaning[i]);
    return;
  }
  if (c != 'u') fail("an escape of JSON");
  ++at_;
  const unsigned unit = hex4();
  if (unit < 0xd800 || unit > 0xdfff) return append_utf8(out, unit);
  if (unit > 0xdbff || text_.substr(at_, 2) != "\\u") fail("surrogates in pairs");
  at_ += 2;
  const unsigned low = hex4();
  if (low < 0xdc00 || low > 0xdfff) fail("surrogates in pairs");
  append_utf8(out, 0x10000 + ((unit - 0xd800) << 10) + (low - 0xdc00));
}

unsigned JsonReader::hex4() {
  unsigned value = 0;
  for (int i = 0; i < 4; ++i, ++at_) {
    const char c = next();
    const auto lower = kHex.find(c >= 'A' && c <= 'F' ? static_cast<char>(c - 'A' + 'a') : c);
    if (lower == std::string_view::npos) fail("four hexadecimal digits");
    value = value * 16 + static_cast<unsigned>(lower);
  }
  return value;
}

std::int64_t JsonReader::integer(const char* what) {
  constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max();
  skip_space();
  if (!digit()) fail(what);
  const bool leading_zero = next() == '0';
  std::int64_t value = next() - '0';
  for (++at_; digit(); ++at_) {
    const std::int64_t d = next() - '0';
    if (leading_zero) fail("an integer without leading zeros");
    if (value > (kMax - d) / 10) fail("an integer below 2^63");
    value = value * 10 + d;
  }
  if (next() == '.' || next() == 'e' || next() == 'E') fail("an integer written with digits only");
  return value;
}

void JsonReader::skip_digits() {
  if (!digit()) fail("a digit");
  while (digit()) ++at_;
}

void JsonReader::skip_number() {
  if (next() == '-') ++at_;
  if (next() == '0') ++at_;
  else skip_digits();
  if (next() == '.') {
    ++at_;
    skip_digits();
  }
  if (next() == 'e' || next() == 'E') {
    ++at_;
    if (next() == '+' || next() == '-') ++at_;
    skip_digits();
  }
}

double JsonReader::number(const char* what) {
  skip_space();
  if (next() != '-' && !digit()) fail(what);
  const std::size_t begin = at_;
  skip_number();
  double value = 0;
  const auto [end, error] = std::from_chars(text_.data() + begin, text_.data() + at_, value);
  if (error != std::errc() || end != text_.data() + at_) fail("a number that a double can hold");
  return value;
}

bool JsonReader::boolean(const char* what) {
  if (accept_word("true")) return true;
  if (!accept_word("false")) fail(what);
  return false;
}

char JsonReader::peek() {
  skip_space();
  return next();
}

void JsonReader::skip_scalar() {
  skip_space();
  if (next() == '"') string("a string");
  else if (next() == '-' || digit()) skip_number();
  else if (!accept_word("true") && !accept_word("false") && !accept_word("null")) fail("a value");
}

void JsonReader::skip_value() {
  std::string closing;  // the closing brackets that are still expected
  const auto member_name = [this] {
    string("the name of a member");
    expect(':', "':'");
  };
  for (;;) {
    const bool object = accept('{');
    if (object || accept('[')) {
      if (closing.size() == kMaxDepth) fail("fewer nested values");
      closing.push_back(object ? '}' : ']');
      if (!accept(closing.back())) {
        if (object) member_name();
        continue;
      }
      closing.pop_back();
    } else {
      skip_scalar();
    }
    for (;;) {
      if (closing.empty()) return;
      if (accept(',')) break;
      expect(closing.back(), closing.back() == '}' ? "',' or '}'" : "',' or ']'");
      closing.pop_back();
    }
    if (closing.back() == '}') member_name();
  }
}

namespace {

/// How many bytes the character at the beginning has; 0 if it is malformed.
std::size_t character_length(std::string_view bytes) {
  const auto at = [&bytes](std::size_t i) { return static_cast<unsigned char>(bytes[i]); };
  const unsigned lead = at(0);
  const std::size_t length = lead < 0x80   ? 1
                             : lead < 0xc2 ? 0
                             : lead < 0xe0 ? 2
                             : lead < 0xf0 ? 3
                             : lead < 0xf5 ? 4
                                           : 0;
  if (length > bytes.size()) return 0;
  for (std::size_t k = 1; k < length; ++k)
    if ((at(k) & 0xc0) != 0x80) return 0;
  if (length >= 3) {
    const unsigned second = at(1);
    const bool overlong = (lead == 0xe0 && second < 0xa0) || (lead == 0xf0 && second < 0x90);
    if (overlong || (lead == 0xed && second > 0x9f) || (lead == 0xf4 && second > 0x8f)) return 0;
  }
  return length;
}

}  // namespace

bool is_utf8(std::string_view bytes) {
  while (!bytes.empty()) {
    const std::size_t length = character_length(bytes);
    if (length == 0) return false;
    bytes.remove_prefix(length);
  }
  return true;
}

std::string json_quoted(std::string_view text) {
  constexpr std::string_view kSpecial = "\"\\\b\f\n\r\t", kLetter = "\"\\bfnrt", kReplacement = "\xef\xbf\xbd";
  std::string out = "\"";
  while (!text.empty()) {
    const auto byte = static_cast<unsigned char>(text[0]);
    const std::size_t length = character_length(text);
    if (const auto i = kSpecial.find(text[0]); i != std::string_view::npos) {
      out.append({'\\', kLetter[i]});
    } else if (byte < 0x20) {
      out.append("\\u00").append({kHex[byte >> 4], kHex[byte & 15]});
    } else {
      out.append(length ? text.substr(0, length) : kReplacement);
    }
    text.remove_prefix(std::max<std::size_t>(1, length));
  }
  return out + '"';
}

}  // namespace minnow::io::detail
