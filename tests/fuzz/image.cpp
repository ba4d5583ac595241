#include <minnow/vision/image.h>
#include "fuzz.h"

using namespace minnow;

// PNG and JPEG; what was read, written as PNG, is read as the same.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const fuzz::File file;
  constexpr std::int64_t kMost = 1 << 16;
  const auto read = [&](const std::string& path, vision::ImageMode mode) {
    return vision::read_image(path, {.mode = mode, .max_pixels = kMost});
  };
  Tensor image;
  const bool accepted = fuzz::accepts(
      file, fuzz::text(data, size), [&](const std::string& path) { image = read(path, vision::ImageMode::unchanged); });
  for (const auto mode : {vision::ImageMode::grey, vision::ImageMode::rgb}) {
    Tensor other;
    const bool too =
        fuzz::accepts(file, fuzz::text(data, size), [&](const std::string& path) { other = read(path, mode); });
    fuzz::require(too == accepted, "every mode accepts the same files");
    if (!too) continue;
    fuzz::require(other.shape()[0] == (mode == vision::ImageMode::grey ? 1 : 3), "the channels of the mode");
    fuzz::require(other.shape()[1] == image.shape()[1] && other.shape()[2] == image.shape()[2], "the same size");
  }
  if (!accepted) return 0;
  const std::string saved = fuzz::folder() + "/x.png";
  vision::write_png(image, saved);
  fuzz::require(fuzz::same(vision::read_image(saved), image), "the same pixels");
  return 0;
}
