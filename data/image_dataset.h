#pragma once

#include <cstdint>
#include <span>
#include <vector>
#include <minnow/data/dataset.h>

namespace minnow::data {

/// An image and its class, or a batch of both: images float32 [N, C, H, W], labels int64 [N].
struct LabeledImages {
  Tensor images;
  Tensor labels;
};

/// Bytes are converted to float32: (byte / 255 - mean) / std.
struct Normalization {
  double mean = 0;
  double std = 1;
  /// Batches that a loader copies to a device travel as bytes, a quarter of the size, and are converted there: the same
  /// float32 numbers, bit by bit.  Without effect on the cpu.
  bool on_device = false;
  /// One for each channel, in place of mean and std.  Not together with on_device.
  std::vector<double> means{};
  std::vector<double> stds{};
};

/// Images and their class numbers.  Images are kept as bytes, and normalized when a batch is made, or on the device
/// that it is copied to.  A sample is {float32 [C, H, W], int64 []}; with the default normalization it is in [0, 1].
class ImageDataset {
 public:
  /// images: uint8 [N, H, W] or [N, C, H, W]   labels: uint8 or int64 [N], each in [0, classes).  On the cpu.
  /// DTypeError, ShapeError, DeviceError, IndexError for a label out of range, ValueError for a std that is not
  /// positive, and for means and stds that are not one for each channel.
  ImageDataset(const Tensor& images, const Tensor& labels, std::int64_t classes, Normalization normalization = {},
               SourceLocation where = SourceLocation::current());

  std::int64_t size() const { return images_.shape()[0]; }
  std::int64_t classes() const { return classes_; }
  /// IndexError.
  LabeledImages get(std::int64_t i, SourceLocation where = SourceLocation::current()) const;
  /// Writes these samples into a batch.  IndexError.
  void get_batch(std::span<const std::int64_t> indices, BatchBuffer& buffer,
                 SourceLocation where = SourceLocation::current()) const;

  /// The bytes, uint8 [N, C, H, W].  `ImageDataset(set.images(), set.labels(), set.classes())` has them in [0, 1].
  const Tensor& images() const { return images_; }
  /// int64 [N].
  const Tensor& labels() const { return labels_; }

 private:
  Tensor images_, labels_;
  std::int64_t classes_;
  std::vector<float> scales_, shifts_;  // one, or one for each channel
  bool on_device_ = false;
};

}  // namespace minnow::data
