#pragma once

#include <concepts>
#include <cstdint>
#include <string>
#include <minnow/tensor/io/metadata.h>
#include <minnow/tensor/io/state_dict.h>

namespace minnow {

struct SaveOptions {
  /// Tensors of more bytes than this are divided among several files of at most this size (one tensor may be larger).
  /// 0: one file.
  std::int64_t max_shard_bytes = 0;
  Metadata metadata = {};
};

/// Writes a safetensors file, which the Python package `safetensors` can read and would write with the same bytes; as
/// .npz or .npy (one tensor, whatever its name) if the path ends so.  Tensors on any device and with any strides are
/// copied to the host; gradients are not written.  The file is replaced atomically: until the new one is complete and
/// flushed, an old file stays as it is.
///
/// With .max_shard_bytes, what is larger becomes net-00001-of-00003.safetensors, ..., and an index of them,
/// net.safetensors.index.json, as Hugging Face writes them for net.safetensors.  A path that ends in .index.json is the
/// index's own, and there always is one.  All files are written before the first of an old set is replaced; the old
/// index is removed first and the new one comes last, so that a crash in between leaves no index that mixes old and
/// new.  What an earlier save left in the other form, one file or an index, is removed last: it would be read in place
/// of the new one.
///
/// ValueError for an undefined tensor, a name or metadata that is not UTF-8, the reserved name "__metadata__", metadata
/// for a format without it, and PyTorch's own .pt, .pth and .bin, which are read only; DTypeError for bfloat16 as
/// NumPy's files; IoError if a file cannot be written.
void save(const StateDict& tensors, const std::string& path, const Metadata& metadata = {},
          SourceLocation where = SourceLocation::current());
void save(const StateDict& tensors, const std::string& path, const SaveOptions& options,
          SourceLocation where = SourceLocation::current());
/// The same for one tensor, under the name "tensor".  load_tensor(path) reads it.
template <std::derived_from<Tensor> T>
void save(const T& tensor, const std::string& path, SourceLocation where = SourceLocation::current()) {
  save(StateDict{{"tensor", tensor}}, path, SaveOptions{}, where);
}

}  // namespace minnow
