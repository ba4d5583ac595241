#include <minnow/data/synthetic_digits.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <minnow/data/detail/host.h>
#include <minnow/data/detail/parallel.h>
#include <minnow/data/random.h>
#include <minnow/tensor/error.h>
#include <minnow/tensor/internal.h>
#include <minnow/tensor/runtime/threads.h>

namespace minnow::data {
namespace {

constexpr std::int64_t kClasses = 10;
constexpr int kSide = 28;
constexpr std::int64_t kPixels = std::int64_t{kSide} * kSide;
constexpr std::int64_t kMinPerThread = 256;
constexpr int kFontWidth = 5, kFontHeight = 7;
constexpr float kMiddleX = 2, kMiddleY = 3;

/// The rows of each digit, from the top; the highest of 5 bits is on the left.
constexpr std::array<std::array<unsigned, kFontHeight>, kClasses> kFont{{
    {0x0E, 0x11, 0x11, 0x11, 0x11, 0x11, 0x0E},
    {0x04, 0x0C, 0x04, 0x04, 0x04, 0x04, 0x0E},
    {0x0E, 0x11, 0x01, 0x02, 0x04, 0x08, 0x1F},
    {0x1F, 0x02, 0x04, 0x02, 0x01, 0x11, 0x0E},
    {0x02, 0x06, 0x0A, 0x12, 0x1F, 0x02, 0x02},
    {0x1F, 0x10, 0x1E, 0x01, 0x01, 0x11, 0x0E},
    {0x06, 0x08, 0x10, 0x1E, 0x11, 0x11, 0x0E},
    {0x1F, 0x01, 0x02, 0x04, 0x08, 0x08, 0x08},
    {0x0E, 0x11, 0x11, 0x0E, 0x11, 0x11, 0x0E},
    {0x0E, 0x11, 0x11, 0x0F, 0x01, 0x02, 0x0C},
}};

float font_pixel(std::size_t digit, int x, int y) {
  const bool inside = x >= 0 && x < kFontWidth && y >= 0 && y < kFontHeight;
  return inside && (kFont[digit][static_cast<std::size_t>(y)] >> (kFontWidth - 1 - x) & 1) != 0 ? 1.0F : 0.0F;
}

/// The font between its pixels' centres, linearly.
float font_at(std::size_t digit, float x, float y) {
  const float left = std::floor(x), top = std::floor(y), fx = x - left, fy = y - top;
  const int i = static_cast<int>(left), j = static_cast<int>(top);
  const float upper = (1 - fx) * font_pixel(digit, i, j) + fx * font_pixel(digit, i + 1, j);
  const float lower = (1 - fx) * font_pixel(digit, i, j + 1) + fx * font_pixel(digit, i + 1, j + 1);
  return (1 - fy) * upper + fy * lower;
}

/// Draws a digit in white on black with random position, size, slant, bend, width of strokes, brightness and noise.
/// Only +, -, * and floor: the bytes are the same on every machine.
void draw_digit(std::size_t digit, Random& random, std::uint8_t* pixels) {
  const auto uniform = [&](double low, double high) { return static_cast<float>(random.uniform(low, high)); };
  const float centre_x = uniform(10, 17), centre_y = uniform(10.5, 16.5);
  const float xx = uniform(0.25, 0.5), yy = uniform(0.32, 0.46);  // of the font's pixels in one of the image
  const float xy = uniform(-0.22, 0.22), yx = uniform(-0.18, 0.18), bend = uniform(-0.02, 0.02);
  const float threshold = uniform(0.35, 0.75), ink = uniform(150, 255), noise = uniform(0, 70);
  for (int y = 0; y < kSide; ++y)
    for (int x = 0; x < kSide; ++x) {
      const float u = static_cast<float>(x) - centre_x, v = static_cast<float>(y) - centre_y;
      const float at_x = kMiddleX + u * xx + v * xy + v * v * bend, at_y = kMiddleY + u * yx + v * yy;
      const float coverage = std::clamp(3 * (font_at(digit, at_x, at_y) - threshold) + 0.5F, 0.0F, 1.0F);
      const std::uint64_t bits = random.bits();  // for noise of a triangular distribution
      const auto a = static_cast<float>(bits & 255), b = static_cast<float>(bits >> 8 & 255);
      *pixels++ = static_cast<std::uint8_t>(std::clamp(ink * coverage + noise * (a - b) / 256, 0.0F, 255.0F));
    }
}

struct Drawn {
  Tensor images, labels;
};

Drawn draw(std::int64_t size, const SyntheticDigitsOptions& options, SourceLocation where) {
  if (size < 0)
    throw ValueError("SyntheticDigits: size must be at least 0, got " + std::to_string(size) + "\nit counts digits",
                     where);
  if (options.first < 0)
    throw ValueError("SyntheticDigits: first must be at least 0, got " + std::to_string(options.first) +
                         "\nit is the number of the first digit",
                     where);
  Drawn drawn{detail::host_tensor(DType::uint8, {size, kSide, kSide}, where),
              detail::host_tensor(DType::int64, {size}, where)};
  auto* pixels = drawn.images.data<std::uint8_t>();
  auto* labels = drawn.labels.data<std::int64_t>();
  const auto parts = static_cast<int>(std::clamp<std::int64_t>(size / kMinPerThread, 1, num_threads()));
  detail::run_parts(parts, [=](int k) {
    for (std::int64_t i = size * k / parts; i < size * (k + 1) / parts; ++i) {
      Random random(options.seed, 0, static_cast<std::uint64_t>(options.first) + static_cast<std::uint64_t>(i));
      labels[i] = random.below(kClasses);
      draw_digit(static_cast<std::size_t>(labels[i]), random, pixels + i * kPixels);
    }
  });
  return drawn;
}

ImageDataset make(std::int64_t size, const SyntheticDigitsOptions& options, SourceLocation where) {
  const CallSite site("SyntheticDigits", where);
  const auto [images, labels] = draw(size, options, where);
  return ImageDataset(images, labels, kClasses, {options.mean, options.std, options.normalize_on_device}, where);
}

}  // namespace

SyntheticDigits::SyntheticDigits(std::int64_t size, SyntheticDigitsOptions options, SourceLocation where)
    : ImageDataset(make(size, options, where)) {}

}  // namespace minnow::data
