#include <minnow/data/detail/csv_parser.h>

#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>
#include <limits>
#include <minnow/tensor/io/detail/json_reader.h>

namespace minnow::data::detail {
namespace {

enum class Number { none, integer, negative_zero, real };

/// Parses a number at `p`, which then is its end.
Number parse_number(const char*& p, const char* end, std::uint64_t& bits) {
  const bool negative = *p == '-';
  const char* const first = negative || *p == '+' ? p + 1 : p;
  if (*first == '-') return Number::none;
  const char* digits_end = first;
  while (static_cast<unsigned char>(*digits_end - '0') < 10) ++digits_end;
  std::int64_t whole = 0;
  const bool is_whole = digits_end != first && *digits_end != '.' && *digits_end != 'e' && *digits_end != 'E';
  if (is_whole && std::from_chars(negative ? p : first, digits_end, whole).ec == std::errc()) {
    p = digits_end;
    bits = static_cast<std::uint64_t>(whole);
    return negative && whole == 0 ? Number::negative_zero : Number::integer;
  }
  double value = 0;
  const auto [at, error] = std::from_chars(first, end, value);
  if (error == std::errc::result_out_of_range) {  // value is unchanged then: does it overflow, or is it too small?
    const char* exponent = std::find_if(first, at, [](char c) { return c == 'e' || c == 'E'; });
    const char* digit = std::find_if(first, exponent, [](char c) { return c >= '1' && c <= '9'; });
    const char* point = std::find(first, exponent, '.');
    const bool small = exponent != at ? exponent[1] == '-' : digit > point;
    value = digit == exponent || small ? 0 : std::numeric_limits<double>::infinity();
  } else if (error != std::errc() || at[-1] == ')') {  // nan(...) is a number of C alone
    return Number::none;
  }
  p = at;
  bits = std::bit_cast<std::uint64_t>(negative ? -value : value);
  return Number::real;
}

class Parser {
 public:
  Parser(const char* begin, const char* end, const CsvSyntax& syntax) : at_(begin), end_(end), syntax_(syntax) {
    const std::size_t columns = syntax.kinds.size();
    part_.kinds = syntax.kinds;
    part_.missing.resize(columns);
    part_.texts.resize(columns);
    part_.negative_zeros.resize(columns);
    part_.not_numbers.resize(columns);
    numbers_are_missing_ = std::any_of(syntax.missing.begin(), syntax.missing.end(), [](const std::string& text) {
      return text.find_first_of("+-.0123456789iI") == 0;
    });
  }

  CsvPart parse() {
    const std::size_t columns = syntax_.kinds.size();
    while (at_ < end_ && !part_.fault.at) {
      if (*at_ == '\n') {
        ++at_;
        continue;
      }
      if (*at_ == '\r' && at_[1] == '\n') {
        at_ += 2;
        continue;
      }
      const std::size_t row = part_.cells.size();
      part_.cells.resize(row + columns);
      const char* const line = at_;
      std::size_t column = 0;
      for (;; ++column) {
        if (column >= columns) {
          fail(line, columns, "more than " + std::to_string(columns) + " fields", std::to_string(columns) + " fields");
          break;
        }
        cell(column, part_.cells[row + column]);
        if (part_.fault.at) break;
        const char stop = *at_++;
        if (stop == '\n') break;
      }
      if (row == 0)  // the lines are about as long as the first
        part_.cells.reserve(static_cast<std::size_t>((end_ - line) / (at_ - line) + 8) * columns * 17 / 16);
      if (!part_.fault.at && column + 1 < columns)
        fail(line, column, std::to_string(column + 1) + (column == 0 ? " field" : " fields"),
             std::to_string(columns) + " fields");
    }
    return std::move(part_);
  }

  std::vector<std::string> line() {
    std::vector<std::string> fields;
    for (;;) {
      const char* const begin = at_;
      const Field field = next_field(fields.size());
      if (!part_.fault.at) require_utf8(begin, fields.size(), field.text);
      if (part_.fault.at) break;
      fields.emplace_back(field.text);
      if (*at_++ == '\n') break;
    }
    return fields;
  }
  const char* at() const { return at_; }
  CsvFault& fault() { return part_.fault; }

 private:
  struct Field {
    std::string_view text;
    bool quoted = false;
  };

  void fail(const char* at, std::size_t column, std::string found, std::string expected) {
    part_.fault = {at, column, std::move(found), std::move(expected)};
  }

  bool ends_field(char c) const { return c == syntax_.separator || c == '\n'; }

  /// The text of a field; at_ is then at the separator or line end after it.
  Field next_field(std::size_t column) {
    if (*at_ == syntax_.quote) return quoted_field(column);
    const char* const begin = at_;
    while (!ends_field(*at_)) {
      if (*at_ == syntax_.quote) {
        fail(at_, column, "a quote within a field that does not begin with one",
             "quotes around the whole field, and doubled ones within it");
        return {};
      }
      ++at_;
    }
    const char* stop = at_;
    if (*at_ == '\n' && stop > begin && stop[-1] == '\r') --stop;
    if (std::find(begin, stop, '\r') != stop)
      fail(std::find(begin, stop, '\r'), column, "a carriage return without a line feed",
           "lines that end with LF or CRLF");
    return {{begin, static_cast<std::size_t>(stop - begin)}, false};
  }

  Field quoted_field(std::size_t column) {
    const char* const open = at_;
    const char* const begin = ++at_;
    std::string* unescaped = nullptr;
    const char* from = begin;
    for (;;) {
      at_ = std::find(at_, end_, syntax_.quote);
      if (at_ == end_) {
        fail(open, column, "a quote that is not closed", "a closing quote");
        return {};
      }
      if (at_ + 1 == end_ || at_[1] != syntax_.quote) break;
      if (!unescaped) unescaped = &part_.unescaped.emplace_back();
      unescaped->append(from, at_ + 1);
      at_ += 2;
      from = at_;
    }
    const char* const close = at_++;
    if (*at_ == '\r' && at_[1] == '\n') ++at_;
    if (!ends_field(*at_)) {
      fail(at_, column, "text after a closing quote", "a separator or the end of the line");
      return {};
    }
    if (!unescaped) return {{begin, static_cast<std::size_t>(close - begin)}, true};
    unescaped->append(from, close);
    return {*unescaped, true};
  }

  bool is_missing(std::string_view text) const {
    return std::find(syntax_.missing.begin(), syntax_.missing.end(), text) != syntax_.missing.end();
  }

  void cell(std::size_t column, std::uint64_t& out) {
    const CsvKind kind = part_.kinds[column];
    if (kind == CsvKind::text) {
      const char* const begin = at_;
      const Field field = next_field(column);
      if (!part_.fault.at) out = text(begin, column, field);
      return;
    }
    const char* p = at_;
    if (const Number number = parse_number(p, end_, out); number != Number::none) {
      const bool missing = numbers_are_missing_ && is_missing({at_, static_cast<std::size_t>(p - at_)});
      if (*p == '\r' && p[1] == '\n') ++p;
      if (ends_field(*p) && !missing) {
        at_ = p;
        store(column, number, out);
        return;
      }
    }
    uncommon(column, out);
  }

  /// A cell of numbers with quotes, spaces, a missing value or other text.
  void uncommon(std::size_t column, std::uint64_t& out) {
    const char* const begin = at_;
    const Field field = next_field(column);
    if (part_.fault.at) return;
    std::string_view text = field.text;
    while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
    while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
    if (!field.quoted && (is_missing(field.text) || is_missing(text))) {
      out = std::bit_cast<std::uint64_t>(std::numeric_limits<double>::quiet_NaN());
      store(column, Number::real, out);
      return;
    }
    scratch_.assign(text);
    const char* p = scratch_.c_str();
    const char* const stop = p + scratch_.size();
    if (const Number number = parse_number(p, stop, out); number != Number::none && p == stop) {
      store(column, number, out);
      return;
    }
    if (!part_.not_numbers[column]) part_.not_numbers[column] = begin;
    out = 0;
  }

  /// Keeps all cells of a column of one kind.  A NaN is a missing value, also where it is written as a number.
  void store(std::size_t column, Number number, std::uint64_t& out) {
    CsvKind& kind = part_.kinds[column];
    const std::size_t columns = part_.kinds.size();
    if (number == Number::negative_zero)
      part_.negative_zeros[column].push_back(static_cast<std::size_t>(&out - part_.cells.data()) / columns);
    if (number != Number::real) {
      if (kind == CsvKind::real)
        out = std::bit_cast<std::uint64_t>(static_cast<double>(static_cast<std::int64_t>(out)));
      return;
    }
    if (std::isnan(std::bit_cast<double>(out))) ++part_.missing[column];
    if (kind == CsvKind::real) return;
    kind = CsvKind::real;
    for (std::uint64_t* earlier = &part_.cells[column]; earlier < &out; earlier += columns)
      *earlier = std::bit_cast<std::uint64_t>(static_cast<double>(static_cast<std::int64_t>(*earlier)));
  }

  void require_utf8(const char* at, std::size_t column, std::string_view text) {
    if (!io::detail::is_utf8(text))
      fail(at, column, "bytes that are not UTF-8", "UTF-8, e.g. by iconv -f ISO-8859-1 -t UTF-8");
  }

  std::uint64_t text(const char* at, std::size_t column, const Field& field) {
    if (!field.quoted && is_missing(field.text)) {
      ++part_.missing[column];
      return static_cast<std::uint64_t>(std::int64_t{-1});
    }
    CsvPart::Texts& texts = part_.texts[column];
    const auto [entry, added] = texts.numbers.try_emplace(field.text, static_cast<std::int64_t>(texts.texts.size()));
    if (added) {
      texts.texts.push_back(field.text);
      require_utf8(at, column, field.text);
    }
    return static_cast<std::uint64_t>(entry->second);
  }

  const char* at_;
  const char* end_;
  const CsvSyntax& syntax_;
  bool numbers_are_missing_ = false;  // -999, say
  CsvPart part_;
  std::string scratch_;
};

}  // namespace

CsvPart parse_csv(const char* begin, const char* end, const CsvSyntax& syntax) {
  return Parser(begin, end, syntax).parse();
}

std::vector<std::string> parse_csv_line(const char*& at, const char* end, const CsvSyntax& syntax, CsvFault& fault) {
  Parser parser(at, end, syntax);
  std::vector<std::string> fields = parser.line();
  at = parser.at();
  fault = parser.fault();
  return fields;
}

std::string csv_excerpt(const char* at, const char* end, const CsvSyntax& syntax) {
  constexpr std::ptrdiff_t kMax = 40;
  const char* stop = std::find_if(at, end, [&](char c) { return c == syntax.separator || c == '\n' || c == '\r'; });
  const bool cut = stop - at > kMax;
  std::string text(at, cut ? at + kMax : stop);
  return "'" + text + (cut ? "...'" : "'");
}

}  // namespace minnow::data::detail
