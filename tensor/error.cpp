#include <minnow/tensor/error.h>

#include <minnow/tensor/internal.h>
#include <minnow/tensor/text.h>

namespace minnow {
namespace {

/// Shows control characters as \x00: names, paths and device strings may contain any bytes, and a NUL would cut off
/// what().
std::string printable(std::string text) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  for (std::size_t at = 0; at < text.size(); ++at) {
    const auto byte = static_cast<unsigned char>(text[at]);
    if ((byte >= 0x20 && byte != 0x7F) || byte == '\n' || byte == '\t') continue;
    text.replace(at, 1, {'\\', 'x', kDigits[byte >> 4], kDigits[byte & 15]});
    at += 3;
  }
  return text;
}

/// Puts "  (train.cpp:42)" at the end of the text's first line.
std::string compose(std::string_view kind, std::string_view text, SourceLocation where) {
  const auto eol = std::min(text.find('\n'), text.size());
  std::string what{kind};
  what.append(": ").append(text.substr(0, eol));
  if (where.file[0] != '\0') what.append("  (").append(detail::file_and_line(where)).append(")");
  return printable(what.append(text.substr(eol)));
}

}  // namespace

Error::Error(std::string_view kind, std::string_view text, SourceLocation where)
    : std::runtime_error(compose(kind, text, CallSite::where_or(where))), where_(CallSite::where_or(where)) {}

}  // namespace minnow
