#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <minnow/tensor/source_location.h>

namespace minnow::io {

/// A regular file, open for reading at any offset.  Pipes, directories and devices are refused without
/// waiting for them.  Reading from several threads is safe.
class InputFile {
 public:
  /// IoError when the file is missing, may not be read, or is not a regular file.  `op` begins every message.
  InputFile(std::string op, std::string path, SourceLocation where);
  ~InputFile();
  InputFile(const InputFile&) = delete;
  InputFile& operator=(const InputFile&) = delete;

  /// Bytes, when the file was opened.
  std::uint64_t size() const { return size_; }
  const std::string& path() const { return path_; }
  SourceLocation where() const { return where_; }
  /// Fills `bytes` from the offset.  IoError when the system fails or the file ends before.
  void read(std::uint64_t offset, std::span<std::byte> bytes) const;
  /// The same, less only where the file ends; returns the number of bytes.
  std::size_t read_some(std::uint64_t offset, std::span<std::byte> bytes) const;

 private:
  std::string op_, path_;
  SourceLocation where_;
  int fd_ = -1;
  std::uint64_t size_ = 0;
};

/// A file that appears whole or not at all: bytes go to a temporary file in the same directory, which
/// commit() flushes to the disk and renames over the target.  Until then the old file stays as it is; without
/// a commit the destructor removes the temporary one; what a killed process left is removed by the next one that
/// writes into the directory.  A symbolic link is followed; the mode of a replaced file is kept, and its owner where
/// the system permits.
class AtomicFile {
 public:
  /// IoError when the directory is missing or not writable, or the target exists and is not a regular file.  Making
  /// one and leaving it is a check of the place.
  AtomicFile(std::string op, std::string path, SourceLocation where);
  ~AtomicFile();
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  /// IoError when the system takes fewer bytes (disk full, quota, limit of a file's size); the target is untouched.
  void write(std::span<const std::byte> bytes);
  void commit();

 private:
  void release() noexcept;
  void create_temporary(unsigned mode);
  void open_directory();
  void sync_directory() const;
  [[noreturn]] void fail(const std::string& what, int error) const;

  std::string op_, path_;  // as the user wrote it
  std::string directory_, target_, temporary_;
  SourceLocation where_;
  int fd_ = -1;
  int lock_ = -1;    // of the same file: keeps the lock until the file has its name
  int folder_ = -1;  // -1 where a directory may be written but not read
  std::uint64_t written_ = 0;
};

}  // namespace minnow::io
