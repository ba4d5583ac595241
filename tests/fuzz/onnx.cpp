#include <minnow/onnx/onnx.h>
#include "fuzz.h"

using namespace minnow;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const fuzz::File file;
  StateDict first;
  const auto read = [&](const std::string& path) {
    try {
      first = onnx::load(path).state_dict();
    } catch (const IoError&) {}  // weights in a file that is not there
  };
  if (!fuzz::accepts(file, fuzz::text(data, size), read)) return 0;
  const StateDict once = first;
  fuzz::require(fuzz::accepts(file, fuzz::text(data, size), read), "it is read again");
  fuzz::require_same(once, first);
  return 0;
}
