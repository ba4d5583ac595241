#pragma once

#include <string>
#include <minnow/tensor/io/file.h>

namespace minnow::io::detail {

/// The formats that load() reads.
enum class Format { safetensors, index, npz, npy, torch, other };
/// "a safetensors file"
std::string name_of(Format format);
/// By the end of a path, in upper or lower case.
Format format_of_name(const std::string& path);

/// What a file's first bytes show that it is.
struct Foreign {
  Format format = Format::other;
  std::string found = {}, hint = {};  ///< a description, and how to read it; both are empty if it is not known
};
Foreign recognize(const InputFile& file);

}  // namespace minnow::io::detail
