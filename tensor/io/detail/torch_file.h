#pragma once

#include <minnow/tensor/io/file.h>
#include <minnow/tensor/io/load.h>

namespace minnow::io::detail {

/// What torch.save() wrote: load() says how it becomes names and tensors.  FormatError, IoError, OutOfMemoryError,
/// DeviceError, ValueError.
StateDict load_torch(const InputFile& file, const LoadOptions& options, SourceLocation where);
/// Its strings.  Messages begin with `op`.
Metadata load_torch_metadata(const char* op, const InputFile& file, SourceLocation where);

}  // namespace minnow::io::detail
