#pragma once

#include <string>
#include <string_view>
#include <vector>
#include <minnow/data/image_dataset.h>

namespace minnow::data {

struct MnistOptions {
  /// The folder of the files, or its parent.  Empty: $MINNOW_DATA, else ${XDG_CACHE_HOME:-~/.cache}/minnow/mnist.
  std::string root{};
  /// Bytes become (byte / 255 - mean) / std; the defaults are those of the training images.
  double mean = 0.1307;
  double std = 0.3081;
  /// Batches for a device are copied as bytes and normalized there (Normalization::on_device).
  bool normalize_on_device = false;
};

struct FashionMnistOptions {
  /// As for MNIST; the folder is called `fashion-mnist`.
  std::string root{};
  double mean = 0.2860;
  double std = 0.3530;
  bool normalize_on_device = false;
};

/// MNIST, the handwritten digits: split "train" (60,000) or "test" (10,000), images [1, 28, 28], 10 classes.  Files are
/// named train-images-idx3-ubyte or train-images.idx3-ubyte and so on, with or without .gz.  ValueError for another
/// split; IoError, with every path that was tried and how to get the data, when a file is missing; FormatError for
/// other content.
ImageDataset mnist(std::string_view split, MnistOptions options = {}, SourceLocation where = SourceLocation::current());

/// FashionMNIST, articles of clothing in MNIST's format.  The same errors.
ImageDataset fashion_mnist(std::string_view split, FashionMnistOptions options = {},
                           SourceLocation where = SourceLocation::current());

/// The folders in which mnist() looks for its files, in order.
std::vector<std::string> mnist_folders(const std::string& root = {});

}  // namespace minnow::data
