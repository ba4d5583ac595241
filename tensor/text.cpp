#include <minnow/tensor/text.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cxxabi.h>
#include <memory>
#include <ostream>
#include <minnow/tensor/internal.h>

namespace minnow::detail {

std::string type_name(const std::type_info& type) {
  int status = 0;
  const std::unique_ptr<char, decltype(&std::free)> text(abi::__cxa_demangle(type.name(), nullptr, nullptr, &status),
                                                         &std::free);
  std::string name = text ? text.get() : type.name();
  // The part after the last :: outside of brackets.
  int depth = 0;
  for (std::size_t i = name.size(); i-- > 0;) {
    if (name[i] == '>' || name[i] == ')') ++depth;
    if (name[i] == '<' || name[i] == '(') --depth;
    if (depth == 0 && name[i] == ':') return name.substr(i + 1);
  }
  return name;
}

namespace {

void put(std::ostream& out, std::string_view text) {
  const auto size = static_cast<std::streamsize>(text.size());
  try {
    if (out.rdbuf()->sputn(text.data(), size) == size) return;
  } catch (...) {
    try {
      out.setstate(std::ios_base::badbit);
    } catch (const std::ios_base::failure&) {}  // the buffer's exception is more specific
    throw;
  }
  out.setstate(std::ios_base::badbit);
}

}  // namespace

std::string format_bytes(std::int64_t bytes) {
  static constexpr const char* kUnits[] = {"B", "kB", "MB", "GB", "TB"};
  double value = static_cast<double>(bytes);
  int unit = 0;
  for (; value >= 1000 && unit < 4; ++unit) value /= 1000;
  char text[32];
  std::snprintf(text, sizeof text, unit ? "%.1f %s" : "%.0f %s", value, kUnits[unit]);
  return text;
}

std::string file_and_line(SourceLocation where) {
  const std::string_view file = where.file;
  if (file.empty()) return "(unknown line)";
  return std::string(file.substr(file.find_last_of("/\\") + 1)) + ":" + std::to_string(where.line);
}

void write_text(std::ostream& out, std::string_view text) {
  const std::ostream::sentry ready(out);
  if (!ready) return;
  const auto width = static_cast<std::size_t>(std::max<std::streamsize>(out.width(0), 0));
  const std::string fill(width - std::min(width, text.size()), out.fill());
  const bool left = (out.flags() & std::ios_base::adjustfield) == std::ios_base::left;
  if (!left) put(out, fill);
  put(out, text);
  if (left) put(out, fill);
}

}  // namespace minnow::detail
