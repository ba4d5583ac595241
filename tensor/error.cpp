#include <minnow/tensor/error.h>

namespace minnow {
namespace {

/// "  (train.cpp:42)" is put at the end of the text's first line.
std::string compose(std::string_view kind, std::string_view text, SourceLocation where) {
  std::string_view file = where.file;
  file = file.substr(file.find_last_of('/') + 1);
  const auto eol = std::min(text.find('\n'), text.size());
  std::string what{kind};
  what.append(": ").append(text.substr(0, eol));
  if (!file.empty()) what.append("  (").append(file).append(":").append(std::to_string(where.line)).append(")");
  return what.append(text.substr(eol));
}

thread_local const char* composed = nullptr;

}  // namespace

Composed::Composed(const char* op) noexcept : outermost_(!composed) {
  if (outermost_) composed = op;
}

Composed::~Composed() {
  if (outermost_) composed = nullptr;
}

std::string_view Composed::name(std::string_view op) noexcept { return composed ? composed : op; }

Error::Error(std::string_view kind, std::string_view text, SourceLocation where)
    : std::runtime_error(compose(kind, text, where)), where_(where) {}

}  // namespace minnow
