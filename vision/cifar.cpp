#include <minnow/vision/cifar.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <minnow/data/detail/collection.h>
#include <minnow/data/detail/host.h>
#include <minnow/data/random.h>
#include <minnow/tensor/error.h>
#include <minnow/tensor/internal.h>
#include <minnow/tensor/io/file.h>

namespace minnow::vision {
namespace {

namespace fs = std::filesystem;

using data::detail::Collection;

constexpr std::int64_t kSide = 32, kPixels = 3 * kSide * kSide;

/// A version of CIFAR.
struct Version {
  Collection set;
  std::vector<std::string> train, test;
  std::int64_t labels;                  // bytes before the pixels
  std::array<std::int64_t, 2> classes;  // of each
  std::vector<double> means, stds;
};

constexpr const char* kHint =
    "download the binary version from https://www.cs.toronto.edu/~kriz/cifar.html and unpack it into one of these "
    "folders; or set MINNOW_DATA to its folder; vision::SyntheticShapes needs no files";

const Version& ten() {
  static const auto* version =
      new Version{{"cifar10", {"cifar-10-batches-bin", "cifar10"}, false, kHint},
                  {"data_batch_1.bin", "data_batch_2.bin", "data_batch_3.bin", "data_batch_4.bin", "data_batch_5.bin"},
                  {"test_batch.bin"},
                  1,
                  {10, 0},
                  {0.4914, 0.4822, 0.4465},
                  {0.2470, 0.2435, 0.2616}};
  return *version;
}

const Version& hundred() {
  static const auto* version = new Version{{"cifar100", {"cifar-100-binary", "cifar100"}, false, kHint},
                                           {"train.bin"},
                                           {"test.bin"},
                                           2,
                                           {20, 100},
                                           {0.5071, 0.4867, 0.4408},
                                           {0.2675, 0.2565, 0.2761}};
  return *version;
}

data::ImageDataset load(const Version& version, std::string_view split, const CifarOptions& options,
                        SourceLocation where) {
  const std::string& name = version.set.name;
  const CallSite site(name.c_str(), where);
  if (split != "train" && split != "test")
    throw ValueError(name + ": unknown split '" + std::string(split) + "'\nexpected \"train\" or \"test\"", where);
  std::vector<std::string> paths;
  for (const std::string& file : split == "train" ? version.train : version.test) {
    std::vector<data::detail::Tried> tried;
    for (const fs::path& folder : data::detail::folders_of(version.set, options.root)) {
      std::error_code code;
      if (fs::exists(folder / file, code)) {
        paths.push_back((folder / file).string());
        break;
      }
      tried.push_back({folder / file, code ? code.message() : ""});
    }
    if (tried.size() == data::detail::folders_of(version.set, options.root).size())
      data::detail::refuse_missing(version.set, "images of " + file, tried, where);
  }
  const std::int64_t record = version.labels + kPixels, chosen = options.coarse ? 0 : version.labels - 1;
  const std::int64_t classes = version.classes[static_cast<std::size_t>(chosen)];
  std::vector<std::unique_ptr<io::InputFile>> files;
  std::int64_t count = 0;
  for (const std::string& path : paths) {
    files.push_back(std::make_unique<io::InputFile>(name, path, where));
    const auto size = static_cast<std::int64_t>(files.back()->size());
    if (size == 0 || size % record != 0)
      throw FormatError(name + ": '" + path + "' has " + std::to_string(size) + " bytes\n  expected  a multiple of " +
                            std::to_string(record) +
                            ", the bytes of an image with its labels\nit is damaged or not the "
                            "binary version: download it again",
                        where);
    count += size / record;
  }
  const Tensor images = data::detail::host_tensor(DType::uint8, {count, 3, kSide, kSide}, where);
  const Tensor labels = data::detail::host_tensor(DType::uint8, {count}, where);
  auto* pixels = images.data<std::uint8_t>();
  auto* label = labels.data<std::uint8_t>();
  std::vector<std::uint8_t> block(static_cast<std::size_t>(record) * 256);
  for (const auto& file : files)
    for (std::uint64_t at = 0; at < file->size(); at += block.size()) {
      const auto part = std::span(block).first(std::min<std::uint64_t>(block.size(), file->size() - at));
      file->read(at, std::as_writable_bytes(part));
      for (std::size_t i = 0; i < part.size(); i += static_cast<std::size_t>(record), pixels += kPixels) {
        *label = part[i + static_cast<std::size_t>(chosen)];
        if (*label >= classes)
          throw FormatError(name + ": label " + std::to_string(*label) + " of image " +
                                std::to_string((at + i) / static_cast<std::uint64_t>(record)) + " of '" + file->path() +
                                "' must be below " + std::to_string(classes) +
                                "\nthe file is damaged or of another collection: download it again",
                            where);
        ++label;
        std::copy_n(part.begin() + static_cast<std::ptrdiff_t>(i) + version.labels, kPixels, pixels);
      }
    }
  data::Normalization normalization;
  normalization.means = options.means.empty() ? version.means : options.means;
  normalization.stds = options.stds.empty() ? version.stds : options.stds;
  return data::ImageDataset(images, labels, classes, normalization, where);
}

/// Whether (x, y), about in [-1, 1], is inside of the shape.
bool inside(std::int64_t shape, double x, double y) {
  const double r = std::hypot(x, y), m = std::max(std::abs(x), std::abs(y));
  const auto band = [](double v) { return (static_cast<std::int64_t>(std::floor(v * 2.5)) & 1) == 0; };
  switch (shape) {
    case 0: return r < 0.9;
    case 1: return r < 0.95 && r > 0.55;
    case 2: return m < 0.8;
    case 3: return m < 0.9 && m > 0.5;
    case 4: return y < 0.8 && y > 2 * std::abs(x) - 0.8;
    case 5: return m < 0.95 && std::min(std::abs(x), std::abs(y)) < 0.25;
    case 6: return m < 0.9 && std::abs(std::abs(x) - std::abs(y)) < 0.3;
    case 7: return m < 0.95 && band(x);
    case 8: return m < 0.95 && band(y);
    default: return m < 0.95 && band(x) != band(y);
  }
}

data::ImageDataset draw(std::int64_t size, const SyntheticShapesOptions& options, SourceLocation where) {
  const CallSite site("SyntheticShapes", where);
  if (size < 0 || options.first < 0)
    throw ValueError("SyntheticShapes: size and first must be at least 0, got " + std::to_string(size) + " and " +
                         std::to_string(options.first) + "\nthey count images",
                     where);
  constexpr std::int64_t kClasses = 10;
  const Tensor images = data::detail::host_tensor(DType::uint8, {size, 3, kSide, kSide}, where);
  const Tensor labels = data::detail::host_tensor(DType::int64, {size}, where);
  for (std::int64_t i = 0; i < size; ++i) {
    data::Random random(options.seed, 0, static_cast<std::uint64_t>(options.first) + static_cast<std::uint64_t>(i));
    const std::int64_t shape = labels.data<std::int64_t>()[i] = random.below(kClasses);
    double back[3], front[3];
    for (int c = 0; c < 3; ++c) {
      back[c] = random.uniform(0, 255);
      front[c] = back[c] < 128 ? random.uniform(back[c] + 60, 255) : random.uniform(0, back[c] - 60);
    }
    const double radius = random.uniform(7, 14), x0 = random.uniform(radius, 31 - radius),
                 y0 = random.uniform(radius, 31 - radius);
    std::uint8_t* pixel = images.data<std::uint8_t>() + i * kPixels;
    for (std::int64_t y = 0; y < kSide; ++y)
      for (std::int64_t x = 0; x < kSide; ++x, ++pixel) {
        const bool in = inside(shape, (static_cast<double>(x) - x0) / radius, (static_cast<double>(y) - y0) / radius);
        for (int c = 0; c < 3; ++c)
          pixel[c * kSide * kSide] =
              static_cast<std::uint8_t>(std::clamp((in ? front[c] : back[c]) + random.uniform(-20, 20), 0.0, 255.0));
      }
  }
  data::Normalization normalization;
  normalization.mean = 0.5;
  normalization.std = 0.3;
  return data::ImageDataset(images, labels, kClasses, normalization, where);
}

}  // namespace

data::ImageDataset cifar10(std::string_view split, const CifarOptions& options, SourceLocation where) {
  if (options.coarse) throw ValueError("cifar10: .coarse is for CIFAR-100\nleave it out, or call cifar100()", where);
  return load(ten(), split, options, where);
}

data::ImageDataset cifar100(std::string_view split, const CifarOptions& options, SourceLocation where) {
  return load(hundred(), split, options, where);
}

std::vector<std::string> cifar10_folders(const std::string& root) {
  std::vector<std::string> folders;
  for (const fs::path& folder : data::detail::folders_of(ten().set, root)) folders.push_back(folder.string());
  return folders;
}

SyntheticShapes::SyntheticShapes(std::int64_t size, SyntheticShapesOptions options, SourceLocation where)
    : data::ImageDataset(draw(size, options, where)) {}

}  // namespace minnow::vision
