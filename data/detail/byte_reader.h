#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <minnow/tensor/source_location.h>

namespace minnow::data::detail {

/// Reads the content of a file, which may be compressed with gzip, from its beginning.
class ByteReader {
 public:
  virtual ~ByteReader() = default;
  /// Fills `out`; less only where the content ends.  FormatError for damaged content.
  virtual std::size_t read(std::span<std::uint8_t> out) = 0;
  /// Checks that the content ends here, with the right checksum where there is one.  FormatError.
  virtual void finish() = 0;
  /// An upper bound of the content's size, from the size of the file.
  virtual std::uint64_t max_size() const = 0;
};

/// Opens a file and detects gzip by its first bytes.  IoError; FormatError for a name that ends in .gz and other
/// content.
std::unique_ptr<ByteReader> open_bytes(const std::string& path, SourceLocation where);

/// "'<!DOCTYPE' (a web page)", "3c 21": the first bytes of a file, for errors.
std::string show_bytes(std::span<const std::uint8_t> bytes);

}  // namespace minnow::data::detail
