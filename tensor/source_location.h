#pragma once

namespace minnow {

/// The line of the user's program that called an operation.  As a defaulted argument of a public function it is
/// evaluated at the caller.  (std::source_location is missing with clang 14 and libstdc++ 12.)
struct SourceLocation {
  const char* file = "";
  unsigned line = 0;

  static constexpr SourceLocation current(const char* file = __builtin_FILE(), unsigned line = __builtin_LINE()) {
    return {file, line};
  }
};

}  // namespace minnow
