#include <minnow/data/file_dataset.h>
#include <minnow/tensor/io/safetensors.h>
#include "fuzz.h"

using namespace minnow;

// Every byte of the data is in one tensor, and what is saved again loads as the same.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const fuzz::File file;
  StateDict loaded;
  const auto read = [&](const std::string& path) {  // load() would go by the content
    const SafetensorsFile open(path);
    for (const TensorInfo& info : open.tensors()) loaded.set(info.name, open.load(info.name));
  };
  if (!fuzz::accepts(file, fuzz::text(data, size), read)) {
    fuzz::require(!fuzz::accepts(file, fuzz::text(data, size), [](const std::string& path) { SafetensorsFile{path}; }),
                  "the header is refused again");
    return 0;
  }
  std::uint64_t length = 0, bytes = 0;
  std::memcpy(&length, data, sizeof(length));
  for (const auto& [name, tensor] : loaded) bytes += static_cast<std::uint64_t>(tensor.nbytes());
  fuzz::require(8 + length + bytes == size, "every byte belongs to a tensor");
  for (const auto& [name, tensor] : loaded) {
    if (tensor.dim() == 0 || tensor.numel() == 0) continue;
    const Tensor row = data::FileTensor::safetensors(file.path(), name).row(0);
    fuzz::require(std::memcmp(row.raw_data(), tensor.raw_data(), static_cast<std::size_t>(row.nbytes())) == 0,
                  "a row is that of the tensor");
  }
  const std::string saved = fuzz::folder() + "/x.safetensors";
  const Metadata metadata = load_metadata(file.path());
  save(loaded, saved, metadata);
  fuzz::require_same(load(saved), loaded);
  fuzz::require(load_metadata(saved) == metadata, "the same metadata");
  return 0;
}
