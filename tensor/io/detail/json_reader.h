#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace minnow::io::detail {

/// Why a text is refused.  The reader of the file adds the path.
struct Refusal {
  std::string found, expected;
};

/// Reads JSON from front to back, as strictly as RFC 8259 and without recursion on the input: the caller calls the
/// method for the value that it expects.  Every method skips white space first, and throws Refusal if the text is
/// something else.
class JsonReader {
 public:
  /// The text must outlive the reader.
  explicit JsonReader(std::string_view text) : text_(text) {}

  /// Whether the next character is c, which is then skipped.
  bool accept(char c);
  void expect(char c, const char* what);
  /// Whether the value is null, which is then skipped.
  bool accept_null() { return accept_word("null"); }
  /// A string, unescaped.  The text is valid UTF-8 already.
  std::string string(const char* what);
  /// An integer in [0, 2^63): only digits, no sign, point, exponent or leading zero.
  std::int64_t integer(const char* what);
  /// Any number.
  double number(const char* what);
  bool boolean(const char* what);
  /// The first character of the next value; '\0' at the end.
  char peek();
  /// Skips any value with at most kMaxDepth nested arrays and objects.
  void skip_value();
  /// Checks that only white space follows.
  void end();

  /// Calls on_member(name) for each member of an object; on_member must read the value.
  template <class OnMember> void object(const char* what, OnMember on_member) {
    expect('{', what);
    if (accept('}')) return;
    do {
      std::string name = string("the name of a member");
      expect(':', "':'");
      on_member(std::move(name));
    } while (accept(','));
    expect('}', "',' or '}'");
  }

  /// Calls on_element() for each element of an array; on_element must read it.
  template <class OnElement> void array(const char* what, OnElement on_element) {
    expect('[', what);
    if (accept(']')) return;
    do on_element();
    while (accept(','));
    expect(']', "',' or ']'");
  }

  static constexpr std::size_t kMaxDepth = 16;

 private:
  [[noreturn]] void fail(const char* expected) const;
  void skip_space();
  bool accept_word(std::string_view word);
  void skip_scalar();
  void skip_number();
  void skip_digits();
  unsigned hex4();
  void escape(std::string& out);
  char next() const { return at_ < text_.size() ? text_[at_] : '\0'; }
  bool digit() const { return next() >= '0' && next() <= '9'; }

  std::string_view text_;
  std::size_t at_ = 0;
};

/// Whether the bytes are well-formed UTF-8 (no surrogates, no overlong forms, nothing above U+10FFFF).
bool is_utf8(std::string_view bytes);

/// The text as a quoted JSON string with the necessary escapes only; U+FFFD for each byte that is not UTF-8.
std::string json_quoted(std::string_view text);

}  // namespace minnow::io::detail
