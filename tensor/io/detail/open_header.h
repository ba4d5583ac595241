#pragma once

#include <cstdint>
#include <minnow/tensor/io/detail/header.h>
#include <minnow/tensor/io/file.h>

namespace minnow::io::detail {

/// The header, checked against the file's size, and the offset of the data.
struct Opened {
  Header header;
  std::uint64_t data = 0;
};

/// Reads the header of a safetensors file.  FormatError, IoError, OutOfMemoryError.
Opened open_header(const InputFile& file, const char* op, SourceLocation where);

}  // namespace minnow::io::detail
