#include <minnow/vision/detail/codec.h>

#include <algorithm>
#include <cstring>
#include <minnow/data/detail/host.h>
#include <minnow/tensor/error.h>
#include <minnow/tensor/internal.h>

namespace minnow::vision::detail {

void check_pixels(std::uint64_t width, std::uint64_t height, const ReadImageOptions& options) {
  if (width == 0 || height == 0) throw ImageFault{"an image without pixels", "at least one"};
  if (height > static_cast<std::uint64_t>(options.max_pixels) / width)
    throw ImageFault{"an image of " + std::to_string(width) + " x " + std::to_string(height) + " pixels",
                     "at most " + std::to_string(options.max_pixels) + " pixels (max_pixels)"};
}

void split_row(const std::uint8_t* row, std::uint8_t* out, std::size_t width, std::size_t channels,
               std::size_t plane) noexcept {
  if (channels == 1) {
    std::memcpy(out, row, width);
  } else if (channels == 3) {
    std::uint8_t *r = out, *g = out + plane, *b = out + 2 * plane;
    for (std::size_t x = 0; x < width; ++x, row += 3) r[x] = row[0], g[x] = row[1], b[x] = row[2];
  } else {
    for (std::size_t x = 0; x < width; ++x)
      for (std::size_t c = 0; c < channels; ++c) out[c * plane + x] = *row++;
  }
}

Tensor to_grey(const Tensor& image, SourceLocation where) {
  const std::int64_t height = image.shape()[1], width = image.shape()[2], plane = height * width;
  const Tensor out = data::detail::host_tensor(DType::uint8, {1, height, width}, where);
  if (image.shape()[0] < 3) {
    std::copy_n(image.data<std::uint8_t>(), plane, out.data<std::uint8_t>());
    return out;
  }
  const std::uint8_t *r = image.data<std::uint8_t>(), *g = r + plane, *b = g + plane;
  std::uint8_t* grey = out.data<std::uint8_t>();
  for (std::int64_t i = 0; i < plane; ++i)  // 65536 times the weights, as Pillow does
    grey[i] = static_cast<std::uint8_t>((r[i] * 19595U + g[i] * 38470U + b[i] * 7471U + 0x8000U) >> 16);
  return out;
}

}  // namespace minnow::vision::detail
