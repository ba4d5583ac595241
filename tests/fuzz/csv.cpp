#include <cmath>
#include <minnow/data/csv.h>
#include "fuzz.h"

using namespace minnow;

namespace {

std::string quoted(const std::string& text) {
  std::string out = "\"";
  for (const char c : text) out.append(c == '"' ? 2 : 1, c);
  return out + '"';
}

/// One cell as it is written: with 17 digits, a category in quotes, NA where it is missing.
std::string cell(const data::Table& table, const std::string& name, std::int64_t row) {
  const Tensor& column = table.column(name);
  const auto i = static_cast<std::size_t>(row);
  if (column.dtype() == DType::float64) {
    const double value = column.data<double>()[i];
    char text[64];
    std::snprintf(text, sizeof text, "%.17e", value);
    return std::isnan(value) ? "NA" : text;
  }
  const std::int64_t value = column.data<std::int64_t>()[i];
  if (!table.is_category(name)) return std::to_string(value);
  return value < 0 ? "NA" : quoted(table.vocabulary(name)[static_cast<std::size_t>(value)]);
}

}  // namespace

// A table that is written in another form is read as the same one.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const fuzz::File file, again;
  data::Table table({}, {}, 0);
  if (!fuzz::accepts(file, fuzz::text(data, size), [&](const std::string& path) { table = data::read_csv(path); }))
    return 0;
  std::string text;
  data::CsvOptions options;
  for (const std::string& name : table.names()) {
    text += (text.empty() ? "" : ",") + quoted(name);
    if (table.is_category(name)) options.categories.push_back(name);
  }
  text += '\n';
  for (std::int64_t row = 0; row < table.rows(); ++row)
    for (std::size_t c = 0; c < table.names().size(); ++c)
      text += cell(table, table.names()[c], row) + (c + 1 < table.names().size() ? ',' : '\n');
  again.write(text);
  const data::Table other = data::read_csv(again.path(), options);
  fuzz::require(other.names() == table.names() && other.rows() == table.rows(), "the same names and rows");
  for (const std::string& name : table.names()) {
    fuzz::require(other.is_category(name) == table.is_category(name), "the same kinds");
    if (table.is_category(name)) fuzz::require(other.vocabulary(name) == table.vocabulary(name), "the same texts");
    const Tensor &a = table.column(name), &b = other.column(name);
    fuzz::require(a.dtype() == b.dtype(), "the same dtype");
    for (std::int64_t i = 0; i < a.numel(); ++i)
      if (a.dtype() == DType::int64) {
        fuzz::require(a.data<std::int64_t>()[i] == b.data<std::int64_t>()[i], "the same integers");
      } else {
        const double x = a.data<double>()[i], y = b.data<double>()[i];
        fuzz::require(x == y || (std::isnan(x) && std::isnan(y)), "the same numbers");
      }
  }
  return 0;
}
