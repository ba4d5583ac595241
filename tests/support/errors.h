#pragma once

#include <cstdint>
#include <functional>
#include <utility>
#include <vector>
#include <minnow/tensor/source_location.h>

namespace minnow::test {

/// A bad input, and its error.  One row a case, so that the row's line is the line of the call:
///
///     Misuse{"ShapeError", "matmul", "float32[2, 3]", [] { matmul(ones({2, 3}), ones({4})); }},
struct Misuse {
  template <class F>
  Misuse(const char* class_name, const char* op_name, const char* shown, F f,
         SourceLocation l = SourceLocation::current())
      : error(class_name), op(op_name), operand(shown), call(std::move(f)), where(l) {}

  // What the text must begin with, "error: op: ", and hold.
  const char* error;    ///< the class
  const char* op;       ///< what follows it: "ShapeError: matmul: ..."
  const char* operand;  ///< what the text must contain
  std::function<void()> call;
  SourceLocation where;
};

// Operands, as errors show them.
inline constexpr const char* kUndefined = "undefined tensor";
inline constexpr const char* kShown = "float32[2, 3] on cpu";  ///< zeros({2, 3})
inline constexpr std::int64_t kHuge = std::int64_t{1} << 40;   ///< a size without memory for it

/// Runs all of them: each must throw an Error with that class, operation and operand, and the file and line of the row.
void expect_errors(const std::vector<Misuse>& misuses);

}  // namespace minnow::test
