#pragma once

#include <cstdint>
#include <minnow/data/image_dataset.h>

namespace minnow::data {

struct SyntheticDigitsOptions {
  std::uint64_t seed = 0;
  /// The number of the first digit: sets with different numbers have no digit in common, e.g. 0 to train with and
  /// 1,000,000 to test.
  std::int64_t first = 0;
  /// Bytes become (byte / 255 - mean) / std; the defaults are about those of the digits themselves.
  double mean = 0.11;
  double std = 0.23;
};

/// Digits like MNIST's that need no file: images [1, 28, 28], 10 classes, drawn from strokes with random distortion and
/// noise.  Digit i is a function of (seed, first + i), the same on every machine.  Drawn when the set is made, on all
/// threads, in about 10 microseconds each.
class SyntheticDigits : public ImageDataset {
 public:
  /// ValueError for a negative size or first, or a std that is not positive.
  explicit SyntheticDigits(std::int64_t size, SyntheticDigitsOptions options = {},
                           SourceLocation where = SourceLocation::current());
};

}  // namespace minnow::data
