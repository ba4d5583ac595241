#pragma once

#include <string>
#include <minnow/tensor/io/file.h>

namespace minnow::io::detail {

/// The format of a file that is not safetensors, and a hint how to convert it.  Both are empty for an unknown format.
struct Foreign {
  std::string found, hint;
};
Foreign recognize(const InputFile& file);

}  // namespace minnow::io::detail
