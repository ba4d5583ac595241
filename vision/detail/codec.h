#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>
#include <minnow/vision/image.h>

// What libpng and libjpeg do.
namespace minnow::vision::detail {

/// Why a file is refused.  The caller adds the path.
struct ImageFault {
  std::string found, expected;
};

/// The whole content of an image file, decoded: uint8 [C, H, W].  Throws ImageFault.
Tensor decode_png(std::span<const std::byte> file, const ReadImageOptions& options, SourceLocation where);
Tensor decode_jpeg(std::span<const std::byte> file, const ReadImageOptions& options, SourceLocation where);

/// A JPEG file of contiguous uint8 [C, H, W], C = 1 or 3.
std::vector<std::byte> encode_jpeg(const Tensor& image, int quality, SourceLocation where);
/// A PNG file of contiguous uint8 [C, H, W], C = 1 to 4.
std::vector<std::byte> encode_png(const Tensor& image, SourceLocation where);

/// ImageFault for a size of 0 or above max_pixels.
void check_pixels(std::uint64_t width, std::uint64_t height, const ReadImageOptions& options);
/// Writes a row of interleaved channels into planes of `plane` elements.
void split_row(const std::uint8_t* row, std::uint8_t* out, std::size_t width, std::size_t channels,
               std::size_t plane) noexcept;
/// [3 or 4, H, W] to [1, H, W] by the luma of BT.601, with Pillow's rounding.
Tensor to_grey(const Tensor& image, SourceLocation where);

}  // namespace minnow::vision::detail
