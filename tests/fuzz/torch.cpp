#include <minnow/tensor/io/load.h>
#include <minnow/tensor/io/safetensors.h>
#include "fuzz.h"

using namespace minnow;

// What torch.save() wrote; the same tensors come back from a safetensors file.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const fuzz::File file;
  static const std::string path = [] {
    std::string link = fuzz::folder() + "/x.pt";
    fuzz::require(symlink(file.path().c_str(), link.c_str()) == 0, "symlink");
    return link;
  }();
  file.write(fuzz::text(data, size));
  StateDict loaded;
  try {
    loaded = load(path);
  } catch (const FormatError& error) {
    fuzz::require(std::string_view(error.what()).find(path) != std::string_view::npos, "the error names the path");
    return 0;
  }
  load_metadata(path);
  std::int64_t bytes = 0;
  for (const auto& [name, tensor] : loaded) bytes += tensor.nbytes();
  if (bytes > 1 << 22) return 0;  // dimensions of stride 0 repeat elements
  const std::string saved = fuzz::folder() + "/x.safetensors";
  StateDict dense;
  for (const auto& [name, tensor] : loaded) dense.set(name, tensor.contiguous());
  try {
    save(loaded, saved);
  } catch (const ValueError&) { return 0; }  // the reserved name
  fuzz::require_same(load(saved), dense);
  return 0;
}
