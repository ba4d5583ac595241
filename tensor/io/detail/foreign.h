#pragma once

#include <string>
#include <minnow/tensor/io/file.h>

namespace minnow::io::detail {

/// A file of another format: what it is, and how its tensors become a safetensors file.  Both empty for a format that
/// is not known.
struct Foreign {
  std::string found, hint;
};
Foreign recognize(const InputFile& file);

}  // namespace minnow::io::detail
