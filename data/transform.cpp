#include <minnow/data/transform.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <minnow/data/detail/host.h>

namespace minnow::data {
namespace {

Tensor dense(const char* op, const Tensor& image) {
  if (!image.defined()) throw ValueError(std::string(op) + ": the image is undefined");
  if (!image.device().is_cpu())
    throw DeviceError(std::string(op) + ": images must be on the cpu\n  image  " + describe(image));
  if (image.is_contiguous()) return image;
  const Tensor copy = detail::host_tensor(image.dtype(), image.shape());
  detail::copy_host(image, copy);
  return copy;
}

Tensor dense_image(const char* op, const Tensor& image) {
  const Tensor out = dense(op, image);
  if (out.dim() != 2 && out.dim() != 3)
    throw ShapeError(std::string(op) + ": an image must be [H, W] or [C, H, W]\n  image  " + describe(image));
  if (out.dtype() != DType::uint8 && out.dtype() != DType::float32)
    throw DTypeError(std::string(op) + ": an image must be uint8 or float32\n  image  " + describe(image));
  return out;
}

/// out[y][x] = in[y + dy][x + dx], `fill` outside.
template <class T> void shift_rows(const Tensor& in, const Tensor& out, std::int64_t dy, std::int64_t dx, T fill) {
  const std::int64_t height = in.shape()[-2], width = in.shape()[-1];
  if (in.numel() == 0) return;
  const std::int64_t planes = in.numel() / (height * width);
  const T* source = in.data<T>();
  T* target = out.data<T>();
  const std::int64_t first = std::clamp<std::int64_t>(-dx, 0, width);
  const std::int64_t last = std::clamp<std::int64_t>(width - dx, first, width);
  for (std::int64_t row = 0; row < planes * height; ++row, target += width) {
    std::fill(target, target + width, fill);
    const std::int64_t y = row % height + dy;
    if (y < 0 || y >= height) continue;
    const T* from = source + (row + dy) * width;
    std::copy(from + (first + dx), from + (last + dx), target + first);
  }
}

Tensor shift(const Tensor& image, std::int64_t dy, std::int64_t dx, double fill) {
  const Tensor out = detail::host_tensor(image.dtype(), image.shape());
  if (image.dtype() == DType::uint8) shift_rows(image, out, dy, dx, static_cast<std::uint8_t>(fill));
  else shift_rows(image, out, dy, dx, static_cast<float>(fill));
  return out;
}

}  // namespace

Tensor ToFloat::operator()(const Tensor& image) const {
  const Tensor in = dense("ToFloat", image);
  if (in.dtype() == DType::float32) return image;
  if (in.dtype() != DType::uint8) throw DTypeError("ToFloat: expected uint8 or float32\n  image  " + describe(image));
  const Tensor out = detail::host_tensor(DType::float32, in.shape());
  std::transform(in.data<std::uint8_t>(), in.data<std::uint8_t>() + in.numel(), out.data<float>(),
                 [](std::uint8_t x) { return static_cast<float>(x) / 255.0F; });
  return out;
}

Tensor Normalize::operator()(const Tensor& image) const {
  if (!std::isfinite(mean) || !std::isfinite(deviation) || deviation <= 0)
    throw ValueError("Normalize: mean " + std::to_string(mean) + " and deviation " + std::to_string(deviation) +
                     "\nthe deviation must be positive, both finite");
  const Tensor in = dense("Normalize", image);
  if (in.dtype() != DType::float32)
    throw DTypeError("Normalize: expected float32\n  image  " + describe(image) + "\nput ToFloat{} before it");
  const Tensor out = detail::host_tensor(DType::float32, in.shape());
  const auto m = static_cast<float>(mean), d = static_cast<float>(deviation);
  std::transform(in.data<float>(), in.data<float>() + in.numel(), out.data<float>(),
                 [m, d](float x) { return (x - m) / d; });
  return out;
}

Tensor RandomCrop::operator()(const Tensor& image, Random& random) const {
  if (padding < 0) throw ValueError("RandomCrop: padding " + std::to_string(padding) + " is negative");
  return RandomShift{.pixels = padding}(image, random);
}

Tensor RandomShift::operator()(const Tensor& image, Random& random) const {
  if (pixels < 0) throw ValueError("RandomShift: " + std::to_string(pixels) + " pixels are negative");
  const Tensor in = dense_image("RandomShift", image);
  if (in.dtype() == DType::uint8 && !(fill >= 0 && fill <= 255))
    throw ValueError("RandomShift: fill " + std::to_string(fill) + " does not fit in uint8");
  const std::int64_t dy = random.below(2 * pixels + 1) - pixels;
  const std::int64_t dx = random.below(2 * pixels + 1) - pixels;
  return shift(in, dy, dx, fill);
}

Tensor RandomFlip::operator()(const Tensor& image, Random& random) const {
  if (!(probability >= 0 && probability <= 1))
    throw ValueError("RandomFlip: probability " + std::to_string(probability) + " is not in [0, 1]");
  const Tensor in = dense_image("RandomFlip", image);
  if (random.uniform() >= probability) return image;
  const Tensor out = detail::host_tensor(in.dtype(), in.shape());
  detail::copy_host(in, out);
  const std::int64_t width = in.shape()[-1];
  const auto mirror = [&](auto* row) {
    for (std::int64_t i = 0; i < out.numel(); i += width) std::reverse(row + i, row + i + width);
  };
  if (out.dtype() == DType::uint8) mirror(out.data<std::uint8_t>());
  else mirror(out.data<float>());
  return out;
}

}  // namespace minnow::data
