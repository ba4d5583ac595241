#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <minnow/tensor/io/file.h>
#include <minnow/tensorboard/tensorboard.h>

namespace minnow::tensorboard {

namespace detail {

// A file has records of TensorFlow: the length of the data in 8 bytes, the checksum of these, the data, and its
// checksum.
inline constexpr std::size_t kHeaderSize = 12, kChecksumSize = 4;

/// CRC-32C of the bytes, rotated and shifted by a constant.
std::uint32_t masked_checksum(std::string_view bytes);

/// The seconds since 1970.
double now();

}  // namespace detail

/// A new file in a folder.
class Writer::File {
 public:
  File(const std::string& folder, SourceLocation where);
  File(const File&) = delete;
  File& operator=(const File&) = delete;

  const std::string& path() const { return file_->path(); }
  /// Appends a record of each, all of them by one call of the system: all or none.
  void append(std::span<const std::string> all, SourceLocation where);
  void append(const std::string& data, SourceLocation where) { append({&data, 1}, where); }
  /// The same of hyperparameters, of which a file has one set: ValueError.
  void append_hparams(std::span<const std::string> all, SourceLocation where);
  void flush(SourceLocation where) const { file_->flush(where); }

 private:
  std::unique_ptr<io::AppendFile> file_;
  std::mutex mutex_;  // guards what is below, and the end of the file
  bool has_hparams_ = false;
};

}  // namespace minnow::tensorboard
