#include <minnow/vision/image_transform.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <fmt/format.h>
#include <minnow/data/detail/host.h>
#include <minnow/data/detail/transform.h>
#include <minnow/tensor/backend/dispatch.h>
#include <minnow/tensor/error.h>
#include <minnow/tensor/internal.h>
#include <minnow/vision/detail/planes.h>

namespace minnow::vision {
namespace {

using detail::Planes;
using detail::planes_of;
using detail::write_plane;

/// An image whose channels are 3, or 1: colours.
Planes colors_of(const char* op, const Tensor& image, SourceLocation where) {
  const Planes in = planes_of(op, image, where);
  const std::int64_t channels = image.dim() < 3 ? 1 : image.shape()[-3];
  if (channels == 1 || channels == 3) return in;
  throw ShapeError(message(std::string(CallSite::op_or(op)).c_str(), "an image must have 1 or 3 channels",
                           {{"image", image}}, "give it [3, H, W] or [1, H, W]"),
                   where);
}

/// The same, of values that can be cut to the range of colours.
Planes bounded_colors_of(const char* op, const Tensor& image, SourceLocation where) {
  const Planes in = colors_of(op, image, where);
  data::detail::check_unit_range(op, in.tensor, where);
  return in;
}

bool is_rgb(const Tensor& image) { return image.dim() >= 3 && image.shape()[-3] == 3; }

void check_factor(const char* op, double factor, double low, double high, SourceLocation where) {
  if (factor >= low && factor <= high) return;
  throw ValueError(fmt::format("{}: the factor must be in [{}, {}], got {}\n{} leaves the image as it is",
                               CallSite::op_or(op), low, high, factor, low < 0 ? 0 : 1),
                   where);
}

constexpr double kMaxFactor = 1e6;

using Rgb = std::array<std::vector<float>, 3>;

/// The grey values of the three planes from k on.
void grey_of(const Planes& in, std::int64_t k, Rgb& rgb, std::vector<float>& grey) {
  for (std::int64_t c = 0; c < 3; ++c) in.read(k + c, rgb[static_cast<std::size_t>(c)]);
  grey.resize(rgb[0].size());
  for (std::size_t i = 0; i < grey.size(); ++i) grey[i] = rgb[0][i] * 0.2989F + 0.587F * rgb[1][i] + 0.114F * rgb[2][i];
}

float bound_of(const Planes& in) { return in.bytes ? 255.0F : 1.0F; }

/// a * factor + b * (1 - factor), in the range of the dtype.
void blend(std::vector<float>& a, float factor, float bound, const auto& b) {
  for (std::size_t i = 0; i < a.size(); ++i) a[i] = std::clamp(a[i] * factor + b(i) * (1 - factor), 0.0F, bound);
}

/// Turns the hue of a colour in [0, 1].
void turn_hue(float& r, float& g, float& b, float turn) {
  const float high = std::max({r, g, b}), low = std::min({r, g, b}), range = high - low;
  const bool flat = range == 0;
  const float s = range / (flat ? 1 : high), divisor = flat ? 1 : range;
  const float rc = (high - r) / divisor, gc = (high - g) / divisor, bc = (high - b) / divisor;
  float h = high == r ? bc - gc : high == g ? 2 + rc - bc : 4 + gc - rc;
  h = std::fmod(h / 6 + 1, 1.0F) + turn;
  h -= std::floor(h);
  const float six = h * 6, whole = std::floor(six), f = six - whole;
  const auto unit = [](float x) { return std::clamp(x, 0.0F, 1.0F); };
  const float p = unit(high * (1 - s)), q = unit(high * (1 - s * f)), t = unit(high * (1 - s * (1 - f)));
  switch (static_cast<int>(whole) % 6) {
    case 0: r = high, g = t, b = p; break;
    case 1: r = q, g = high, b = p; break;
    case 2: r = p, g = high, b = t; break;
    case 3: r = p, g = q, b = high; break;
    case 4: r = t, g = p, b = high; break;
    default: r = high, g = p, b = q;
  }
}

}  // namespace

Tensor to_grayscale(const Tensor& image, std::int64_t channels, SourceLocation where) {
  const CallSite site("to_grayscale", where);
  const std::string op(CallSite::op_or("to_grayscale"));
  if (channels != 1 && channels != 3)
    throw ValueError(fmt::format("{}: channels must be 1 or 3, got {}\n3 are three equal ones", op, channels), where);
  const Planes in = colors_of("to_grayscale", image, where);
  if (image.dim() < 3)
    throw ShapeError(message(op.c_str(), "an image must have channels", {{"image", image}}, "give it [C, H, W]"),
                     where);
  Shape shape = image.shape();
  shape[-3] = channels;
  const Tensor out = data::detail::host_tensor(image.dtype(), shape, where);
  Rgb rgb;
  std::vector<float> grey;
  const std::int64_t step = is_rgb(image) ? 3 : 1;
  for (std::int64_t k = 0; k < in.count; k += step) {
    if (step == 3) grey_of(in, k, rgb, grey);
    else in.read(k, grey);
    for (std::int64_t c = 0; c < channels; ++c) write_plane(out, k / step * channels + c, grey, true);
  }
  return out;
}

Tensor adjust_brightness(const Tensor& image, double factor, SourceLocation where) {
  const CallSite site("adjust_brightness", where);
  check_factor("adjust_brightness", factor, 0, kMaxFactor, where);
  const Planes in = bounded_colors_of("adjust_brightness", image, where);
  const Tensor out = in.like(in.height, in.width, where);
  std::vector<float> plane;
  for (std::int64_t k = 0; k < in.count; ++k) {
    in.read(k, plane);
    for (float& x : plane) x = std::clamp(x * static_cast<float>(factor), 0.0F, bound_of(in));
    write_plane(out, k, plane, true);
  }
  return out;
}

Tensor adjust_contrast(const Tensor& image, double factor, SourceLocation where) {
  const CallSite site("adjust_contrast", where);
  check_factor("adjust_contrast", factor, 0, kMaxFactor, where);
  const Planes in = bounded_colors_of("adjust_contrast", image, where);
  const Tensor out = in.like(in.height, in.width, where);
  Rgb planes;
  std::vector<float> grey;
  const std::int64_t step = is_rgb(image) ? 3 : 1;
  for (std::int64_t k = 0; k < in.count; k += step) {
    if (step == 3) {
      grey_of(in, k, planes, grey);
      if (in.bytes) std::transform(grey.begin(), grey.end(), grey.begin(), [](float x) { return std::floor(x); });
    } else {
      in.read(k, planes[0]);
      grey = planes[0];
    }
    double sum = 0;
    for (const float x : grey) sum += x;
    const auto mean = static_cast<float>(sum / static_cast<double>(grey.size()));
    for (std::int64_t c = 0; c < step; ++c) {
      auto& plane = planes[static_cast<std::size_t>(c)];
      blend(plane, static_cast<float>(factor), bound_of(in), [mean](std::size_t) { return mean; });
      write_plane(out, k + c, plane, true);
    }
  }
  return out;
}

Tensor adjust_saturation(const Tensor& image, double factor, SourceLocation where) {
  const CallSite site("adjust_saturation", where);
  check_factor("adjust_saturation", factor, 0, kMaxFactor, where);
  const Planes in = bounded_colors_of("adjust_saturation", image, where);
  if (!is_rgb(image)) return image;
  const Tensor out = in.like(in.height, in.width, where);
  Rgb planes;
  std::vector<float> grey;
  for (std::int64_t k = 0; k < in.count; k += 3) {
    grey_of(in, k, planes, grey);
    if (in.bytes) std::transform(grey.begin(), grey.end(), grey.begin(), [](float x) { return std::floor(x); });
    for (std::int64_t c = 0; c < 3; ++c) {
      auto& plane = planes[static_cast<std::size_t>(c)];
      blend(plane, static_cast<float>(factor), bound_of(in), [&](std::size_t i) { return grey[i]; });
      write_plane(out, k + c, plane, true);
    }
  }
  return out;
}

Tensor adjust_hue(const Tensor& image, double factor, SourceLocation where) {
  const CallSite site("adjust_hue", where);
  check_factor("adjust_hue", factor, -0.5, 0.5, where);
  const Planes in = bounded_colors_of("adjust_hue", image, where);
  if (!is_rgb(image)) return image;
  const Tensor out = in.like(in.height, in.width, where);
  Rgb planes;
  constexpr float kToByte = 255.999F;
  for (std::int64_t k = 0; k < in.count; k += 3) {
    for (std::int64_t c = 0; c < 3; ++c) in.read(k + c, planes[static_cast<std::size_t>(c)]);
    auto& [r, g, b] = planes;
    if (in.bytes)
      for (auto& plane : planes)
        for (float& x : plane) x /= 255;
    for (std::size_t i = 0; i < r.size(); ++i) turn_hue(r[i], g[i], b[i], static_cast<float>(factor));
    for (std::int64_t c = 0; c < 3; ++c) {
      auto& plane = planes[static_cast<std::size_t>(c)];
      if (in.bytes)
        for (float& x : plane) x *= kToByte;
      write_plane(out, k + c, plane, true);
    }
  }
  return out;
}

Tensor Grayscale::operator()(const Tensor& image, SourceLocation where) const {
  const CallSite site("Grayscale", where);
  return to_grayscale(image, channels, where);
}

Tensor ConvertImageDtype::operator()(const Tensor& image, SourceLocation where) const {
  const CallSite site("ConvertImageDtype", where);
  const Planes in = planes_of("ConvertImageDtype", image, where);
  if (dtype != DType::uint8 && dtype != DType::float32)
    throw DTypeError(
        fmt::format("ConvertImageDtype: images are uint8 or float32, not {}\nconvert batches by .to()", name_of(dtype)),
        where);
  if (image.dtype() == dtype) return image;
  if (in.bytes) return data::ToFloat{}(image, where);
  data::detail::check_unit_range("ConvertImageDtype", in.tensor, where);
  const Tensor out = data::detail::host_tensor(dtype, image.shape(), where);
  std::transform(in.tensor.data<float>(), in.tensor.data<float>() + in.tensor.numel(), out.data<std::uint8_t>(),
                 [](float x) { return static_cast<std::uint8_t>(x > 0 ? std::min(x * 255.999F, 255.0F) : 0); });
  return out;
}

Tensor NormalizeChannels::operator()(const Tensor& image, SourceLocation where) const {
  const CallSite site("NormalizeChannels", where);
  const Planes in = planes_of("NormalizeChannels", image, where);
  if (in.bytes)
    throw DTypeError(
        message("NormalizeChannels", "an image must be float32", {{"image", image}}, "put data::ToFloat{} before it"),
        where);
  const std::int64_t channels = image.dim() < 3 ? 1 : image.shape()[-3];
  const bool valid = std::all_of(stds.begin(), stds.end(), [](double s) { return std::isfinite(s) && s > 0; });
  if (static_cast<std::int64_t>(means.size()) != channels || means.size() != stds.size() || !valid)
    throw ValueError(message("NormalizeChannels",
                             fmt::format("{} means and {} stds, which must be positive, for {} channels", means.size(),
                                         stds.size(), channels),
                             {{"image", image}}, "give one of each for each channel"),
                     where);
  const Tensor out = in.like(in.height, in.width, where);
  std::vector<float> plane;
  for (std::int64_t k = 0; k < in.count; ++k) {
    const auto c = static_cast<std::size_t>(k % channels);
    in.read(k, plane);
    for (float& x : plane) x = (x - static_cast<float>(means[c])) / static_cast<float>(stds[c]);
    write_plane(out, k, plane, false);
  }
  return out;
}

Tensor ColorJitter::operator()(const Tensor& image, data::Random& random, SourceLocation where) const {
  const CallSite site("ColorJitter", where);
  const bool valid = brightness >= 0 && brightness < kMaxFactor && contrast >= 0 && contrast < kMaxFactor &&
                     saturation >= 0 && saturation < kMaxFactor && hue >= 0 && hue <= 0.5;
  if (!valid)
    throw ValueError(fmt::format("ColorJitter: brightness, contrast and saturation must be at least 0 and hue in [0, "
                                 "0.5], got {}, {}, {} and {}\n0 leaves the image as it is",
                                 brightness, contrast, saturation, hue),
                     where);
  std::array<int, 4> order = {0, 1, 2, 3};
  for (std::int64_t i = 3; i > 0; --i)
    std::swap(order[static_cast<std::size_t>(i)], order[static_cast<std::size_t>(random.below(i + 1))]);
  const auto factor = [&](double x) { return random.uniform(std::max(0.0, 1 - x), 1 + x); };
  const double b = factor(brightness), c = factor(contrast), s = factor(saturation), h = random.uniform(-hue, hue);
  Tensor out = colors_of("ColorJitter", image, where).tensor;
  for (const int step : order) {
    if (step == 0 && brightness > 0) out = adjust_brightness(out, b, where);
    else if (step == 1 && contrast > 0) out = adjust_contrast(out, c, where);
    else if (step == 2 && saturation > 0) out = adjust_saturation(out, s, where);
    else if (step == 3 && hue > 0) out = adjust_hue(out, h, where);
  }
  return out;
}

namespace {

/// Gamma(shape, 1), Marsaglia and Tsang (2000).
double gamma(double shape, data::Random& random) {
  if (shape < 1) {
    const double u = 1 - random.uniform();
    return gamma(shape + 1, random) * std::pow(u, 1 / shape);
  }
  const double d = shape - 1.0 / 3, c = 1 / std::sqrt(9 * d);
  for (;;) {
    const double x = random.normal(), v = std::pow(1 + c * x, 3);
    if (v > 0 && std::log(1 - random.uniform()) < 0.5 * x * x + d - d * v + d * std::log(v)) return d * v;
  }
}

/// Checks a batch; draws lambda.
double draw_lambda(const char* op, const Tensor& images, const Tensor& labels, std::int64_t classes, double alpha,
                   data::Random& random, SourceLocation where) {
  if (!(alpha > 0 && alpha < kMaxFactor))
    throw ValueError(fmt::format("{}: alpha must be positive, got {}\n1 is usual", op, alpha), where);
  if (!labels.defined() || !labels.device().is_cpu() || labels.dtype() != DType::int64)
    throw DTypeError(message(op, "labels must be int64 on the cpu", {{"images", images}, {"labels", labels}},
                             "mix a batch before it goes to a device"),
                     where);
  if (images.dim() < 1 || labels.dim() != 1 || labels.shape()[0] != images.shape()[0])
    throw ShapeError(message(op, "there must be one label for each image", {{"images", images}, {"labels", labels}},
                             "images are [N, C, H, W], labels [N]"),
                     where);
  labels.storage()->wait_ready();
  for (std::int64_t i = 0; i < labels.numel(); ++i)
    if (const std::int64_t label = labels.data<std::int64_t>()[i * labels.strides()[0]]; label < 0 || label >= classes)
      throw IndexError(
          fmt::format("{}: label {} of image {} must be in [0, {})\nclasses is their number", op, label, i, classes),
          where);
  const double a = gamma(alpha, random), b = gamma(alpha, random);
  return a + b > 0 ? a / (a + b) : 0.5;
}

Tensor mix_labels(const Tensor& labels, std::int64_t classes, double lambda, SourceLocation where) {
  const std::int64_t count = labels.numel();
  const Tensor out = data::detail::host_tensor(DType::float32, {count, classes}, where);
  std::fill_n(out.data<float>(), out.numel(), 0.0F);
  const auto label = [&](std::int64_t i) { return labels.data<std::int64_t>()[i * labels.strides()[0]]; };
  for (std::int64_t i = 0; i < count; ++i) {
    out.data<float>()[i * classes + label(i)] += static_cast<float>(lambda);
    out.data<float>()[i * classes + label((i + count - 1) % count)] += static_cast<float>(1 - lambda);
  }
  return out;
}

}  // namespace

MixedBatch mixup(const Tensor& images, const Tensor& labels, std::int64_t classes, data::Random& random, double alpha,
                 SourceLocation where) {
  const CallSite site("mixup", where);
  const Planes in = planes_of("mixup", images, where);
  if (in.bytes)
    throw DTypeError(message("mixup", "images must be float32", {{"images", images}}, "put data::ToFloat{} before it"),
                     where);
  const double lambda = draw_lambda("mixup", images, labels, classes, alpha, random, where);
  const Tensor out = in.like(in.height, in.width, where);
  const std::int64_t count = images.shape()[0], size = count > 0 ? out.numel() / count : 0;
  const auto own = static_cast<float>(lambda);
  for (std::int64_t i = 0; i < count; ++i) {
    const float *a = in.tensor.data<float>() + i * size, *b = in.tensor.data<float>() + (i + count - 1) % count * size;
    float* target = out.data<float>() + i * size;
    for (std::int64_t k = 0; k < size; ++k) target[k] = own * a[k] + (1 - own) * b[k];
  }
  return {out, mix_labels(labels, classes, lambda, where)};
}

MixedBatch cutmix(const Tensor& images, const Tensor& labels, std::int64_t classes, data::Random& random, double alpha,
                  SourceLocation where) {
  const CallSite site("cutmix", where);
  const Planes in = planes_of("cutmix", images, where);
  const double lambda = draw_lambda("cutmix", images, labels, classes, alpha, random, where);
  const std::int64_t x = random.below(in.width), y = random.below(in.height);
  const double half = 0.5 * std::sqrt(1 - lambda);
  const auto half_width = static_cast<std::int64_t>(half * static_cast<double>(in.width));
  const auto half_height = static_cast<std::int64_t>(half * static_cast<double>(in.height));
  const std::int64_t left = std::max<std::int64_t>(x - half_width, 0), right = std::min(x + half_width, in.width);
  const std::int64_t top = std::max<std::int64_t>(y - half_height, 0), bottom = std::min(y + half_height, in.height);
  const Tensor out = in.like(in.height, in.width, where);
  std::memcpy(out.raw_data(), in.tensor.raw_data(), static_cast<std::size_t>(out.nbytes()));
  const std::int64_t planes = images.shape()[0] > 0 ? in.count / images.shape()[0] : 0;  // of an image
  const std::size_t item = out.itemsize();
  for (std::int64_t k = 0; k < in.count; ++k)
    for (std::int64_t row = top; row < bottom; ++row) {
      const auto place = [&](std::int64_t plane) {
        return static_cast<std::size_t>((plane * in.height + row) * in.width + left) * item;
      };
      std::memcpy(static_cast<char*>(out.raw_data()) + place(k),
                  static_cast<const char*>(in.tensor.raw_data()) + place((k + in.count - planes) % in.count),
                  static_cast<std::size_t>(right - left) * item);
    }
  const double area = static_cast<double>((right - left) * (bottom - top)) / static_cast<double>(in.size());
  return {out, mix_labels(labels, classes, 1 - area, where)};
}

}  // namespace minnow::vision
