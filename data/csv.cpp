#include <minnow/data/csv.h>

#include <algorithm>
#include <bit>
#include <cctype>
#include <cmath>
#include <cstring>
#include <fmt/format.h>
#include <iterator>
#include <memory>
#include <new>
#include <minnow/data/detail/byte_reader.h>
#include <minnow/data/detail/csv_parser.h>
#include <minnow/data/detail/host.h>
#include <minnow/data/detail/parallel.h>
#include <minnow/tensor/checked.h>
#include <minnow/tensor/error.h>
#include <minnow/tensor/internal.h>
#include <minnow/tensor/raw/copy.h>
#include <minnow/tensor/runtime/threads.h>

namespace minnow::data {
namespace {

using detail::CsvFault;
using detail::CsvKind;
using detail::CsvPart;
using detail::CsvSyntax;

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

std::string list_of(const std::vector<std::string>& names) {
  constexpr std::size_t kMax = 20;
  std::string text;
  for (std::size_t i = 0; i < std::min(names.size(), kMax); ++i) text += (i == 0 ? "'" : ", '") + names[i] + "'";
  return names.size() > kMax ? text + ", ..." : text;
}

}  // namespace

Table::Table(std::vector<std::string> names, std::vector<Column> columns, std::int64_t rows)
    : names_(std::move(names)), columns_(std::move(columns)), rows_(rows) {
  if (names_.size() != columns_.size())
    throw ValueError(
        fmt::format("Table: {} names for {} columns\ngive one name for each column", names_.size(), columns_.size()));
  for (std::size_t c = 0; c < names_.size(); ++c) places_.emplace(names_[c], c);
}

const Table::Column& Table::find(const char* op, std::string_view name, SourceLocation where) const {
  if (const auto found = places_.find(std::string(name)); found != places_.end()) return columns_[found->second];
  throw IndexError(fmt::format("{}: there is no column '{}'\n  columns  {}\nnames are case-sensitive",
                               CallSite::op_or(op), name, list_of(names_)),
                   where);
}

bool Table::contains(std::string_view name) const { return places_.contains(std::string(name)); }

const Tensor& Table::column(std::string_view name, SourceLocation where) const {
  return find("Table::column", name, where).values;
}

bool Table::is_category(std::string_view name, SourceLocation where) const {
  return find("Table::is_category", name, where).category;
}

const std::vector<std::string>& Table::vocabulary(std::string_view name, SourceLocation where) const {
  const Column& column = find("Table::vocabulary", name, where);
  if (!column.category)
    throw ValueError(
        fmt::format("Table::vocabulary: column '{}' has numbers\nread it with {{.categories = {{\"{}\"}}}}", name,
                    name),
        where);
  return column.vocabulary;
}

std::int64_t Table::missing(std::string_view name, SourceLocation where) const {
  return find("Table::missing", name, where).missing;
}

namespace {

/// Writes a column into column k of a row-major [rows, width] of double.
void write_column(const Table::Column& column, double* out, std::size_t width, std::optional<double> fill) {
  const auto rows = static_cast<std::size_t>(column.values.numel());
  if (column.values.dtype() == DType::float64) {
    const double* in = column.values.data<double>();
    for (std::size_t i = 0; i < rows; ++i) out[i * width] = fill && std::isnan(in[i]) ? *fill : in[i];
    return;
  }
  const std::int64_t* in = column.values.data<std::int64_t>();
  const double none = fill.value_or(std::nan(""));
  for (std::size_t i = 0; i < rows; ++i)
    out[i * width] = column.category && in[i] < 0 ? none : static_cast<double>(in[i]);
}

/// The first row whose value is missing.
std::int64_t first_missing(const Table::Column& column) {
  const std::int64_t rows = column.values.numel();
  for (std::int64_t i = 0; i < rows; ++i)
    if (column.category ? column.values.data<std::int64_t>()[i] < 0
                        : column.values.dtype() == DType::float64 && std::isnan(column.values.data<double>()[i]))
      return i;
  return -1;
}

/// ValueError for a value that the dtype cannot hold.
void check_values(const char* op, std::string_view name, const Table::Column& column, DType dtype,
                  std::optional<double> fill, SourceLocation where) {
  if (is_floating_point(dtype)) return;
  const auto refuse = [&](std::int64_t row, double value) {
    throw ValueError(fmt::format("{}: {} cannot hold the value {} in row {} of column '{}'\ntake float32, or give "
                                 ".fill for missing values",
                                 CallSite::op_or(op), name_of(dtype), value, row, name),
                     where);
  };
  if (dtype == DType::bool_)
    throw ValueError(
        fmt::format("{}: columns do not become bool\ncompare the result, e.g. with 0", CallSite::op_or(op)), where);
  double low = -0x1p63, high = 0x1p63;
  if (dtype == DType::int32) low = -0x1p31, high = 0x1p31;
  else if (dtype == DType::uint8) low = 0, high = 256;
  else if (dtype == DType::int16) low = -0x1p15, high = 0x1p15;
  else if (dtype == DType::int8) low = -0x1p7, high = 0x1p7;
  std::vector<double> values(static_cast<std::size_t>(column.values.numel()));
  write_column(column, values.data(), 1, fill);
  for (std::size_t i = 0; i < values.size(); ++i)
    if (!(values[i] >= low && values[i] < high) || values[i] != std::trunc(values[i]))
      refuse(static_cast<std::int64_t>(i), values[i]);
}

}  // namespace

Tensor Table::tensor(const std::vector<std::string>& columns, const TableTensorOptions& options,
                     SourceLocation where) const {
  const CallSite site("Table::tensor", where);
  const auto width = static_cast<std::int64_t>(columns.size());
  std::vector<const Column*> chosen;
  for (const std::string& name : columns) {
    chosen.push_back(&find("Table::tensor", name, where));
    check_values("Table::tensor", name, *chosen.back(), options.dtype, options.fill, where);
  }
  if (width == 1 && options.dtype == DType::int64 && chosen[0]->values.dtype() == DType::int64 &&
      !chosen[0]->category) {
    const Tensor copy = detail::host_tensor(DType::int64, {rows_, 1}, where);  // beyond 2^53 too
    std::copy_n(chosen[0]->values.data<std::int64_t>(), rows_, copy.data<std::int64_t>());
    return copy;
  }
  const Tensor wide = detail::host_tensor(DType::float64, {rows_, width}, where);
  for (std::size_t k = 0; k < chosen.size(); ++k)
    write_column(*chosen[k], wide.data<double>() + k, chosen.size(), options.fill);
  return options.dtype == DType::float64 ? wide : raw::cast({wide, where}, options.dtype);
}

TensorDataset<2> Table::dataset(std::string_view target, const TableDatasetOptions& options,
                                SourceLocation where) const {
  const CallSite site("Table::dataset", where);
  const Column& last = find("Table::dataset", target, where);
  std::vector<std::string> features = options.features;
  if (features.empty())
    std::copy_if(names_.begin(), names_.end(), std::back_inserter(features),
                 [&](const auto& n) { return n != target; });
  const auto require = [&](const char* what, std::string_view name, const char* hint) {
    const Column& column = find("Table::dataset", name, where);
    if (column.missing > 0)
      if (const std::int64_t row = first_missing(column); row >= 0)
        throw ValueError(fmt::format("Table::dataset: {} '{}' is missing in row {}, the first of {}\n{}", what, name,
                                     row, column.missing, hint),
                         where);
  };
  require("the target", target, "leave these rows out of the file");
  if (!options.fill)
    for (const std::string& name : features)
      require("the feature", name, "give a value for it: {.fill = 0}, or leave the column out of .features");
  const bool whole = last.values.dtype() == DType::int64;
  const Tensor y =
      tensor({std::string(target)}, {options.target_dtype.value_or(whole ? DType::int64 : DType::float32)}, where);
  const Tensor flat(y.storage(), y.dtype(), {rows_}, Strides({1}), y.storage_offset());
  return TensorDataset<2>({tensor(features, {DType::float32, options.fill}, where), where}, flat);
}

namespace {

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
  for (const std::string& name : options.numbers) must_be_number[index_of("numbers", name)] = true;
  for (const std::string& name : options.categories) syntax.kinds[index_of("categories", name)] = CsvKind::text;

  const std::vector<CsvPart> parts = parse_all(rows, text.end(), syntax, place, must_be_number);
  std::size_t cells = 0;
  for (const CsvPart& part : parts) cells += part.cells.size();
  const auto count = static_cast<std::int64_t>(cells / names.size());
  std::vector<Table::Column> columns(names.size());
  for (std::size_t c = 0; c < names.size(); ++c) columns[c] = join(parts, c, count, where);
  return Table(std::move(names), std::move(columns), count);
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
