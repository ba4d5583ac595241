#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>
#include <minnow/tensor/source_location.h>

struct stat;

namespace minnow::io {

/// A regular file, open for reading at any offset.  Pipes, directories and devices are refused without
/// blocking.  Threads may read at the same time.
class InputFile {
 public:
  /// IoError if the file is missing, not readable, or not a regular file.  Messages begin with `op`.
  InputFile(std::string op, std::string path, SourceLocation where);
  ~InputFile();
  InputFile(const InputFile&) = delete;
  InputFile& operator=(const InputFile&) = delete;

  /// In bytes, when the file was opened.
  std::uint64_t size() const { return size_; }
  const std::string& path() const { return path_; }
  SourceLocation where() const { return where_; }
  /// Fills `bytes` from the offset.  IoError if the system call fails or the file is too short.
  void read(std::uint64_t offset, std::span<std::byte> bytes) const;
  /// The same, but reads less at the end of the file; returns the number of bytes.
  std::size_t read_some(std::uint64_t offset, std::span<std::byte> bytes) const;

 private:
  std::string op_, path_;
  SourceLocation where_;
  int fd_ = -1;
  std::uint64_t size_ = 0;
};

/// Writes a file atomically: bytes go to a temporary file in the same directory, which commit() flushes to disk and
/// renames to the target.  Until then an old file stays as it is.  Without a commit the destructor removes the
/// temporary file; those of killed processes are removed by the next writer in the directory.  Symbolic links are
/// followed, also to a file that does not exist yet.  A replaced file's mode is kept, and its owner if the system
/// permits it.
class AtomicFile {
 public:
  /// IoError if the directory is missing or not writable, or the target exists and is not a regular file.  An object
  /// that is never committed can be used to check this.
  AtomicFile(std::string op, std::string path, SourceLocation where);
  ~AtomicFile();
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  /// IoError if not all bytes can be written (disk full, quota, limit of file sizes); the target is not changed.
  void write(std::span<const std::byte> bytes);
  void commit();

 private:
  bool follow_links(struct stat& info);
  void release() noexcept;
  void create_temporary(unsigned mode);
  void open_directory();
  void sync_directory() const;
  [[noreturn]] void fail(const std::string& what, int error) const;

  std::string op_, path_;  // the path as given by the user
  std::string directory_, target_, temporary_;
  SourceLocation where_;
  int fd_ = -1;
  int lock_ = -1;    // another descriptor of the file: keeps its lock until the rename
  int folder_ = -1;  // -1 if the directory is writable but not readable
  std::uint64_t written_ = 0;
};

/// The names in a folder, in no order; `failed` says why it cannot be read.  std::filesystem's iterator ends the
/// program where memory runs out.
std::vector<std::string> names_in(const std::string& folder, std::error_code& failed);

/// A file that whole pieces are appended to; others may read it meanwhile.  IoErrors begin with `op`.
class AppendFile {
 public:
  /// Opens the file, or makes it.
  AppendFile(std::string op, std::string path, SourceLocation where);
  /// Makes a file; nullptr if there is one of this name.
  static std::unique_ptr<AppendFile> make_new(std::string op, std::string path, SourceLocation where);
  ~AppendFile();
  AppendFile(const AppendFile&) = delete;
  AppendFile& operator=(const AppendFile&) = delete;

  const std::string& path() const { return path_; }
  /// Keeps other writers away for as long as it is open; false if there is one.
  bool lock() const;
  /// Cuts it off behind `size` bytes, where the next piece goes.
  void cut(std::uint64_t size, SourceLocation where);
  /// All of it, or nothing.
  void append(std::string_view bytes, SourceLocation where);
  /// Waits until all is on the disk.
  void flush(SourceLocation where) const;

 private:
  AppendFile(std::string op, std::string path) : op_(std::move(op)), path_(std::move(path)) {}
  [[noreturn]] void fail(const char* what, int error, SourceLocation where) const;

  std::string op_, path_;
  int fd_ = -1;
  std::uint64_t size_ = 0;
};

}  // namespace minnow::io
