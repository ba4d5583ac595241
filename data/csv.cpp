#include <minnow/data/csv.h>

#include <algorithm>
#include <bit>
#include <cctype>
#include <cstring>
#include <fmt/format.h>
#include <memory>
#include <new>
#include <minnow/data/detail/byte_reader.h>
#include <minnow/data/detail/csv_parser.h>
#include <minnow/data/detail/host.h>
#include <minnow/data/detail/parallel.h>
#include <minnow/data/detail/table.h>
#include <minnow/tensor/checked.h>
#include <minnow/tensor/error.h>
#include <minnow/tensor/internal.h>
#include <minnow/tensor/runtime/threads.h>

namespace minnow::data {
namespace {

using detail::CsvFault;
using detail::CsvKind;
using detail::CsvPart;
using detail::CsvSyntax;
using detail::list_of;

constexpr std::size_t kMinPerPart = std::size_t{1} << 18;  // bytes
constexpr std::size_t kGuessed = std::size_t{1} << 16;     // bytes from which the kinds of columns are guessed

/// The content of a file, ending with a line end.
struct Text {
  std::unique_ptr<char[]> memory;
  std::size_t size = 0;
  const char* begin() const { return memory.get(); }
  const char* end() const { return memory.get() + size; }
};

Text read_text(const std::string& path, SourceLocation where) {
  const auto reader = detail::open_bytes(path, where);
  constexpr std::size_t kFirst = std::size_t{1} << 20;
  const std::uint64_t most = reader->max_size();
  std::size_t space = static_cast<std::size_t>(std::min<std::uint64_t>(most, std::uint64_t{1} << 40)) + 1;
  const bool packed = path.ends_with(".gz");
  if (packed) space = std::min(space, kFirst);
  Text text;
  text.memory = std::make_unique_for_overwrite<char[]>(space + 1);
  for (;;) {
    text.size += reader->read({reinterpret_cast<std::uint8_t*>(text.memory.get()) + text.size, space - text.size});
    if (text.size < space) break;
    auto larger = std::make_unique_for_overwrite<char[]>(2 * space + 1);
    std::memcpy(larger.get(), text.memory.get(), text.size);
    text.memory = std::move(larger);
    space *= 2;
  }
  reader->finish();
  if (text.size > 0 && text.end()[-1] != '\n') text.memory[text.size++] = '\n';
  return text;
}

/// Where messages say a fault is.
class Place {
 public:
  Place(const std::string& path, const char* begin, const std::vector<std::string>& names, SourceLocation where)
      : path_(path), begin_(begin), names_(names), where_(where) {}

  [[noreturn]] void refuse(const CsvFault& fault, const std::string& hint) const {
    const auto line = 1 + std::count(begin_, fault.at, '\n');
    std::string column = std::to_string(fault.column + 1);
    if (fault.column < names_.size()) column += " '" + names_[fault.column] + "'";
    throw FormatError(fmt::format("read_csv: '{}' line {}, column {}: found {}\n  expected  {}\n{}", path_, line,
                                  column, fault.found, fault.expected, hint),
                      where_);
  }

 private:
  const std::string& path_;
  const char* begin_;
  const std::vector<std::string>& names_;
  SourceLocation where_;
};

constexpr const char* kHintSyntax = "correct the file, or give the separator and quote that it uses";

void check(const CsvOptions& options, SourceLocation where) {
  const auto allowed = [](char c) {
    return c != '\n' && c != '\r' && c != '\0' && !std::isalnum(static_cast<unsigned char>(c)) && c != '.' &&
           c != '-' && c != '+';
  };
  if (!allowed(options.separator) || !allowed(options.quote) || options.separator == options.quote)
    throw ValueError(
        "read_csv: separator and quote must differ, and be neither letters, digits, line ends nor one of "
        ".-+\ne.g. {.separator = ';'}",
        where);
}

/// Refuses what is not text, by its first bytes.
void check_text(const std::string& path, const Text& text, SourceLocation where) {
  const auto refuse = [&](const std::string& found, const char* hint) {
    throw FormatError("read_csv: '" + path + "': found " + found + "\n  expected  text\n" + hint, where);
  };
  if (text.size == 0) refuse("an empty file", "it needs a line with the names of its columns, or with values");
  const std::string_view head(text.begin(), std::min<std::size_t>(text.size, 4));
  if (head.starts_with("\xff\xfe") || head.starts_with("\xfe\xff")) refuse("UTF-16", "save it as UTF-8");
  if (head.starts_with("PK\x03\x04")) refuse("a zip archive, or a spreadsheet", "unpack it, or export it as CSV");
  if (const void* zero = std::memchr(text.begin(), 0, text.size))
    refuse("a zero byte on line " + std::to_string(1 + std::count(text.begin(), static_cast<const char*>(zero), '\n')),
           "the file is binary or damaged");
}

/// Where the parts of a text begin, at the beginnings of lines that are not within quotes; the last is the end.
std::vector<const char*> cut(const char* begin, const char* end, char quote, std::size_t parts) {
  std::vector<const char*> cuts{begin};
  const bool quotes = std::memchr(begin, quote, static_cast<std::size_t>(end - begin)) != nullptr;
  const char* counted = begin;
  bool open = false;
  for (std::size_t k = 1; k < parts; ++k) {
    const char* at = begin + (end - begin) / static_cast<std::ptrdiff_t>(parts) * static_cast<std::ptrdiff_t>(k);
    if (at <= cuts.back()) continue;
    if (quotes) open = open != (std::count(counted, at, quote) % 2 != 0);
    while (at < end && (open || *at != '\n')) open = open != (*at++ == quote);
    counted = at;
    if (at == end) break;
    cuts.push_back(at + 1);
  }
  cuts.push_back(end);
  return cuts;
}

std::vector<CsvPart> parse(const std::vector<const char*>& cuts, const CsvSyntax& syntax) {
  std::vector<CsvPart> parts(cuts.size() - 1);
  detail::run_parts(static_cast<int>(parts.size()), [&](int k) {
    const auto i = static_cast<std::size_t>(k);
    parts[i] = detail::parse_csv(cuts[i], cuts[i + 1], syntax);
  });
  return parts;
}

/// Parses all lines.  A column of numbers in which another text is found becomes one of categories.
std::vector<CsvPart> parse_all(const char* begin, const char* end, CsvSyntax& syntax, const Place& place,
                               const std::vector<bool>& must_be_number) {
  const auto size = static_cast<std::size_t>(end - begin);
  const std::size_t threads = static_cast<std::size_t>(num_threads());
  const std::vector<const char*> cuts =
      cut(begin, end, syntax.quote, std::clamp<std::size_t>(size / kMinPerPart, 1, threads));
  const auto reconsider = [&](const CsvPart& part) {
    bool changed = false;
    for (std::size_t c = 0; c < syntax.kinds.size(); ++c) {
      if (!part.not_numbers[c] || must_be_number[c]) continue;
      changed = changed || syntax.kinds[c] != CsvKind::text;
      syntax.kinds[c] = CsvKind::text;
    }
    return changed;
  };
  if (size > 2 * kGuessed) {
    const auto* few = static_cast<const char*>(std::memchr(begin + kGuessed, '\n', size - kGuessed));
    reconsider(detail::parse_csv(begin, few + 1, syntax));  // faults are found again below
  }
  std::vector<CsvPart> parts;
  for (bool again = true; again;) {
    parts = parse(cuts, syntax);
    again = false;
    for (const CsvPart& part : parts) again = reconsider(part) || again;
    const bool fault = std::any_of(parts.begin(), parts.end(), [](const CsvPart& part) { return part.fault.at; });
    if (fault) {  // parsed in order: after an open quote, cuts may be within fields
      parts.clear();
      parts.push_back(detail::parse_csv(begin, end, syntax));
      if (parts[0].fault.at) place.refuse(parts[0].fault, kHintSyntax);
      again = reconsider(parts[0]);
    }
  }
  for (std::size_t c = 0; c < syntax.kinds.size(); ++c)
    for (const CsvPart& part : parts)
      if (must_be_number[c] && part.not_numbers[c])
        place.refuse({part.not_numbers[c], c, detail::csv_excerpt(part.not_numbers[c], end, syntax), "a number"},
                     "`numbers` names this column: correct the file, or add the text to `missing`");
  return parts;
}

/// Calls f(cell, row) for each cell of a column.
template <class F> void each_cell(const CsvPart& part, std::size_t column, F f) {
  const std::size_t columns = part.kinds.size();
  const std::size_t rows = part.cells.size() / columns;
  if (rows == 0) return;  // cells.data() may be null
  const std::uint64_t* cell = part.cells.data() + column;
  for (std::size_t row = 0; row < rows; ++row, cell += columns) f(*cell, row);
}

Table::Column join(const std::vector<CsvPart>& parts, std::size_t c, std::int64_t rows, SourceLocation where) {
  Table::Column column;
  for (const CsvPart& part : parts) column.missing += part.missing[c];
  column.category = parts.front().kinds[c] == CsvKind::text;
  const bool real =
      std::any_of(parts.begin(), parts.end(), [&](const CsvPart& p) { return p.kinds[c] == CsvKind::real; });
  column.values = detail::host_tensor(real ? DType::float64 : DType::int64, {rows}, where);
  if (column.category) {
    std::vector<std::string_view> all;
    for (const CsvPart& part : parts) all.insert(all.end(), part.texts[c].texts.begin(), part.texts[c].texts.end());
    std::sort(all.begin(), all.end());
    all.erase(std::unique(all.begin(), all.end()), all.end());
    column.vocabulary.assign(all.begin(), all.end());
    auto* out = column.values.data<std::int64_t>();
    for (const CsvPart& part : parts) {
      std::vector<std::int64_t> numbers;
      for (const std::string_view text : part.texts[c].texts)
        numbers.push_back(std::lower_bound(all.begin(), all.end(), text) - all.begin());
      each_cell(part, c, [&](std::uint64_t cell, std::size_t) {
        const auto number = static_cast<std::int64_t>(cell);
        *out++ = number < 0 ? -1 : numbers[static_cast<std::size_t>(number)];
      });
    }
  } else if (real) {
    auto* out = column.values.data<double>();
    for (const CsvPart& part : parts) {
      double* const first = out;
      const bool integers = part.kinds[c] == CsvKind::integer;
      each_cell(part, c, [&](std::uint64_t cell, std::size_t) {
        *out++ = integers ? static_cast<double>(static_cast<std::int64_t>(cell)) : std::bit_cast<double>(cell);
      });
      for (const std::size_t row : part.negative_zeros[c]) first[row] = -0.0;
    }
  } else {
    auto* out = column.values.data<std::int64_t>();
    for (const CsvPart& part : parts)
      each_cell(part, c, [&](std::uint64_t cell, std::size_t) { *out++ = static_cast<std::int64_t>(cell); });
  }
  return column;
}

Table read_table(const std::string& path, const CsvOptions& options, SourceLocation where) {
  const Text text = read_text(path, where);
  check_text(path, text, where);
  const char* begin = text.begin();
  if (text.size >= 3 && std::memcmp(begin, "\xef\xbb\xbf", 3) == 0) begin += 3;
  while (begin < text.end() && (*begin == '\n' || (*begin == '\r' && begin[1] == '\n'))) ++begin;

  CsvSyntax syntax{options.separator, options.quote, options.missing, {}};
  std::vector<std::string> names;
  const Place place(path, text.begin(), names, where);
  if (begin == text.end())
    place.refuse({begin, 0, "only empty lines", "the names of the columns, or values"}, "give another file");
  CsvFault fault;
  const char* rows = begin;
  const std::vector<std::string> first = detail::parse_csv_line(rows, text.end(), syntax, fault);
  if (fault.at) place.refuse(fault, kHintSyntax);
  if (!options.header) rows = begin;
  for (std::size_t c = 0; c < first.size(); ++c)
    names.push_back(options.header && !first[c].empty() ? first[c] : std::to_string(c));
  if (!options.names.empty()) {
    if (options.names.size() != first.size())
      throw ValueError(fmt::format("read_csv: {} names for the {} columns of '{}'\ngive one for each column",
                                   options.names.size(), first.size(), path),
                       where);
    names = options.names;
  }
  std::vector<std::size_t> by_name(names.size());
  for (std::size_t c = 0; c < names.size(); ++c) by_name[c] = c;
  std::sort(by_name.begin(), by_name.end(),
            [&](std::size_t a, std::size_t b) { return names[a] != names[b] ? names[a] < names[b] : a < b; });
  for (std::size_t k = 1; k < by_name.size(); ++k)
    if (names[by_name[k]] == names[by_name[k - 1]])
      place.refuse({begin, by_name[k], "the name of column " + std::to_string(by_name[k - 1] + 1) + " again",
                    "a name for each column"},
                   options.header ? "rename it in the file, or give .names; a file without names: {.header = false}"
                                  : "give other .names");

  syntax.kinds.assign(names.size(), CsvKind::integer);
  std::vector<bool> must_be_number(names.size());
  const auto index_of = [&](const char* option, const std::string& name) {
    const auto found = std::lower_bound(by_name.begin(), by_name.end(), name,
                                        [&](std::size_t c, const std::string& wanted) { return names[c] < wanted; });
    if (found != by_name.end() && names[*found] == name) return *found;
    throw ValueError(
        fmt::format("read_csv: .{} names '{}', but there is no such column in '{}'\n  columns  {}\nnames are "
                    "case-sensitive",
                    option, name, path, list_of(names)),
        where);
  };
  std::vector<const char*> taken(names.size());  // by which option
  const auto take = [&](const char* option, const std::string& name) {
    const std::size_t c = index_of(option, name);
    if (taken[c] && std::strcmp(taken[c], option) != 0)
      throw ValueError(fmt::format("read_csv: .{} and .{} both name '{}'\na column has numbers, categories or times",
                                   taken[c], option, name),
                       where);
    taken[c] = option;
    return c;
  };
  for (const std::string& name : options.numbers) must_be_number[take("numbers", name)] = true;
  std::vector<bool> is_time(names.size());
  for (const std::string& name : options.times) {
    const std::size_t c = take("times", name);
    is_time[c] = true;
    syntax.kinds[c] = CsvKind::text;
  }
  for (const std::string& name : options.categories) syntax.kinds[take("categories", name)] = CsvKind::text;

  const std::vector<CsvPart> parts = parse_all(rows, text.end(), syntax, place, must_be_number);
  std::size_t cells = 0;
  for (const CsvPart& part : parts) cells += part.cells.size();
  const auto count = static_cast<std::int64_t>(cells / names.size());
  std::vector<Table::Column> columns(names.size());
  for (std::size_t c = 0; c < names.size(); ++c) {
    columns[c] = join(parts, c, count, where);
    if (!is_time[c]) continue;
    if (const std::string* other = detail::make_times(columns[c], where)) {
      const char* line = rows;
      for (const char* next = rows; next < text.end(); line = next) {
        const std::vector<std::string> fields = detail::parse_csv_line(next, text.end(), syntax, fault);
        if (c < fields.size() && fields[c] == *other) break;
      }
      place.refuse({line, c, "'" + *other + "'", "a date or a date and a time, 2024-05-31 or 2024-05-31T23:59:59"},
                   ".times names this column: correct the file, or add the text to .missing");
    }
  }
  return Table(std::move(names), std::move(columns), count, where);
}

}  // namespace

Table read_csv(const std::string& path, const CsvOptions& options, SourceLocation where) {
  const CallSite site("read_csv", where);
  check(options, where);
  try {
    return read_table(path, options, where);
  } catch (const std::bad_alloc&) {
    throw OutOfMemoryError("read_csv: no memory for the content of '" + path + "'\nsplit the file", where);
  }
}

}  // namespace minnow::data
