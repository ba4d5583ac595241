#include "errors.h"

#include <algorithm>
#include <gtest/gtest.h>
#include <string>
#include <string_view>
#include <minnow/tensor/error.h>

namespace minnow::test {
namespace {

/// A row may have up to five lines; compilers give the line of the first or the last.
constexpr unsigned kLinesOfRow = 4;

bool is_near(SourceLocation found, SourceLocation row) {
  return found.line + kLinesOfRow >= row.line && found.line <= row.line + kLinesOfRow &&
         std::string_view(found.file) == row.file;
}

std::string fault(const Misuse& m) {
  try {
    m.call();
  } catch (const Error& e) {
    const std::string what = e.what(), head = std::string(m.error) + ": " + m.op + ": ";
    std::string_view file = m.where.file;
    file.remove_prefix(file.find_last_of('/') + 1);
    const std::string place = "  (" + std::string(file) + ":" + std::to_string(e.where().line) + ")";
    if (what.rfind(head, 0) != 0) return "does not begin with '" + head + "':\n" + what;
    if (what.find(m.operand) == std::string::npos) return "does not mention '" + std::string(m.operand) + "':\n" + what;
    if (!is_near(e.where(), m.where) || what.find(place) == std::string::npos) return "is not of this line:\n" + what;
    if (what.rfind(place, what.find('\n')) != what.find(place)) return "has its line twice:\n" + what;
    return "";
  } catch (const std::exception& e) { return std::string("is no Error of minnow's: ") + e.what(); }
  return "does not throw";
}

}  // namespace

void expect_errors(const std::vector<Misuse>& misuses) {
  for (const Misuse& m : misuses)
    if (const std::string found = fault(m); !found.empty())
      ADD_FAILURE_AT(m.where.file, static_cast<int>(m.where.line)) << m.op << ": " << found;
}

}  // namespace minnow::test
