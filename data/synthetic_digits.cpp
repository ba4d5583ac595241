#include <minnow/data/synthetic_digits.h>

#include <algorithm>
#include <system_error>
#include <thread>
#include <vector>
#include <minnow/data/detail/glyphs.h>
#include <minnow/data/detail/host.h>
#include <minnow/tensor/error.h>
#include <minnow/tensor/internal.h>
#include <minnow/tensor/threads.h>

namespace minnow::data {
namespace {

constexpr std::int64_t kClasses = 10;
constexpr std::int64_t kPixels = std::int64_t{detail::kDigitSide} * detail::kDigitSide;
constexpr std::int64_t kMinPerThread = 256;

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
  Drawn drawn{detail::host_tensor(DType::uint8, {size, detail::kDigitSide, detail::kDigitSide}, where),
              detail::host_tensor(DType::int64, {size}, where)};
  auto* pixels = drawn.images.data<std::uint8_t>();
  auto* labels = drawn.labels.data<std::int64_t>();
  const auto part = [=](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      Random random(options.seed, 0, static_cast<std::uint64_t>(options.first) + static_cast<std::uint64_t>(i));
      labels[i] = random.below(kClasses);
      detail::draw_digit(static_cast<int>(labels[i]), random,
                         {pixels + i * kPixels, static_cast<std::size_t>(kPixels)});
    }
  };
  const std::int64_t parts = std::clamp<std::int64_t>(size / kMinPerThread, 1, num_threads());
  std::vector<std::jthread> threads;
  std::int64_t done = 0;
  try {
    for (std::int64_t k = 0; k + 1 < parts; ++k) {
      threads.emplace_back(part, size * k / parts, size * (k + 1) / parts);
      done = size * (k + 1) / parts;
    }
  } catch (const std::system_error&) {  // no more threads: this thread draws the rest
  }
  part(done, size);
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
