#pragma once

#include <cstdint>
#include <vector>
#include <minnow/tensor/tensor.h>

namespace minnow::vision::detail {

/// An image or a batch of images, dense and on the cpu: planes of height x width.
struct Planes {
  Tensor tensor;
  std::int64_t count, height, width;
  bool bytes;  // uint8, else float32

  std::int64_t size() const { return height * width; }
  /// A tensor of the same dtype with other last two sizes.
  Tensor like(std::int64_t new_height, std::int64_t new_width, SourceLocation where) const;
  /// The elements of plane k as float.
  void read(std::int64_t k, std::vector<float>& out) const;
};

/// DTypeError, ShapeError or DeviceError for what is not an image.
Planes planes_of(const char* op, const Tensor& image, SourceLocation where);
/// Writes floats as elements of plane k; for bytes they are rounded (or truncated), between 0 and 255.
void write_plane(const Tensor& out, std::int64_t k, const std::vector<float>& in, bool truncate);

}  // namespace minnow::vision::detail
