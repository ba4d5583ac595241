#pragma once

#include <string>
#include <string_view>
#include <vector>
#include <minnow/data/image_dataset.h>

namespace minnow::vision {

struct CifarOptions {
  /// The folder of the files, or its parent.  Empty: $MINNOW_DATA, else
  /// ${XDG_CACHE_HOME:-~/.cache}/minnow/cifar-10-batches-bin or cifar-100-binary.
  std::string root{};
  /// Bytes become (byte / 255 - mean) / std of their channel.  Empty: those of the training images.
  std::vector<double> means{};
  std::vector<double> stds{};
  /// CIFAR-100: the 20 superclasses in place of the 100 classes.
  bool coarse = false;
};

/// CIFAR-10 (Krizhevsky 2009) in its binary version: split "train" (50,000) or "test" (10,000), images [3, 32, 32], 10
/// classes; files data_batch_1.bin to data_batch_5.bin and test_batch.bin.  ValueError for another split; IoError, with
/// every path that was tried and how to get the data, when a file is missing; FormatError for other content.
data::ImageDataset cifar10(std::string_view split, const CifarOptions& options = {},
                           SourceLocation where = SourceLocation::current());

/// CIFAR-100, 100 classes; files train.bin and test.bin.  The same errors.
data::ImageDataset cifar100(std::string_view split, const CifarOptions& options = {},
                            SourceLocation where = SourceLocation::current());

/// The folders in which cifar10() looks for its files, in order.
std::vector<std::string> cifar10_folders(const std::string& root = {});

struct SyntheticShapesOptions {
  std::uint64_t seed = 0;
  std::int64_t first = 0;  ///< the number of the first image, as in SyntheticDigitsOptions
};

/// Images in CIFAR's format that need no file: [3, 32, 32], 10 classes of shapes (disk, ring, square, frame, triangle,
/// cross, diagonal cross, stripes in two directions, checkers) in random colours, places and sizes, with noise.  Image
/// i depends on (seed, first + i) alone.  Bytes become (byte / 255 - 0.5) / 0.3.
class SyntheticShapes : public data::ImageDataset {
 public:
  /// ValueError for a negative size or first.
  explicit SyntheticShapes(std::int64_t size, SyntheticShapesOptions options = {},
                           SourceLocation where = SourceLocation::current());
};

}  // namespace minnow::vision
