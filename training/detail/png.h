#pragma once

#include <cstdint>
#include <string>

namespace minnow::detail {

/// A PNG file of pixels [height, width, channels]; channels: 1 (gray), 3 (RGB) or 4 (with alpha).
std::string encode_png(const std::uint8_t* pixels, int height, int width, int channels);

}  // namespace minnow::detail
