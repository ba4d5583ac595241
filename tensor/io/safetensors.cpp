#include <minnow/tensor/io/safetensors.h>

#include <minnow/tensor/error.h>
#include <minnow/tensor/internal.h>
#include <minnow/tensor/io/detail/foreign.h>
#include <minnow/tensor/io/detail/safetensors_reader.h>
#include <minnow/tensor/io/detail/selection.h>

namespace minnow {

SafetensorsFile::SafetensorsFile(const std::string& path, SourceLocation where) {
  constexpr const char* kOp = "SafetensorsFile";
  const CallSite site(kOp, where);
  auto file = std::make_unique<io::InputFile>(kOp, path, where);
  const bool index = io::detail::format_of_name(path) == io::detail::Format::index;
  reader_ = std::make_shared<detail::SafetensorsReader>(kOp, std::move(file), index, where);
}

const std::vector<TensorInfo>& SafetensorsFile::tensors() const { return reader_->tensors(); }
const Metadata& SafetensorsFile::metadata() const { return reader_->metadata(); }
const std::string& SafetensorsFile::path() const { return reader_->path(); }
const TensorInfo* SafetensorsFile::find(std::string_view name) const { return reader_->find(name); }

Tensor SafetensorsFile::load(std::string_view name, Device device, SourceLocation where) const {
  constexpr const char* kOp = "SafetensorsFile::load";
  const CallSite site(kOp, where);
  if (const TensorInfo* info = find(name)) return reader_->read(kOp, *info, device, where);
  std::vector<std::string> names;
  for (const TensorInfo& info : tensors()) names.push_back(info.name);
  throw IndexError(std::string(kOp) + ": no tensor of '" + path() + "' is named '" + std::string(name) +
                       "'\n  there are  " + io::detail::listed(names) + "\nuse one of the names of tensors()",
                   where);
}

}  // namespace minnow
