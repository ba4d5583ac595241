#include <minnow/data/csv.h>

#include <algorithm>
#include <fmt/format.h>
#include <numeric>
#include <ostream>
#include <minnow/data/detail/host.h>
#include <minnow/data/detail/table.h>
#include <minnow/tensor/internal.h>

namespace minnow::data {
namespace {

/// 0 ... n - 1, with -1 in the middle for those that are left out.
std::vector<std::int64_t> shown_of(std::int64_t n, std::int64_t most) {
  std::vector<std::int64_t> shown(static_cast<std::size_t>(std::min(n, most + 1)));
  std::iota(shown.begin(), shown.end(), 0);
  if (n <= most) return shown;
  const auto half = static_cast<std::size_t>(most / 2);
  shown[half] = -1;
  for (std::size_t k = half + 1; k < shown.size(); ++k) shown[k] = n - std::ssize(shown) + static_cast<std::int64_t>(k);
  return shown;
}

std::string cell_of(const Table::Column& column, std::int64_t row) {
  if (column.is_missing(row)) return "NaN";
  const bool real = column.values.dtype() == DType::float64;
  const double value = real ? column.values.data<double>()[row] : 0;
  const std::int64_t number = real ? 0 : column.values.data<std::int64_t>()[row];
  if (column.time) return detail::time_text(real ? static_cast<std::int64_t>(value) : number);
  if (column.category) return column.vocabulary[static_cast<std::size_t>(number)];
  return real ? fmt::format("{:.6g}", value) : std::to_string(number);
}

/// Characters, of UTF-8.
std::size_t width_of(std::string_view text) {
  return static_cast<std::size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }));
}

/// Without line ends, of up to 30 characters.
std::string cut(std::string text) {
  std::replace_if(
      text.begin(), text.end(), [](char c) { return static_cast<unsigned char>(c) < ' '; }, ' ');
  if (width_of(text) <= 30) return text;
  std::size_t end = 0;
  for (std::size_t width = 0; width <= 27; ++end) width += (static_cast<unsigned char>(text[end]) & 0xC0) != 0x80;
  return text.substr(0, end - 1) + "...";
}

/// A column with these rows of another.
Table::Column taken(const Table::Column& old, const std::vector<std::int64_t>& rows, SourceLocation where) {
  Table::Column column = old;
  column.missing = std::count_if(rows.begin(), rows.end(), [&](std::int64_t row) { return old.is_missing(row); });
  const bool to_integers = old.time && column.missing == 0 && old.values.dtype() == DType::float64;
  column.values = detail::host_tensor(to_integers ? DType::int64 : old.values.dtype(), {std::ssize(rows)}, where);
  if (to_integers)
    std::transform(rows.begin(), rows.end(), column.values.data<std::int64_t>(),
                   [&](std::int64_t row) { return static_cast<std::int64_t>(old.values.data<double>()[row]); });
  else
    std::transform(rows.begin(), rows.end(), static_cast<std::uint64_t*>(column.values.raw_data()),
                   [&](std::int64_t row) { return static_cast<const std::uint64_t*>(old.values.raw_data())[row]; });
  return column;
}

}  // namespace

std::vector<std::size_t> Table::places(const std::vector<std::string>& columns, SourceLocation where) const {
  std::vector<std::size_t> found(columns.size());
  std::transform(columns.begin(), columns.end(), found.begin(), [&](const std::string& name) {
    return static_cast<std::size_t>(&find("Table", name, where) - columns_.data());
  });
  if (!found.empty()) return found;
  found.resize(columns_.size());  // all
  std::iota(found.begin(), found.end(), 0);
  return found;
}

Table Table::fill_forward(const std::vector<std::string>& columns, SourceLocation where) const {
  const CallSite site("Table::fill_forward", where);
  Table result = *this;
  for (const std::size_t c : places(columns, where)) {
    if (columns_[c].missing == 0) continue;
    std::vector<std::int64_t> rows(static_cast<std::size_t>(rows_));
    std::int64_t last = 0;
    for (std::int64_t i = 0; i < rows_; ++i)
      rows[static_cast<std::size_t>(i)] = last = columns_[c].is_missing(i) && !columns_[c].is_missing(last) ? last : i;
    result.columns_[c] = taken(columns_[c], rows, where);
  }
  return result;
}

Table Table::drop_missing(const std::vector<std::string>& columns, SourceLocation where) const {
  const CallSite site("Table::drop_missing", where);
  const std::vector<std::size_t> chosen = places(columns, where);
  std::vector<std::int64_t> rows;
  for (std::int64_t i = 0; i < rows_; ++i)
    if (std::none_of(chosen.begin(), chosen.end(), [&](std::size_t c) { return columns_[c].is_missing(i); }))
      rows.push_back(i);
  Table result = *this;
  result.rows_ = std::ssize(rows);
  for (Column& column : result.columns_) column = taken(column, rows, where);
  return result;
}

std::string Table::to_string() const {
  const std::vector<std::int64_t> rows = shown_of(rows_, 10), columns = shown_of(std::ssize(columns_), 12);
  std::vector<std::string> lines(rows.size() + 2);
  const auto add = [&](std::vector<std::string> cells) {
    std::size_t width = 0;
    for (std::string& cell : cells) width = std::max(width, width_of(cell = cut(std::move(cell))));
    for (std::size_t i = 0; i < cells.size(); ++i)
      lines[i] += std::string((lines[i].empty() ? 0 : 2) + width - width_of(cells[i]), ' ') + cells[i];
  };
  std::vector<std::string> numbers{"", ""};
  for (const std::int64_t row : rows) numbers.push_back(row < 0 ? "..." : std::to_string(row));
  add(std::move(numbers));
  for (const std::int64_t c : columns) {
    if (c < 0) {
      add(std::vector<std::string>(lines.size(), "..."));
      continue;
    }
    const Column& column = columns_[static_cast<std::size_t>(c)];
    const std::string_view type = column.time ? "time" : column.category ? "category" : name_of(column.values.dtype());
    std::vector<std::string> cells{names_[static_cast<std::size_t>(c)], std::string(type)};
    for (const std::int64_t row : rows) cells.push_back(row < 0 ? "..." : cell_of(column, row));
    add(std::move(cells));
  }
  std::string text;
  for (const std::string& line : lines) text += line + "\n";
  return text + fmt::format("[{} rows, {} columns]\n", rows_, columns_.size());
}

std::ostream& operator<<(std::ostream& out, const Table& table) { return out << table.to_string(); }

}  // namespace minnow::data
