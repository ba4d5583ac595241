#pragma once

#include <string>
#include <minnow/tensor/io/safetensors.h>

namespace minnow::detail {

/// Writes a safetensors file with a checksum (CRC-32) for the header and for each tensor, atomically.  Waits for copies
/// into the tensors, which are on the host.  IoError.
void write_checkpoint(const std::string& path, const StateDict& tensors, Metadata metadata, SourceLocation where);

/// A file that write_checkpoint() has written.
struct CheckpointFile {
  StateDict tensors;
  Metadata metadata;
};

/// FormatError for each file that is not, byte by byte, what write_checkpoint() has written; IoError, OutOfMemoryError.
CheckpointFile read_checkpoint(const std::string& path, SourceLocation where);

}  // namespace minnow::detail
