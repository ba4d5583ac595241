#include <minnow/data/csv.h>

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <iterator>
#include <minnow/data/detail/host.h>
#include <minnow/data/detail/table.h>
#include <minnow/tensor/error.h>
#include <minnow/tensor/internal.h>
#include <minnow/tensor/raw/copy.h>

namespace minnow::data {

using detail::list_of;

namespace {

/// Throws for values that a column of [rows] cannot have: the functions below read them as they lie in memory.
void check_column(const std::string& name, const Table::Column& column, std::int64_t rows, SourceLocation where) {
  const auto text = [&](const char* fault, const std::string& hint) {
    return fmt::format("Table: the values of column '{}' {}\n  values  {}\n{}", name, fault, describe(column.values),
                       hint);
  };
  const Tensor& values = column.values;
  if (!values.defined()) throw ValueError(text("are undefined", "give a tensor for each column"), where);
  if (!values.device().is_cpu()) throw DeviceError(text("must be on the cpu", "call .cpu()"), where);
  if (values.shape() != Shape{rows})
    throw ShapeError(text("must have one element for each row", fmt::format("their shape is [{}] here", rows)), where);
  if (values.dtype() != DType::int64 && (column.category || values.dtype() != DType::float64))
    throw DTypeError(column.category ? text("must be int64, the numbers of categories", "convert them: .to(int64)")
                                     : text("must be float64 or int64", "convert them: .to(float64)"),
                     where);
}

}  // namespace

Table::Table(std::vector<std::string> names, std::vector<Column> columns, std::int64_t rows, SourceLocation where)
    : names_(std::move(names)), columns_(std::move(columns)), rows_(rows) {
  if (names_.size() != columns_.size())
    throw ValueError(
        fmt::format("Table: {} names for {} columns\ngive one name for each column", names_.size(), columns_.size()),
        where);
  for (std::size_t c = 0; c < names_.size(); ++c) {
    Column& column = columns_[c];
    check_column(names_[c], column, rows, where);
    column.values = column.values.contiguous(MemoryFormat::contiguous, where);
    if (column.category && rows > 0) {
      const auto* numbers = column.values.data<std::int64_t>();
      if (const std::int64_t most = *std::max_element(numbers, numbers + rows); most >= std::ssize(column.vocabulary))
        throw IndexError(fmt::format("Table: column '{}' has category {} of a vocabulary of {}\ngive a text for each",
                                     names_[c], most, column.vocabulary.size()),
                         where);
    }
    places_.emplace(names_[c], c);
  }
}

const Table::Column& Table::find(const char* op, std::string_view name, SourceLocation where) const {
  if (const auto found = places_.find(std::string(name)); found != places_.end()) return columns_[found->second];
  // A table that was read by another separator than its own has one column.
  const auto other = names_.size() == 1 ? names_[0].find_first_of(",;\t|") : std::string::npos;
  const std::string hint = other == std::string::npos
                               ? "names are case-sensitive"
                               : fmt::format("if '{0}' separates columns: read_csv(path, {{.separator = '{0}'}})",
                                             names_[0][other] == '\t' ? "\\t" : names_[0].substr(other, 1));
  throw IndexError(
      fmt::format("{}: there is no column '{}'\n  columns  {}\n{}", CallSite::op_or(op), name, list_of(names_), hint),
      where);
}

bool Table::Column::is_missing(std::int64_t row) const {
  if (category) return values.data<std::int64_t>()[row] < 0;
  return values.dtype() == DType::float64 && std::isnan(values.data<double>()[row]);
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
    if (column.is_missing(i)) return i;
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
  require("the target", target, "drop these rows: table.drop_missing()");
  if (!options.fill)
    for (const std::string& name : features)
      require("the feature", name, "give a value for it: {.fill = 0}, or leave the column out of .features");
  const bool whole = last.values.dtype() == DType::int64;
  const Tensor y =
      tensor({std::string(target)}, {options.target_dtype.value_or(whole ? DType::int64 : DType::float32)}, where);
  const Tensor flat(y.storage(), y.dtype(), {rows_}, Strides({1}), y.storage_offset());
  return TensorDataset<2>({tensor(features, {DType::float32, options.fill}, where), where}, flat);
}

}  // namespace minnow::data
