#include <minnow/llm/llm.h>
#include "fuzz.h"

using namespace minnow;

// What a reader accepts is within the file, and can be loaded; a model of it has a config that fits.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const fuzz::File file;
  const auto read = [&](const std::string& path) {
    const llm::GgufFile open(path);
    std::uint64_t bytes = 0;
    for (const llm::GgufTensor& info : open.tensors()) {
      bytes += static_cast<std::uint64_t>(info.nbytes);
      if (bytes > 8 * size) return;  // tensors may share bytes; a test of time is none of the reader
      const Tensor w = open.load(info.name);
      fuzz::require(w.shape() == info.shape, "the shape is that of the header");
      fuzz::require(open.load_bytes(info.name).nbytes() == info.nbytes, "and so are the bytes");
    }
  };
  if (fuzz::accepts(file, fuzz::text(data, size), read))
    fuzz::accepts(file, fuzz::text(data, size),
                  [](const std::string& path) { check(llm::read_config(llm::GgufFile(path))); });
  return 0;
}
