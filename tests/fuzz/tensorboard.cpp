#include <minnow/tensorboard/detail/file.h>
#include <minnow/tensorboard/tensorboard.h>
#include "fuzz.h"

using namespace minnow;

// A file; or, after an 'e', an event, in a record with its checksums, that a mutation would not find.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const fuzz::File file;
  std::string bytes(fuzz::text(data, size));
  if (bytes.starts_with('e')) {
    const std::string event = bytes.substr(1);
    const auto number = [](auto n) { return std::string(reinterpret_cast<const char*>(&n), sizeof(n)); };
    bytes = number(static_cast<std::uint64_t>(event.size()));
    bytes += number(tensorboard::detail::masked_checksum(bytes));
    bytes += event + number(tensorboard::detail::masked_checksum(event));
    if (size % 2 == 0) bytes += bytes;
  }
  std::vector<tensorboard::ScalarEvent> scalars;
  const auto read = [&](const std::string& path) { scalars = tensorboard::read_scalars(path); };
  if (!fuzz::accepts(file, bytes, read)) return 0;
  const auto whole = scalars;
  // A file that is cut off behind its first header, which says what it is, has the first of its scalars.
  if (bytes.size() / 2 < tensorboard::detail::kHeaderSize) return 0;
  fuzz::require(fuzz::accepts(file, std::string_view(bytes).substr(0, bytes.size() / 2), read),
                "its beginning is read");
  fuzz::require(scalars.size() <= whole.size(), "no more scalars");
  for (std::size_t i = 0; i < scalars.size(); ++i)
    fuzz::require(scalars[i].name == whole[i].name && scalars[i].step == whole[i].step, "the same scalars");
  return 0;
}
