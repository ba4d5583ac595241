#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>
#include <minnow/data/image_dataset.h>

namespace minnow::vision {

/// The channels of an image that is read.
enum class ImageMode : std::uint8_t {
  unchanged,  ///< those of the file: 1 grey, 2 grey and alpha, 3 RGB, 4 RGB and alpha; palettes become RGB
  grey,       ///< 1: 0.299 R + 0.587 G + 0.114 B (ITU-R BT.601)
  rgb,        ///< 3, without alpha
};

struct ReadImageOptions {
  ImageMode mode = ImageMode::unchanged;
  /// A file with more pixels is a FormatError, before memory is allocated for them.
  std::int64_t max_pixels = 178'956'970;
};

/// Reads a PNG or JPEG file: uint8 [C, H, W].  PNG: 16-bit channels keep their upper 8 bits, gamma is not applied.
/// JPEG: CMYK becomes RGB.  IoError; FormatError, with what was found, for other and damaged files.  Thread-safe.
Tensor read_image(const std::string& path, const ReadImageOptions& options = {},
                  SourceLocation where = SourceLocation::current());

struct JpegOptions {
  int quality = 75;  ///< 1 to 100
};

/// Writes uint8 [H, W] or [C, H, W] with 1 to 4 channels as a PNG file, atomically.  DTypeError, ShapeError, IoError.
void write_png(const Tensor& image, const std::string& path, SourceLocation where = SourceLocation::current());
/// The same for 1 or 3 channels as a JPEG file.  ValueError for the quality.
void write_jpeg(const Tensor& image, const std::string& path, const JpegOptions& options = {},
                SourceLocation where = SourceLocation::current());

struct GridOptions {
  std::int64_t columns = 8;  ///< images in a row (torchvision's nrow)
  std::int64_t padding = 2;  ///< pixels between images, and around all
  double pad_value = 0;
  bool normalize = false;  ///< maps value_range, or the smallest and the largest value, to [0, 1]; float32 only
  std::optional<std::pair<double, double>> value_range = std::nullopt;
  bool scale_each = false;  ///< each image by its own smallest and largest value
};

/// Images side by side, as torchvision.utils.make_grid: [N, C, H, W], [C, H, W] or [H, W], uint8 or float32 on any
/// device, become one [3 or C, height, width] on the cpu; one channel becomes three.  A single image stays as it is,
/// without padding.  DTypeError, ShapeError, ValueError for options out of range.
Tensor make_grid(const Tensor& images, const GridOptions& options = {},
                 SourceLocation where = SourceLocation::current());

/// Writes make_grid(images) to a file whose name ends in .png, .jpg or .jpeg.  float32 in [0, 1] becomes bytes,
/// x * 255 rounded, other values the nearest of these.  ValueError for another ending.
void save_image(const Tensor& images, const std::string& path, const GridOptions& options = {},
                SourceLocation where = SourceLocation::current());

struct ImageFolderOptions {
  ImageMode mode = ImageMode::rgb;
  /// Other files are ignored; capital letters are no difference.
  std::vector<std::string> extensions = {".png", ".jpg", ".jpeg"};
  std::int64_t max_pixels = ReadImageOptions().max_pixels;
};

/// Images in folders, one for each class: root/cat/1.png.  A file is read when its sample is asked for.  A sample is
/// {uint8 [C, H, W], int64 []}; images of different sizes need a transform such as RandomResizedCrop.
class ImageFolder {
 public:
  /// See image_folder().
  ImageFolder(const std::string& root, ImageFolderOptions options = {},
              SourceLocation where = SourceLocation::current());

  std::int64_t size() const { return static_cast<std::int64_t>(paths_.size()); }
  /// IndexError, and the errors of read_image().
  data::LabeledImages get(std::int64_t i, SourceLocation where = SourceLocation::current()) const;
  /// The names of the folders, sorted bytewise; a label is an index into them.
  const std::vector<std::string>& classes() const { return classes_; }
  const std::vector<std::string>& paths() const { return paths_; }
  const std::vector<std::int64_t>& labels() const { return labels_; }

 private:
  ImageFolderOptions options_;
  std::vector<std::string> classes_, paths_;
  std::vector<std::int64_t> labels_;
};

/// The classes and files of a folder, in torchvision's order: class folders sorted by name, in each all files, also
/// those in its subfolders, sorted.  Links to folders within a class are not followed.  IoError when a folder cannot be
/// read; ValueError when there is no class, or one without a file.
ImageFolder image_folder(const std::string& root, ImageFolderOptions options = {},
                         SourceLocation where = SourceLocation::current());

}  // namespace minnow::vision
