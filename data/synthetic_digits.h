#pragma once

#include <cstdint>
#include <minnow/data/image_dataset.h>

namespace minnow::data {

struct SyntheticDigitsOptions {
  std::uint64_t seed = 0;
  /// The number of the first digit.  Sets whose ranges of numbers do not overlap share no digit, e.g. first = 0 for
  /// training and 1,000,000 for tests.
  std::int64_t first = 0;
  /// Bytes become (byte / 255 - mean) / std; the defaults are about the mean and std of the pixels.
  double mean = 0.11;
  double std = 0.23;
  bool normalize_on_device = false;  ///< as in MnistOptions
};

/// Digits like MNIST's that need no file: images [1, 28, 28], 10 classes, drawn from a font with random distortion and
/// noise.  Digit i depends on (seed, first + i) alone; it is the same on every machine.  The constructor draws all
/// digits, on all threads.
class SyntheticDigits : public ImageDataset {
 public:
  /// ValueError for a negative size or first, or a std that is not positive.
  explicit SyntheticDigits(std::int64_t size, SyntheticDigitsOptions options = {},
                           SourceLocation where = SourceLocation::current());
};

}  // namespace minnow::data
