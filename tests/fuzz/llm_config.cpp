#include <minnow/llm/detail/lora_config.h>
#include <minnow/llm/llm.h>
#include "fuzz.h"

using namespace minnow;

// The first byte says whether it is an adapter_config.json, 'a', or a config.json.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const fuzz::File file;
  if (size == 0) return 0;
  const std::string_view text = fuzz::text(data + 1, size - 1);
  if (data[0] == 'a')
    fuzz::accepts(file, text, [](const std::string& path) {
      fuzz::require(!llm::lora::detail::read_config(path, {}).targets.empty(), "an adapter has targets");
    });
  else fuzz::accepts(file, text, [](const std::string& path) { check(llm::read_config(path)); });
  return 0;
}
