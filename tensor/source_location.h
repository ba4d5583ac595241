#pragma once

namespace minnow {

/// The place in the user's program that called an operation.  As the last, defaulted argument of a public
/// function it is evaluated at the caller.  (std::source_location is missing with clang 14 and libstdc++ 12.)
struct SourceLocation {
  const char* file = "";
  unsigned line = 0;

  static constexpr SourceLocation current(const char* file = __builtin_FILE(), unsigned line = __builtin_LINE()) {
    return {file, line};
  }
};

}  // namespace minnow
