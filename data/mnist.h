#pragma once

#include <string>
#include <string_view>
#include <vector>
#include <minnow/data/image_dataset.h>

namespace minnow::data {

struct MnistOptions {
  /// The folder of the files, or the one above it.  Empty: $MINNOW_DATA, else
  /// ${XDG_CACHE_HOME:-~/.cache}/minnow/mnist.
  std::string root{};
  /// Bytes become (byte / 255 - mean) / std; the defaults are those of the training images.
  double mean = 0.1307;
  double std = 0.3081;
};

struct FashionMnistOptions {
  /// As for MNIST; its own folder is `fashion-mnist`.
  std::string root{};
  double mean = 0.2860;
  double std = 0.3530;
};

/// The handwritten digits: split "train" (60,000) or "test" (10,000), images [1, 28, 28], 10 classes.  Files
/// are found in both spellings, with and without .gz.  ValueError for another split; IoError, with every path
/// that was tried and how to get the data, when the files are not there; FormatError when they are not what
/// they should be.
ImageDataset mnist(std::string_view split, MnistOptions options = {}, SourceLocation where = SourceLocation::current());

/// Zalando's articles of clothing, in MNIST's format.  The same errors.
ImageDataset fashion_mnist(std::string_view split, FashionMnistOptions options = {},
                           SourceLocation where = SourceLocation::current());

/// The folders in which mnist() looks for its files, in order.
std::vector<std::string> mnist_folders(const std::string& root = {});

}  // namespace minnow::data
