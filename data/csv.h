#pragma once

#include <cstdint>
#include <iosfwd>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>
#include <minnow/data/tensor_dataset.h>

namespace minnow::data {

struct CsvOptions {
  char separator = ',';
  char quote = '"';
  /// Whether the first line has the names of the columns; else they are "0", "1", ...
  bool header = true;
  /// The names of the columns, in place of those in the file.
  std::vector<std::string> names{};
  /// What stands for a missing value, outside of quotes.  A number that is NaN is one, however it is written.
  std::vector<std::string> missing = {"", "NA", "N/A", "NaN", "nan", "null", "NULL"};
  /// Columns that must hold numbers: another text in them is a FormatError.  By default such a column has categories.
  std::vector<std::string> numbers{};
  /// Columns of categories, also where all their texts are numbers.
  std::vector<std::string> categories{};
  /// Columns of dates, or dates and times, of ISO 8601: 2024-05-31, 2024-05-31T23:59:59, also with a space for the T,
  /// without seconds, or with Z or +02:00 at the end (otherwise they are UTC); fractions of a second are cut off.
  /// Another text in them is a FormatError.
  std::vector<std::string> times{};
};

struct TableTensorOptions {
  DType dtype = DType::float32;
  /// What missing values become; by default NaN, and a ValueError for an integer dtype.
  std::optional<double> fill = std::nullopt;
};

struct TableDatasetOptions {
  /// By default all columns but the target.
  std::vector<std::string> features{};
  /// By default int64 for categories and integers, float32 for other numbers.
  std::optional<DType> target_dtype = std::nullopt;
  /// What missing features become; by default they are a ValueError.
  std::optional<double> fill = std::nullopt;
};

/// Columns of equal length, by name: numbers, categories with their vocabulary, or times.  Copies share the columns.
/// All functions that take a name throw IndexError, with the names that exist, for another.
class Table {
 public:
  std::int64_t rows() const { return rows_; }
  /// In the file's order.
  const std::vector<std::string>& names() const { return names_; }
  bool contains(std::string_view name) const;

  /// [rows] on the cpu: int64 where all values are integers and none is missing, else float64, NaN where one is
  /// missing; of categories: int64 numbers of the vocabulary, -1 where one is missing; of times: seconds since 1970
  /// UTC, as numbers.
  const Tensor& column(std::string_view name, SourceLocation where = SourceLocation::current()) const;
  bool is_category(std::string_view name, SourceLocation where = SourceLocation::current()) const;
  /// The texts of a column of categories, sorted bytewise.  ValueError for numbers.
  const std::vector<std::string>& vocabulary(std::string_view name,
                                             SourceLocation where = SourceLocation::current()) const;
  /// The number of missing values.
  std::int64_t missing(std::string_view name, SourceLocation where = SourceLocation::current()) const;

  /// [rows, columns.size()]: these columns side by side, categories as their numbers.  ValueError for a value that an
  /// integer dtype cannot hold, and for bool.  Float32 rounds times of our years to 128 seconds: take float64 or int64.
  Tensor tensor(const std::vector<std::string>& columns, const TableTensorOptions& options = {},
                SourceLocation where = SourceLocation::current()) const;
  /// Samples {features float32 [k], target []}, for a DataLoader.  ValueError, with column and row, for a missing
  /// target, and for a missing feature without `fill`.
  TensorDataset<2> dataset(std::string_view target, const TableDatasetOptions& options = {},
                           SourceLocation where = SourceLocation::current()) const;

  /// A missing value becomes the one before it in the column, as pandas' ffill(); those at the beginning stay missing.
  /// Of these columns; by default of all.
  [[nodiscard]] Table fill_forward(const std::vector<std::string>& columns = {},
                                   SourceLocation where = SourceLocation::current()) const;
  /// Without the rows in which a value is missing, as pandas' dropna(), in one of these columns; by default in any.
  [[nodiscard]] Table drop_missing(const std::vector<std::string>& columns = {},
                                   SourceLocation where = SourceLocation::current()) const;

  /// The first and the last rows in aligned columns, under their names and types; operator<< prints it.
  std::string to_string() const;

  /// A column of a table, as readers make them.
  struct Column {
    Tensor values;
    std::int64_t missing = 0;
    bool category = false;
    std::vector<std::string> vocabulary{};
    bool time = false;  ///< seconds since 1970 UTC

    bool is_missing(std::int64_t row) const;
  };
  /// Takes columns of [rows] on the cpu: float64 or int64 numbers, int64 categories, times of either.  ValueError
  /// unless there is one name for each column; of a column, with its name: DeviceError, ShapeError, DTypeError, and
  /// IndexError for a category beyond its vocabulary.
  Table(std::vector<std::string> names, std::vector<Column> columns, std::int64_t rows,
        SourceLocation where = SourceLocation::current());

 private:
  const Column& find(const char* op, std::string_view name, SourceLocation where) const;
  std::vector<std::size_t> places(const std::vector<std::string>& columns, SourceLocation where) const;

  std::vector<std::string> names_;
  std::vector<Column> columns_;
  std::unordered_map<std::string, std::size_t> places_;  // of names; of equal ones the first
  std::int64_t rows_ = 0;
};

std::ostream& operator<<(std::ostream& out, const Table& table);

/// Reads a CSV file (RFC 4180), plain or compressed with gzip, on all threads:
/// `auto set = read_csv("houses.csv").dataset("price");`.  Fields may be quoted, and then contain separators, line ends
/// and doubled quotes.  Lines end with LF or CRLF; empty ones are skipped, and so is a byte order mark.  A column whose
/// texts are all numbers has numbers, with spaces around them ignored; others have categories.  Texts are UTF-8.
///
/// IoError; FormatError, with the file, line and column, for a line with another number of fields, an open quote, text
/// after a closing quote or a quote within an unquoted field, zero bytes, a lone carriage return, names and categories
/// that are not UTF-8, names that come twice, and what `numbers` and `times` say; ValueError for options that name no
/// column, and for two of numbers, categories and times that name the same; OutOfMemoryError.
Table read_csv(const std::string& path, const CsvOptions& options = {},
               SourceLocation where = SourceLocation::current());

}  // namespace minnow::data
