#include <minnow/tensor/io/npz.h>
#include "fuzz.h"

using namespace minnow;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const fuzz::File file;
  StateDict loaded;
  if (!fuzz::accepts(file, fuzz::text(data, size), [&](const std::string& path) { loaded = load_npz(path); })) return 0;
  const std::string saved = fuzz::folder() + "/x.npz";
  for (const bool compress : {false, true}) {
    try {
      save_npz(loaded, saved, {.compress = compress});
    } catch (const ValueError&) { return 0; }  // a name that we do not write
    fuzz::require_same(load_npz(saved), loaded);
  }
  return 0;
}
