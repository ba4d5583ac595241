#include <minnow/vision/image.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <filesystem>
#include <fmt/format.h>
#include <iterator>
#include <memory>
#include <minnow/data/detail/byte_reader.h>
#include <minnow/data/detail/host.h>
#include <minnow/tensor/backend/dispatch.h>
#include <minnow/tensor/error.h>
#include <minnow/tensor/internal.h>
#include <minnow/tensor/io/file.h>
#include <minnow/tensor/raw/copy.h>
#include <minnow/tensor/raw/transfer.h>
#include <minnow/tensor/raw/view.h>
#include <minnow/vision/detail/codec.h>

namespace minnow::vision {
namespace {

namespace fs = std::filesystem;

/// The name's ending in small letters, with its dot.
std::string ending(const fs::path& path) {
  std::string end = path.extension().string();
  std::transform(end.begin(), end.end(), end.begin(), [](unsigned char c) { return std::tolower(c); });
  return end;
}

/// On the cpu, contiguous, uint8 or float32.
Tensor dense(const char* op, const Tensor& image, SourceLocation where) {
  const std::string name(CallSite::op_or(op));
  if (!image.defined())
    throw ValueError(name + ": the image is undefined\nit was default-constructed or moved from", where);
  if (image.dtype() != DType::uint8 && image.dtype() != DType::float32)
    throw DTypeError(
        message(name.c_str(), "an image must be uint8 or float32", {{"image", image}}, "convert it: .to(float32)"),
        where);
  const Tensor host = raw::contiguous(raw::to_device(raw::detach({image, where}), Device()));
  host.storage()->wait_ready();
  return host;
}

/// Bytes [C, H, W] to write.
Tensor bytes_of(const char* op, const Tensor& image, std::initializer_list<std::int64_t> channels,
                SourceLocation where) {
  const std::string name(CallSite::op_or(op));
  Tensor out = dense(op, image, where);
  if (out.dtype() != DType::uint8)
    throw DTypeError(message(name.c_str(), "an image must be uint8", {{"image", image}},
                             "call save_image(), which takes float32 in [0, 1]"),
                     where);
  if (out.dim() == 2) {
    Shape shape = out.shape();
    shape.insert(0, 1);
    out = Tensor(out.storage(), DType::uint8, shape, contiguous_strides(shape), out.storage_offset());
  }
  constexpr std::int64_t kMaxSide = 0x7fffffff;
  if (out.dim() != 3 || std::find(channels.begin(), channels.end(), out.shape()[0]) == channels.end() ||
      out.numel() == 0 || out.shape()[1] > kMaxSide || out.shape()[2] > kMaxSide)
    throw ShapeError(message(name.c_str(),
                             fmt::format("an image must be [H, W] or [C, H, W] with {} channels, and have pixels",
                                         fmt::join(channels, " or ")),
                             {{"image", image}}, "several images: save_image(), which puts them side by side"),
                     where);
  return out;
}

void write_file(const char* op, const std::vector<std::byte>& bytes, const std::string& path, SourceLocation where) {
  io::AtomicFile file(std::string(CallSite::op_or(op)), path, where);
  file.write(bytes);
  file.commit();
}

}  // namespace

Tensor read_image(const std::string& path, const ReadImageOptions& options, SourceLocation where) {
  const CallSite site("read_image", where);
  const io::InputFile file("read_image", path, where);
  const auto refuse = [&](const detail::ImageFault& fault) {
    throw FormatError("read_image: '" + path + "': found " + fault.found + "\n  expected  " + fault.expected +
                          "\nthe file is damaged or of another format: save or download it again",
                      where);
  };
  std::array<std::uint8_t, 16> first{};
  const auto head = std::span(first).first(file.read_some(0, std::as_writable_bytes(std::span(first))));
  constexpr std::array<std::uint8_t, 8> kPng = {0x89, 'P', 'N', 'G', '\r', '\n', 0x1a, '\n'};
  constexpr std::array<std::uint8_t, 3> kJpeg = {0xff, 0xd8, 0xff};
  const auto begins = [&](const auto& magic) {
    return head.size() >= magic.size() && std::equal(magic.begin(), magic.end(), head.begin());
  };
  const bool png = begins(kPng), jpeg = begins(kJpeg);
  if (!png && !jpeg) refuse({data::detail::show_bytes(head), "a PNG or JPEG file"});
  try {
    const auto bytes = std::make_unique_for_overwrite<std::byte[]>(file.size());
    const std::span<std::byte> content(bytes.get(), file.size());
    file.read(0, content);
    return png ? detail::decode_png(content, options, where) : detail::decode_jpeg(content, options, where);
  } catch (const detail::ImageFault& fault) { refuse(fault); } catch (const std::bad_alloc&) {
    throw OutOfMemoryError("read_image: no memory for '" + path + "'\nread a smaller image", where);
  }
  return {};
}

void write_png(const Tensor& image, const std::string& path, SourceLocation where) {
  write_file("write_png", detail::encode_png(bytes_of("write_png", image, {1, 2, 3, 4}, where), where), path, where);
}

void write_jpeg(const Tensor& image, const std::string& path, const JpegOptions& options, SourceLocation where) {
  if (options.quality < 1 || options.quality > 100)
    throw ValueError(fmt::format("write_jpeg: quality must be in [1, 100], got {}\n75 is usual", options.quality),
                     where);
  write_file("write_jpeg", detail::encode_jpeg(bytes_of("write_jpeg", image, {1, 3}, where), options.quality, where),
             path, where);
}

namespace {

/// Maps [low, high] to [0, 1].
void rescale(std::span<float> x, double low, double high) {
  const auto from = static_cast<float>(low), to = static_cast<float>(high);
  const float width = std::max(to - from, 1e-5F);
  for (float& v : x) v = (std::clamp(v, from, to) - from) / width;
}

void normalize(const Tensor& images, const GridOptions& options) {
  const std::int64_t parts = options.scale_each ? images.shape()[0] : 1, size = images.numel() / parts;
  for (std::int64_t i = 0; i < parts; ++i) {
    const std::span<float> x(images.data<float>() + i * size, static_cast<std::size_t>(size));
    if (x.empty()) continue;
    const auto [low, high] = std::minmax_element(x.begin(), x.end());
    if (options.value_range) rescale(x, options.value_range->first, options.value_range->second);
    else rescale(x, *low, *high);
  }
}

template <class T> void lay_out(const Tensor& images, const Tensor& grid, std::int64_t columns, std::int64_t padding) {
  const std::int64_t count = images.shape()[0], channels = images.shape()[1];
  const std::int64_t height = images.shape()[2], width = images.shape()[3];
  const std::int64_t grid_height = grid.shape()[1], grid_width = grid.shape()[2];
  for (std::int64_t i = 0; i < count; ++i)
    for (std::int64_t c = 0; c < grid.shape()[0]; ++c)
      for (std::int64_t y = 0; y < height; ++y) {
        const T* from = images.data<T>() + ((i * channels + std::min(c, channels - 1)) * height + y) * width;
        const std::int64_t row = i / columns * (height + padding) + padding + y;
        const std::int64_t column = i % columns * (width + padding) + padding;
        std::copy_n(from, width, grid.data<T>() + (c * grid_height + row) * grid_width + column);
      }
}

}  // namespace

Tensor make_grid(const Tensor& images, const GridOptions& options, SourceLocation where) {
  const CallSite site("make_grid", where);
  constexpr std::int64_t kMax = 1 << 20;
  if (options.columns < 1 || options.padding < 0 || options.padding > kMax)
    throw ValueError(fmt::format("make_grid: columns must be at least 1 and padding in [0, {}], got {} and {}\nthey "
                                 "count images and pixels",
                                 kMax, options.columns, options.padding),
                     where);
  Tensor in = dense("make_grid", images, where);
  if (in.dim() < 2 || in.dim() > 4 || in.numel() == 0)
    throw ShapeError(message("make_grid", "images must be [N, C, H, W], [C, H, W] or [H, W], and have pixels",
                             {{"images", images}}, "give a batch of images"),
                     where);
  const bool bytes = in.dtype() == DType::uint8;
  if (options.normalize && bytes)
    throw DTypeError(
        message("make_grid", "bytes are not normalized", {{"images", images}}, "convert them: .to(float32)"), where);
  if (options.value_range && !(options.value_range->first <= options.value_range->second))
    throw ValueError("make_grid: value_range must be {low, high} with low <= high\ne.g. {-1, 1}", where);
  if (bytes && !(options.pad_value >= 0 && options.pad_value <= 255))
    throw ValueError(fmt::format("make_grid: pad_value must be in [0, 255] for uint8, got {}\nor convert the images",
                                 options.pad_value),
                     where);
  Shape shape = in.shape();
  if (shape.rank() == 2) shape.insert(0, 1);
  if (shape.rank() == 3) shape.insert(0, 1);
  in = Tensor(in.storage(), in.dtype(), shape, contiguous_strides(shape), in.storage_offset());
  if (options.normalize) {
    in = raw::clone({in, where});
    normalize(in, options);
  }
  const std::int64_t count = shape[0], columns = std::min(options.columns, count),
                     rows = (count + columns - 1) / columns;
  const std::int64_t padding = count == 1 ? 0 : options.padding;
  const Tensor grid = data::detail::host_tensor(
      in.dtype(),
      {shape[1] == 1 ? 3 : shape[1], rows * (shape[2] + padding) + padding, columns * (shape[3] + padding) + padding},
      where);
  raw::fill_({grid, where}, bytes ? std::trunc(options.pad_value) : options.pad_value);
  if (bytes) lay_out<std::uint8_t>(in, grid, columns, padding);
  else lay_out<float>(in, grid, columns, padding);
  return grid;
}

void save_image(const Tensor& images, const std::string& path, const GridOptions& options, SourceLocation where) {
  const CallSite site("save_image", where);
  const std::string end = ending(path);
  if (end != ".png" && end != ".jpg" && end != ".jpeg")
    throw ValueError(
        "save_image: the name '" + path + "' does not end in .png, .jpg or .jpeg\nits ending is the format", where);
  Tensor grid = make_grid(images, options, where);
  if (grid.dtype() == DType::float32) {
    const Tensor bytes = data::detail::host_tensor(DType::uint8, grid.shape(), where);
    std::transform(grid.data<float>(), grid.data<float>() + grid.numel(), bytes.data<std::uint8_t>(), [](float x) {
      const float y = x * 255.0F + 0.5F;
      return static_cast<std::uint8_t>(y > 0 ? std::min(y, 255.0F) : 0);  // NaN becomes 0
    });
    grid = bytes;
  }
  if (end == ".png") write_png(grid, path, where);
  else write_jpeg(grid, path, {}, where);
}

ImageFolder::ImageFolder(const std::string& root, ImageFolderOptions options, SourceLocation where)
    : options_(std::move(options)) {
  const CallSite site("image_folder", where);
  for (std::string& end : options_.extensions)
    std::transform(end.begin(), end.end(), end.begin(), [](unsigned char c) { return std::tolower(c); });
  try {
    for (const auto& entry : fs::directory_iterator(root))
      if (entry.is_directory()) classes_.push_back(entry.path().filename().string());
    std::sort(classes_.begin(), classes_.end());
    for (std::size_t label = 0; label < classes_.size(); ++label) {
      std::vector<std::string> files;
      for (const auto& entry : fs::recursive_directory_iterator(fs::path(root) / classes_[label]))
        if (entry.is_regular_file() && std::find(options_.extensions.begin(), options_.extensions.end(),
                                                 ending(entry.path())) != options_.extensions.end())
          files.push_back(entry.path().string());
      if (files.empty())
        throw ValueError(fmt::format("image_folder: there is no image in '{}'\n  extensions  {}\nremove the folder, or "
                                     "give the .extensions of its files",
                                     (fs::path(root) / classes_[label]).string(), fmt::join(options_.extensions, " ")),
                         where);
      // torchvision's order: by folder, then by name.
      std::sort(files.begin(), files.end(), [](const std::string& a, const std::string& b) {
        const fs::path p(a), q(b);
        const std::string x = p.parent_path().string(), y = q.parent_path().string();
        return x != y ? x < y : p.filename().string() < q.filename().string();
      });
      labels_.insert(labels_.end(), files.size(), static_cast<std::int64_t>(label));
      paths_.insert(paths_.end(), std::make_move_iterator(files.begin()), std::make_move_iterator(files.end()));
    }
  } catch (const fs::filesystem_error& error) {
    throw IoError("image_folder: cannot read '" + error.path1().string() +
                      "'\n  the system says: " + error.code().message() + "\ncheck the path and its permissions",
                  where);
  }
  if (classes_.empty())
    throw ValueError(
        "image_folder: there is no folder in '" + root + "'\nimages of a class are in a folder of its name", where);
}

data::LabeledImages ImageFolder::get(std::int64_t i, SourceLocation where) const {
  data::detail::check_index("ImageFolder::get", i, size(), where);
  const auto at = static_cast<std::size_t>(i);
  const Tensor label = data::detail::host_tensor(DType::int64, Shape(), where);
  *label.data<std::int64_t>() = labels_[at];
  return {read_image(paths_[at], {options_.mode, options_.max_pixels}, where), label};
}

ImageFolder image_folder(const std::string& root, ImageFolderOptions options, SourceLocation where) {
  return ImageFolder(root, std::move(options), where);
}

}  // namespace minnow::vision
