#include <minnow/data/transform.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <fmt/format.h>
#include <minnow/data/detail/host.h>
#include <minnow/data/detail/transform.h>
#include <minnow/tensor/backend/dispatch.h>

namespace minnow::data {

void detail::check_unit_range(const char* op, const Tensor& image, SourceLocation where) {
  if (image.dtype() != DType::float32 || image.numel() == 0) return;
  constexpr float kMargin = 0.25F;  // cubic interpolation leaves [0, 1] by less
  const std::span<const float> values(image.data<float>(), static_cast<std::size_t>(image.numel()));
  int outside = 0;
  for (const float x : values) outside |= static_cast<int>(!(x >= -kMargin && x <= 1 + kMargin));
  if (outside == 0) return;
  const auto [low, high] = std::minmax_element(values.begin(), values.end());
  throw ValueError(
      message(std::string(CallSite::op_or(op)).c_str(),
              fmt::format("the values of a float32 image must be in [0, 1], but are in [{:.3g}, {:.3g}]", *low, *high),
              {{"image", image}},
              "the image is normalized, which should come last, or bytes without / 255.  Samples of cifar10(), mnist() "
              "and any\nImageDataset are normalized; those of ImageDataset(set.images(), set.labels(), set.classes()) "
              "are in [0, 1]"),
      where);
}

namespace {

Tensor dense(const char* op, const Tensor& image, SourceLocation where) {
  if (!image.defined())
    throw ValueError(message(op, "the image is undefined", {{"image", image}},
                             "it was default-constructed, moved from, or is a gradient that was never computed"),
                     where);
  if (!image.device().is_cpu())
    throw DeviceError(message(op, "images must be on the cpu", {{"image", image}},
                              "call .cpu(), and let the loader move batches: {.device = ...}"),
                      where);
  if (image.is_contiguous()) return image;
  const Tensor copy = detail::host_tensor(image.dtype(), image.shape(), where);
  detail::copy_host(image, copy);
  return copy;
}

Tensor dense_image(const char* op, const Tensor& image, SourceLocation where) {
  const Tensor out = dense(op, image, where);
  if (out.dim() != 2 && out.dim() != 3)
    throw ShapeError(
        message(op, "an image must have two or three dimensions", {{"image", image}}, "give it [H, W] or [C, H, W]"),
        where);
  if (out.dtype() != DType::uint8 && out.dtype() != DType::float32)
    throw DTypeError(message(op, "an image must be uint8 or float32", {{"image", image}}, "convert it: .to(float32)"),
                     where);
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

Tensor shift(const Tensor& image, std::int64_t dy, std::int64_t dx, double fill, SourceLocation where) {
  const Tensor out = detail::host_tensor(image.dtype(), image.shape(), where);
  if (image.dtype() == DType::uint8) shift_rows(image, out, dy, dx, static_cast<std::uint8_t>(fill));
  else shift_rows(image, out, dy, dx, static_cast<float>(fill));
  return out;
}

void check_distance(const char* name, std::int64_t pixels, SourceLocation where) {
  constexpr std::int64_t kMax = std::int64_t{1} << 31;
  if (pixels >= 0 && pixels <= kMax) return;
  throw ValueError(std::string(CallSite::op_or("RandomShift")) + ": " + name + " must be in [0, " +
                       std::to_string(kMax) + "], got " + std::to_string(pixels) + "\nit is a distance in pixels",
                   where);
}

}  // namespace

Tensor ToFloat::operator()(const Tensor& image, SourceLocation where) const {
  const Tensor in = dense("ToFloat", image, where);
  if (in.dtype() == DType::float32) {
    detail::check_unit_range("ToFloat", in, where);
    return image;
  }
  if (in.dtype() != DType::uint8)
    throw DTypeError(
        message("ToFloat", "an image must be uint8 or float32", {{"image", image}}, "convert it: .to(float32)"), where);
  const Tensor out = detail::host_tensor(DType::float32, in.shape(), where);
  std::transform(in.data<std::uint8_t>(), in.data<std::uint8_t>() + in.numel(), out.data<float>(),
                 [](std::uint8_t x) { return static_cast<float>(x) / 255.0F; });
  return out;
}

Tensor Normalize::operator()(const Tensor& image, SourceLocation where) const {
  if (!std::isfinite(mean) || !std::isfinite(std) || std <= 0)
    throw ValueError(fmt::format("Normalize: mean must be finite, std finite and positive, got mean {} and std "
                                 "{}\npixels become (x - mean) / std",
                                 mean, std),
                     where);
  const Tensor in = dense("Normalize", image, where);
  if (in.dtype() != DType::float32)
    throw DTypeError(message("Normalize", "an image must be float32", {{"image", image}}, "put ToFloat{} before it"),
                     where);
  const Tensor out = detail::host_tensor(DType::float32, in.shape(), where);
  const auto m = static_cast<float>(mean), d = static_cast<float>(std);
  std::transform(in.data<float>(), in.data<float>() + in.numel(), out.data<float>(),
                 [m, d](float x) { return (x - m) / d; });
  return out;
}

Tensor RandomCrop::operator()(const Tensor& image, Random& random, SourceLocation where) const {
  const CallSite site("RandomCrop", where);
  check_distance("padding", padding, where);
  return RandomShift{.pixels = padding}(image, random, where);
}

Tensor RandomShift::operator()(const Tensor& image, Random& random, SourceLocation where) const {
  check_distance("pixels", pixels, where);
  const Tensor in = dense_image("RandomShift", image, where);
  if (in.dtype() == DType::uint8 && !(fill >= 0 && fill <= 255))
    throw ValueError(message("RandomShift", fmt::format("fill must be in [0, 255] for uint8, got {}", fill),
                             {{"image", image}}, "or put ToFloat{} before it"),
                     where);
  const std::int64_t dy = random.below(2 * pixels + 1) - pixels;
  const std::int64_t dx = random.below(2 * pixels + 1) - pixels;
  return shift(in, dy, dx, fill, where);
}

Tensor RandomHorizontalFlip::operator()(const Tensor& image, Random& random, SourceLocation where) const {
  if (!(p >= 0 && p <= 1))
    throw ValueError(
        fmt::format("RandomHorizontalFlip: p must be in [0, 1], got {}\nit is the probability of a flip", p), where);
  const Tensor in = dense_image("RandomHorizontalFlip", image, where);
  if (random.uniform() >= p) return image;
  const Tensor out = detail::host_tensor(in.dtype(), in.shape(), where);
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
