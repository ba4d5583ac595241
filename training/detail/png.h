#pragma once

#include <string>
#include <minnow/tensor/tensor.h>

namespace minnow::training::detail {

/// The image, uint8 [C, H, W] with pixels on any device, as the bytes of a PNG file: 1 channel is grey, 3 RGB, 4 RGB
/// and alpha.  The caller has checked it.
std::string encode_png(const Tensor& image);

}  // namespace minnow::training::detail
