#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <minnow/tensor/source_location.h>

namespace minnow::data::detail {

/// The content of a file that may be packed with gzip, from its beginning.
class ByteReader {
 public:
  virtual ~ByteReader() = default;
  /// Fills `out`; less only where the content ends.  FormatError for damaged content.
  virtual std::size_t read(std::span<std::uint8_t> out) = 0;
  /// Checks that the content ends here, with the right checksum where there is one.  FormatError.
  virtual void finish() = 0;
  /// No content of this file can be longer, whatever its header says.
  virtual std::uint64_t most() const = 0;
};

/// Opens a file and finds out by its first bytes whether it is gzip.  IoError; FormatError for a name that
/// ends in .gz and content that is not gzip.
std::unique_ptr<ByteReader> open_bytes(const std::string& path, SourceLocation where);

/// "'<!DOCTYPE' (a web page)", "3c 21": the first bytes of a file, for messages.
std::string show_bytes(std::span<const std::uint8_t> bytes);

}  // namespace minnow::data::detail
