#include <minnow/vision/cifar.h>
#include "fuzz.h"

using namespace minnow;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const fuzz::File file;
  static const std::string root = [] {
    const std::string link = fuzz::folder() + "/test_batch.bin";
    fuzz::require(symlink(file.path().c_str(), link.c_str()) == 0, "symlink");
    return fuzz::folder();
  }();
  file.write(fuzz::text(data, size));
  constexpr std::size_t kRecord = 3073;
  bool accepted = true, valid = size > 0 && size % kRecord == 0;
  for (std::size_t at = 0; valid && at < size; at += kRecord) valid = data[at] < 10;
  try {
    const data::ImageDataset images = vision::cifar10("test", {.root = root});
    fuzz::require(static_cast<std::size_t>(images.size()) * kRecord == size, "every image");
    const auto last = static_cast<std::size_t>(images.size()) - 1;
    fuzz::require(images.get(images.size() - 1).labels.item<std::int64_t>() == data[last * kRecord], "the last label");
  } catch (const FormatError&) { accepted = false; }
  fuzz::require(accepted == valid, "exactly the valid files are accepted");
  return 0;
}
