#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <minnow/data/dataset.h>

namespace minnow::data {

/// A tensor that stays in its file: rows (along its first dimension) are read when they are asked for, so that it may
/// be larger than memory.  The file is read by pread(), not mapped: memory is that of the rows, and a file that is cut
/// while it is used is an IoError.  Copies share the open file.  Thread-safe.
class FileTensor {
 public:
  /// An .npy file in C order.  IoError; FormatError as load_npy(), and for Fortran order and 0-dim arrays.
  static FileTensor npy(const std::string& path, SourceLocation where = SourceLocation::current());
  /// A tensor of a safetensors file.  IoError; FormatError as load(), and for 0-dim tensors; IndexError, with the names
  /// that exist, for another name.
  static FileTensor safetensors(const std::string& path, std::string_view name,
                                SourceLocation where = SourceLocation::current());

  const Shape& shape() const { return shape_; }
  DType dtype() const { return dtype_; }
  std::int64_t size() const { return shape_[0]; }
  /// Row i, of shape() without its first dimension.  IndexError, IoError.
  Tensor row(std::int64_t i, SourceLocation where = SourceLocation::current()) const;
  /// Writes rows into a batch; neighbours in the file are read at once.  IndexError, IoError.
  void read_rows(std::span<const std::int64_t> indices, BatchBuffer& buffer, int field,
                 SourceLocation where = SourceLocation::current()) const;

 private:
  struct File;
  FileTensor(std::shared_ptr<const File> file, DType dtype, Shape shape);
  void read(std::int64_t row, std::int64_t count, std::byte* out) const;

  std::shared_ptr<const File> file_;
  DType dtype_;
  Shape shape_;
  std::size_t row_bytes_;
};

namespace detail {

/// ShapeError unless the first sizes are equal; returns that size.
std::int64_t common_rows(std::span<const FileTensor> tensors, SourceLocation where);

}  // namespace detail

/// `FileDataset(FileTensor::npy("x.npy"), FileTensor::npy("y.npy"))`: sample i is an array of the rows i of N tensors
/// in files.  A TensorDataset for what does not fit into memory.  ShapeError for different first sizes.
template <std::size_t N> class FileDataset {
 public:
  explicit FileDataset(std::array<FileTensor, N> tensors, SourceLocation where = SourceLocation::current())
      : tensors_(std::move(tensors)), size_(detail::common_rows(tensors_, where)) {}
  explicit FileDataset(FileTensor a, SourceLocation where = SourceLocation::current()) requires(N == 1)
      : FileDataset(std::array{std::move(a)}, where) {}
  FileDataset(FileTensor a, FileTensor b, SourceLocation where = SourceLocation::current()) requires(N == 2)
      : FileDataset(std::array{std::move(a), std::move(b)}, where) {}

  std::int64_t size() const { return size_; }
  /// IndexError, IoError.
  std::array<Tensor, N> get(std::int64_t i, SourceLocation where = SourceLocation::current()) const {
    std::array<Tensor, N> rows;
    for (std::size_t k = 0; k < N; ++k) rows[k] = tensors_[k].row(i, where);
    return rows;
  }
  /// Writes these samples into a batch.  IndexError, IoError.
  void get_batch(std::span<const std::int64_t> indices, BatchBuffer& buffer,
                 SourceLocation where = SourceLocation::current()) const {
    for (std::size_t k = 0; k < N; ++k) tensors_[k].read_rows(indices, buffer, static_cast<int>(k), where);
  }

 private:
  std::array<FileTensor, N> tensors_;
  std::int64_t size_ = 0;
};

FileDataset(FileTensor)->FileDataset<1>;
FileDataset(FileTensor, FileTensor)->FileDataset<2>;

}  // namespace minnow::data
