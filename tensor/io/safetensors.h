#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>
#include <minnow/tensor/device.h>
#include <minnow/tensor/dtype.h>
#include <minnow/tensor/io/load.h>
#include <minnow/tensor/io/metadata.h>
#include <minnow/tensor/io/save.h>
#include <minnow/tensor/io/state_dict.h>
#include <minnow/tensor/shape.h>
#include <minnow/tensor/tensor.h>

namespace minnow {

namespace detail {
class SafetensorsReader;
}

/// A tensor in a file.
struct TensorInfo {
  std::string name;
  DType dtype = DType::float32;
  Shape shape;
  std::int64_t nbytes = 0;
};

/// An open safetensors file, or an index (.index.json) with its files: what is in it, and its tensors one at a time.
///
///     SafetensorsFile file("model.safetensors.index.json");
///     for (const TensorInfo& info : file.tensors()) ...
///     Tensor w = file.load("wte.weight", "cuda");
///
/// Opening reads and checks the headers only, in milliseconds for files of any size.  load() reads the bytes of one
/// tensor straight into its memory.  The file is not mapped into memory: it may be replaced while it is open (the old
/// one is read), and where another process cuts it, load() throws IoError, not SIGBUS.  The format has no checksums;
/// those that a Checkpoint writes into the metadata of its files are checked, and are not part of metadata().
///
/// A handle: copies share the open file.  Threads may use it at the same time.
class SafetensorsFile {
 public:
  /// FormatError, with what was found and what was expected, for a file that is not valid or damaged or has a dtype or
  /// rank that Tensor does not have, and for an index that does not agree with its files; IoError; OutOfMemoryError.
  explicit SafetensorsFile(const std::string& path, SourceLocation where = SourceLocation::current());

  /// In the order of their bytes; of an index, file by file.
  const std::vector<TensorInfo>& tensors() const;
  const Metadata& metadata() const;
  const std::string& path() const;
  /// nullptr if there is no such name.
  const TensorInfo* find(std::string_view name) const;
  /// A tensor of its own memory.  IndexError if there is no such name; FormatError for a wrong checksum; IoError;
  /// DeviceError; OutOfMemoryError.
  Tensor load(std::string_view name, Device device = {}, SourceLocation where = SourceLocation::current()) const;

 private:
  std::shared_ptr<const detail::SafetensorsReader> reader_;
};

}  // namespace minnow
