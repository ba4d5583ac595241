#include <minnow/vision/image_transform.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <fmt/format.h>
#include <numbers>
#include <span>
#include <minnow/data/detail/host.h>
#include <minnow/tensor/backend/dispatch.h>
#include <minnow/tensor/error.h>
#include <minnow/tensor/internal.h>
#include <minnow/vision/detail/planes.h>

namespace minnow::vision {
namespace detail {

using data::detail::copy_host;
using data::detail::host_tensor;

Planes planes_of(const char* op, const Tensor& image, SourceLocation where) {
  const std::string name(CallSite::op_or(op));
  if (!image.defined())
    throw ValueError(
        message(name.c_str(), "the image is undefined", {{"image", image}}, "it was default-constructed or moved from"),
        where);
  if (!image.device().is_cpu())
    throw DeviceError(message(name.c_str(), "images must be on the cpu", {{"image", image}},
                              "call .cpu(), and let the loader move batches: {.device = ...}"),
                      where);
  if (image.dim() < 2 || image.dim() > 4)
    throw ShapeError(message(name.c_str(), "an image must have two, three or, as a batch, four dimensions",
                             {{"image", image}}, "give it [H, W], [C, H, W] or [N, C, H, W]"),
                     where);
  if (image.dtype() != DType::uint8 && image.dtype() != DType::float32)
    throw DTypeError(
        message(name.c_str(), "an image must be uint8 or float32", {{"image", image}}, "convert it: .to(float32)"),
        where);
  Tensor dense = image;
  image.storage()->wait_ready();
  if (!image.is_contiguous()) {
    dense = host_tensor(image.dtype(), image.shape(), where);
    copy_host(image, dense);
  }
  const std::int64_t height = image.shape()[-2], width = image.shape()[-1];
  if (height == 0 || width == 0)
    throw ShapeError(message(name.c_str(), "an image must have pixels", {{"image", image}}, "its height or width is 0"),
                     where);
  return {dense, dense.numel() / (height * width), height, width, dense.dtype() == DType::uint8};
}

Tensor Planes::like(std::int64_t new_height, std::int64_t new_width, SourceLocation where) const {
  Shape shape = tensor.shape();
  shape[-2] = new_height;
  shape[-1] = new_width;
  return host_tensor(tensor.dtype(), shape, where);
}

void Planes::read(std::int64_t k, std::vector<float>& out) const {
  out.resize(static_cast<std::size_t>(size()));
  if (bytes) std::copy_n(tensor.data<std::uint8_t>() + k * size(), size(), out.begin());
  else std::copy_n(tensor.data<float>() + k * size(), size(), out.begin());
}

void write_plane(const Tensor& out, std::int64_t k, const std::vector<float>& in, bool truncate) {
  const auto first = k * static_cast<std::int64_t>(in.size());
  if (out.dtype() == DType::float32) {
    std::copy(in.begin(), in.end(), out.data<float>() + first);
    return;
  }
  std::transform(in.begin(), in.end(), out.data<std::uint8_t>() + first, [truncate](float x) {
    return static_cast<std::uint8_t>(std::clamp(truncate ? x : std::nearbyint(x), 0.0F, 255.0F));
  });
}

Tensor image_of(const Tensor& batch, std::int64_t i, SourceLocation where) {
  const Planes planes = planes_of("PerImage", batch, where);
  const Shape shape = data::detail::row_shape(batch.shape());
  return Tensor(planes.tensor.storage(), batch.dtype(), shape, contiguous_strides(shape),
                planes.tensor.storage_offset() + i * shape.numel());
}

Tensor stack_images(const std::vector<Tensor>& images, SourceLocation where) {
  Shape shape = images[0].shape();
  for (const Tensor& image : images)
    if (image.shape() != shape || image.dtype() != images[0].dtype())
      throw ShapeError("PerImage: the function gave images of different shapes or dtypes\n  first  " +
                           describe(images[0]) + "\n  other  " + describe(image) + "\nmake them one size: Resize",
                       where);
  shape.insert(0, static_cast<std::int64_t>(images.size()));
  const Tensor out = host_tensor(images[0].dtype(), shape, where);
  const Shape one = images[0].shape();
  for (std::size_t i = 0; i < images.size(); ++i)
    copy_host(images[i], Tensor(out.storage(), out.dtype(), one, contiguous_strides(one),
                                static_cast<std::int64_t>(i) * one.numel()));
  return out;
}

}  // namespace detail

namespace {

using detail::Planes;
using detail::planes_of;
using detail::write_plane;

constexpr std::int64_t kMaxSide = std::int64_t{1} << 24;

void check_side(const char* op, std::int64_t height, std::int64_t width, SourceLocation where) {
  if (height >= 1 && width >= 1 && height <= kMaxSide && width <= kMaxSide) return;
  throw ValueError(fmt::format("{}: height and width must be in [1, {}], got {} and {}\nthey count pixels",
                               CallSite::op_or(op), kMaxSide, height, width),
                   where);
}

void check_range(const char* op, const char* name, const std::array<double, 2>& range, double low, double high,
                 SourceLocation where) {
  if (range[0] >= low && range[0] <= range[1] && range[1] <= high) return;
  throw ValueError(fmt::format("{}: {} must be two numbers in [{}, {}], the smaller first, got {} and {}\nthey are the "
                               "limits of a random number",
                               op, name, low, high, range[0], range[1]),
                   where);
}

void check_number(const char* op, const char* name, double value, double low, double high, SourceLocation where) {
  if (value >= low && value <= high) return;
  throw ValueError(fmt::format("{}: {} must be in [{}, {}], got {}\ncorrect the option", CallSite::op_or(op), name, low,
                               high, value),
                   where);
}

constexpr double kLarge = 1e9;

double radians(double degrees) { return degrees * std::numbers::pi / 180; }

/// The place in the image, relative to its centre, from which a place of the result is taken.
std::array<double, 6> inverse(const AffineOptions& o) {
  const double turn = radians(o.degrees), sx = radians(o.shear[0]), sy = radians(o.shear[1]);
  const double a = std::cos(turn - sy) / std::cos(sy);
  const double b = -std::cos(turn - sy) * std::tan(sx) / std::cos(sy) - std::sin(turn);
  const double c = std::sin(turn - sy) / std::cos(sy);
  const double d = -std::sin(turn - sy) * std::tan(sx) / std::cos(sy) + std::cos(turn);
  std::array<double, 6> m = {d / o.scale, -b / o.scale, 0, -c / o.scale, a / o.scale, 0};
  m[2] = -m[0] * o.translate[0] - m[1] * o.translate[1];
  m[5] = -m[3] * o.translate[0] - m[4] * o.translate[1];
  return m;
}

/// What one pixel of a resized row is made of.
struct Taps {
  std::int64_t first = 0;
  std::vector<float> weights;
};

std::vector<Taps> taps(std::int64_t in, std::int64_t out, bool antialias) {
  const double scale = static_cast<double>(in) / static_cast<double>(out);
  std::vector<Taps> all(static_cast<std::size_t>(out));
  for (std::int64_t i = 0; i < out; ++i) {
    Taps& tap = all[static_cast<std::size_t>(i)];
    const double center = scale * (static_cast<double>(i) + 0.5);
    if (!antialias || scale <= 1) {  // between the two nearest
      const double at = std::max(center - 0.5, 0.0);
      tap.first = std::min(static_cast<std::int64_t>(at), in - 1);
      const auto part = static_cast<float>(at - static_cast<double>(tap.first));
      tap.weights = {1 - part};
      if (tap.first + 1 < in) tap.weights.push_back(part);
      else tap.weights[0] = 1;
      continue;
    }
    tap.first = std::max<std::int64_t>(static_cast<std::int64_t>(std::floor(center - scale + 0.5)), 0);
    const std::int64_t end = std::min(static_cast<std::int64_t>(std::floor(center + scale + 0.5)), in);
    double sum = 0;
    for (std::int64_t j = tap.first; j < end; ++j) {
      const double w = std::max(0.0, 1 - std::abs((static_cast<double>(j) - center + 0.5) / scale));
      tap.weights.push_back(static_cast<float>(w));
      sum += w;
    }
    for (float& w : tap.weights) w = static_cast<float>(w / sum);
  }
  return all;
}

template <class F> Tensor copy_planes(const Planes& in, const Tensor& out, F rows) {
  const std::size_t item = in.tensor.itemsize();
  const auto* from = static_cast<const char*>(in.tensor.raw_data());
  auto* to = static_cast<char*>(out.raw_data());
  const std::int64_t height = out.shape()[-2], width = out.shape()[-1];
  for (std::int64_t k = 0; k < in.count; ++k)
    for (std::int64_t y = 0; y < height; ++y) {
      const auto [row, column] = rows(y);
      std::memcpy(to + static_cast<std::size_t>((k * height + y) * width) * item,
                  from + static_cast<std::size_t>((k * in.height + row) * in.width + column) * item,
                  static_cast<std::size_t>(width) * item);
    }
  return out;
}

Tensor cut(const Planes& in, std::int64_t top, std::int64_t left, std::int64_t height, std::int64_t width,
           SourceLocation where) {
  return copy_planes(in, in.like(height, width, where), [&](std::int64_t y) { return std::pair{top + y, left}; });
}

Tensor resize_planes(const Planes& in, std::int64_t height, std::int64_t width, bool antialias, SourceLocation where) {
  if (height == in.height && width == in.width) return in.tensor;
  const std::vector<Taps> columns = taps(in.width, width, antialias), rows = taps(in.height, height, antialias);
  const Tensor out = in.like(height, width, where);
  std::vector<float> plane, narrow(static_cast<std::size_t>(in.height * width)),
      result(static_cast<std::size_t>(height * width));
  for (std::int64_t k = 0; k < in.count; ++k) {
    in.read(k, plane);
    float* cell = narrow.data();
    for (std::int64_t y = 0; y < in.height; ++y)
      for (const Taps& tap : columns) {
        const float* from = plane.data() + y * in.width + tap.first;
        float sum = 0;
        for (const float w : tap.weights) sum += w * *from++;
        *cell++ = sum;
      }
    float* target = result.data();
    for (const Taps& tap : rows) {
      std::fill_n(target, width, 0.0F);
      const float* from = narrow.data() + tap.first * width;
      for (const float w : tap.weights)
        for (std::int64_t x = 0; x < width; ++x) target[x] += w * *from++;
      target += width;
    }
    write_plane(out, k, result, false);
  }
  return out;
}

Tensor move(const Planes& in, const AffineOptions& options, SourceLocation where) {
  const std::array<double, 6> m = inverse(options);
  const Tensor out = in.like(in.height, in.width, where);
  std::vector<float> plane, result(static_cast<std::size_t>(in.size()));
  const double half_x = static_cast<double>(in.width - 1) / 2, half_y = static_cast<double>(in.height - 1) / 2;
  const auto fill = static_cast<float>(options.fill);
  for (std::int64_t k = 0; k < in.count; ++k) {
    in.read(k, plane);
    const auto at = [&](std::int64_t y, std::int64_t x) {
      return y >= 0 && y < in.height && x >= 0 && x < in.width ? plane[static_cast<std::size_t>(y * in.width + x)]
                                                               : fill;
    };
    float* cell = result.data();
    for (std::int64_t row = 0; row < in.height; ++row)
      for (std::int64_t column = 0; column < in.width; ++column) {
        const double x0 = static_cast<double>(column) - half_x, y0 = static_cast<double>(row) - half_y;
        const double x = std::clamp(m[0] * x0 + m[1] * y0 + m[2] + half_x, -1e9, 1e9);
        const double y = std::clamp(m[3] * x0 + m[4] * y0 + m[5] + half_y, -1e9, 1e9);
        if (options.interpolation == Interpolation::nearest) {
          *cell++ = at(static_cast<std::int64_t>(std::nearbyint(y)), static_cast<std::int64_t>(std::nearbyint(x)));
          continue;
        }
        const auto left = static_cast<std::int64_t>(std::floor(x)), top = static_cast<std::int64_t>(std::floor(y));
        const auto wx = static_cast<float>(x - static_cast<double>(left)),
                   wy = static_cast<float>(y - static_cast<double>(top));
        *cell++ = (1 - wy) * ((1 - wx) * at(top, left) + wx * at(top, left + 1)) +
                  wy * ((1 - wx) * at(top + 1, left) + wx * at(top + 1, left + 1));
      }
    write_plane(out, k, result, false);
  }
  return out;
}

Tensor checked_move(const char* op, const Tensor& image, const AffineOptions& options, SourceLocation where) {
  const CallSite site(op, where);
  check_number(op, "degrees", options.degrees, -kLarge, kLarge, where);
  check_number(op, "scale", options.scale, 1e-6, kLarge, where);
  for (int i = 0; i < 2; ++i) {
    check_number(op, "translate", options.translate[static_cast<std::size_t>(i)], -kLarge, kLarge, where);
    check_number(op, "shear", options.shear[static_cast<std::size_t>(i)], -89, 89, where);
  }
  if (options.interpolation != Interpolation::nearest && options.interpolation != Interpolation::bilinear)
    throw ValueError(std::string(op) + ": images are moved by Interpolation::nearest or bilinear\nchoose one of them",
                     where);
  const Planes in = planes_of(op, image, where);
  check_number(op, "fill", options.fill, in.bytes ? 0 : -kLarge, in.bytes ? 255 : kLarge, where);
  return move(in, options, where);
}

}  // namespace

Tensor affine(const Tensor& image, const AffineOptions& options, SourceLocation where) {
  return checked_move("affine", image, options, where);
}

Tensor rotate(const Tensor& image, double degrees, Interpolation interpolation, double fill, SourceLocation where) {
  AffineOptions options;
  options.degrees = -degrees;
  options.interpolation = interpolation;
  options.fill = fill;
  return checked_move("rotate", image, options, where);
}

Tensor resize(const Tensor& image, std::int64_t height, std::int64_t width, bool antialias, SourceLocation where) {
  check_side("resize", height, width, where);
  return resize_planes(planes_of("resize", image, where), height, width, antialias, where);
}

Tensor crop(const Tensor& image, std::int64_t top, std::int64_t left, std::int64_t height, std::int64_t width,
            SourceLocation where) {
  const CallSite site("crop", where);
  check_side("crop", height, width, where);
  const Planes in = planes_of("crop", image, where);
  if (top < 0 || left < 0 || top > in.height - height || left > in.width - width)
    throw ShapeError(
        message(std::string(CallSite::op_or("crop")).c_str(),
                fmt::format("the window of {} x {} at ({}, {}) is not within the image", height, width, top, left),
                {{"image", image}}, "pad the image, or make the window smaller"),
        where);
  return cut(in, top, left, height, width, where);
}

Tensor CenterCrop::operator()(const Tensor& image, SourceLocation where) const {
  const CallSite site("CenterCrop", where);
  check_side("CenterCrop", height, width, where);
  const Planes in = planes_of("CenterCrop", image, where);
  const auto middle = [](std::int64_t all, std::int64_t part) {
    return static_cast<std::int64_t>(std::nearbyint(static_cast<double>(all - part) / 2));  // as Python's round()
  };
  return crop(image, middle(in.height, height), middle(in.width, width), height, width, where);
}

Tensor Resize::operator()(const Tensor& image, SourceLocation where) const {
  const CallSite site("Resize", where);
  return resize(image, height, width, antialias, where);
}

Tensor RandomVerticalFlip::operator()(const Tensor& image, data::Random& random, SourceLocation where) const {
  check_number("RandomVerticalFlip", "p", p, 0, 1, where);
  const Planes in = planes_of("RandomVerticalFlip", image, where);
  if (random.uniform() >= p) return image;
  return copy_planes(in, in.like(in.height, in.width, where), [&](std::int64_t y) {
    return std::pair{in.height - 1 - y, std::int64_t{0}};
  });
}

Tensor RandomRotation::operator()(const Tensor& image, data::Random& random, SourceLocation where) const {
  const CallSite site("RandomRotation", where);
  check_number("RandomRotation", "degrees", degrees, 0, kLarge, where);
  return rotate(image, random.uniform(-degrees, degrees), interpolation, fill, where);
}

Tensor RandomAffine::operator()(const Tensor& image, data::Random& random, SourceLocation where) const {
  const CallSite site("RandomAffine", where);
  check_number("RandomAffine", "degrees", degrees, 0, kLarge, where);
  check_number("RandomAffine", "shear", shear, 0, 89, where);
  check_number("RandomAffine", "translate", translate[0], 0, 1, where);
  check_number("RandomAffine", "translate", translate[1], 0, 1, where);
  check_range("RandomAffine", "scale", scale, 1e-6, kLarge, where);
  const Planes in = planes_of("RandomAffine", image, where);
  AffineOptions options;
  options.degrees = random.uniform(-degrees, degrees);
  const double dx = translate[0] * static_cast<double>(in.width), dy = translate[1] * static_cast<double>(in.height);
  options.translate[0] = std::nearbyint(random.uniform(-dx, dx));
  options.translate[1] = std::nearbyint(random.uniform(-dy, dy));
  options.scale = random.uniform(scale[0], scale[1]);
  options.shear[0] = random.uniform(-shear, shear);
  options.interpolation = interpolation;
  options.fill = fill;
  return affine(image, options, where);
}

namespace {

constexpr int kTries = 10;

/// A number whose logarithm is uniform.
double log_uniform(const std::array<double, 2>& range, data::Random& random) {
  return std::exp(random.uniform(std::log(range[0]), std::log(range[1])));
}

}  // namespace

Tensor RandomErasing::operator()(const Tensor& image, data::Random& random, SourceLocation where) const {
  const CallSite site("RandomErasing", where);
  check_number("RandomErasing", "p", p, 0, 1, where);
  check_range("RandomErasing", "scale", scale, 0, 1, where);
  check_range("RandomErasing", "ratio", ratio, 1e-6, kLarge, where);
  const Planes in = planes_of("RandomErasing", image, where);
  check_number("RandomErasing", "value", value, in.bytes ? 0 : -kLarge, in.bytes ? 255 : kLarge, where);
  if (random.uniform() >= p) return image;
  for (int attempt = 0; attempt < kTries; ++attempt) {
    const double area = static_cast<double>(in.size()) * random.uniform(scale[0], scale[1]);
    const double aspect = log_uniform(ratio, random);
    const auto height = std::llround(std::sqrt(area * aspect)), width = std::llround(std::sqrt(area / aspect));
    if (height >= in.height || width >= in.width) continue;
    const std::int64_t top = random.below(in.height - height + 1), left = random.below(in.width - width + 1);
    const Tensor out = in.like(in.height, in.width, where);
    std::memcpy(out.raw_data(), in.tensor.raw_data(), static_cast<std::size_t>(out.nbytes()));
    for (std::int64_t k = 0; k < in.count; ++k)
      for (std::int64_t y = top; y < top + height; ++y) {
        const std::int64_t first = (k * in.height + y) * in.width + left;
        if (in.bytes) std::fill_n(out.data<std::uint8_t>() + first, width, static_cast<std::uint8_t>(value));
        else std::fill_n(out.data<float>() + first, width, static_cast<float>(value));
      }
    return out;
  }
  return image;
}

std::array<std::int64_t, 4> RandomResizedCrop::window(std::int64_t in_height, std::int64_t in_width,
                                                      data::Random& random, SourceLocation where) const {
  check_side("RandomResizedCrop", height, width, where);
  check_range("RandomResizedCrop", "scale", scale, 0, 1, where);
  check_range("RandomResizedCrop", "ratio", ratio, 1e-6, kLarge, where);
  for (int attempt = 0; attempt < kTries; ++attempt) {
    const double area = static_cast<double>(in_height * in_width) * random.uniform(scale[0], scale[1]);
    const double aspect = log_uniform(ratio, random);
    const auto w = std::llround(std::sqrt(area * aspect)), h = std::llround(std::sqrt(area / aspect));
    if (w <= 0 || h <= 0 || w > in_width || h > in_height) continue;
    const std::int64_t top = random.below(in_height - h + 1), left = random.below(in_width - w + 1);
    return {top, left, h, w};
  }
  // The largest window in the middle whose ratio is in the range.
  const double own = static_cast<double>(in_width) / static_cast<double>(in_height);
  std::int64_t h = in_height, w = in_width;
  if (own < ratio[0]) h = std::clamp<std::int64_t>(std::llround(static_cast<double>(w) / ratio[0]), 1, in_height);
  else if (own > ratio[1]) w = std::clamp<std::int64_t>(std::llround(static_cast<double>(h) * ratio[1]), 1, in_width);
  return {(in_height - h) / 2, (in_width - w) / 2, h, w};
}

Tensor RandomResizedCrop::operator()(const Tensor& image, data::Random& random, SourceLocation where) const {
  const CallSite site("RandomResizedCrop", where);
  const Planes in = planes_of("RandomResizedCrop", image, where);
  const auto [top, left, h, w] = window(in.height, in.width, random, where);
  return resize(cut(in, top, left, h, w, where), height, width, antialias, where);
}

}  // namespace minnow::vision
