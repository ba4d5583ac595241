#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace minnow::data::detail {

enum class CsvKind : std::uint8_t { integer, real, text };

/// What all parts of a file are parsed with.
struct CsvSyntax {
  char separator, quote;
  std::vector<std::string> missing;
  std::vector<CsvKind> kinds;  // text, or a number that may become real
};

/// Where a part of a file cannot be parsed, and why.
struct CsvFault {
  const char* at = nullptr;
  std::size_t column = 0;
  std::string found, expected;
};

/// Some lines of a file, parsed.  Cells are in row-major order: an int64, a double, or an index into `texts`.
struct CsvPart {
  struct Texts {
    std::vector<std::string_view> texts;
    std::unordered_map<std::string_view, std::int64_t> numbers;
  };

  std::vector<std::uint64_t> cells;
  std::vector<CsvKind> kinds;
  std::vector<std::int64_t> missing;                     // for each column
  std::vector<Texts> texts;                              // for each column
  std::vector<std::vector<std::size_t>> negative_zeros;  // for each column: rows of -0, which an int64 does not hold
  std::vector<const char*> not_numbers;  // the first text in a column of numbers; nullptr if there is none
  std::deque<std::string> unescaped;     // texts whose quotes were doubled
  CsvFault fault;                        // parsing stopped here if fault.at is set
};

/// Parses lines; `end[-1]` is a line end.
CsvPart parse_csv(const char* begin, const char* end, const CsvSyntax& syntax);

/// The fields of the line at `at`, which is then the beginning of the next line; for names.
std::vector<std::string> parse_csv_line(const char*& at, const char* end, const CsvSyntax& syntax, CsvFault& fault);

/// The first `bytes` of a field's text, for errors.
std::string csv_excerpt(const char* at, const char* end, const CsvSyntax& syntax);

}  // namespace minnow::data::detail
