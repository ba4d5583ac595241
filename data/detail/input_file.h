#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <minnow/tensor/source_location.h>

namespace minnow::data::detail {

/// A regular file, read once from its beginning.
class InputFile {
 public:
  /// IoError when it cannot be opened, or is a directory, a pipe or another special file.  `where` is the user's line.
  InputFile(const std::string& path, SourceLocation where);
  ~InputFile();
  InputFile(const InputFile&) = delete;
  InputFile& operator=(const InputFile&) = delete;

  const std::string& path() const { return path_; }
  SourceLocation where() const { return where_; }
  std::uint64_t size() const { return size_; }
  /// Fills `out`, less only at the end of the file; returns the bytes read.  IoError.
  std::size_t read(std::span<std::uint8_t> out);
  /// Back to the beginning.
  void rewind();

 private:
  std::string path_;
  SourceLocation where_;
  int descriptor_ = -1;
  std::uint64_t size_ = 0;
};

}  // namespace minnow::data::detail
