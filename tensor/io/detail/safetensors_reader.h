#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>
#include <minnow/tensor/io/file.h>
#include <minnow/tensor/io/safetensors.h>

namespace minnow::detail {

/// The headers of a safetensors file, or of all files of an index, and their open files.
class SafetensorsReader {
 public:
  /// FormatError, IoError, OutOfMemoryError.  Messages begin with `op`.
  SafetensorsReader(const char* op, std::unique_ptr<io::InputFile> file, bool index, SourceLocation where);

  const std::string& path() const { return path_; }
  const std::vector<TensorInfo>& tensors() const { return tensors_; }
  const Metadata& metadata() const { return metadata_; }
  const TensorInfo* find(std::string_view name) const;
  /// A tensor of tensors().
  Tensor read(const char* op, const TensorInfo& info, Device device, SourceLocation where) const;

 private:
  struct Place {
    std::size_t file = 0;
    std::uint64_t offset = 0;
    std::string checksum{};  ///< of a Checkpoint's file
  };

  void add_file(const char* op, std::unique_ptr<io::InputFile> file, SourceLocation where);
  void sort_names();
  void add_index(const char* op, const io::InputFile& index, SourceLocation where);

  std::string path_;
  std::vector<std::unique_ptr<io::InputFile>> files_;
  std::vector<TensorInfo> tensors_;
  std::vector<Place> places_;         // of tensors_
  std::vector<std::uint32_t> order_;  // tensors_ by name
  Metadata metadata_;
};

}  // namespace minnow::detail
