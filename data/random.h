#pragma once

#include <cstdint>

namespace minnow::data {

/// Random numbers for one sample, or for the order of one epoch.  They depend on (seed, epoch, sample) alone: they are
/// the same on every machine and for any number of workers.  SplitMix64.  Not thread-safe.
class Random {
 public:
  explicit Random(std::uint64_t seed, std::uint64_t epoch = 0, std::uint64_t sample = 0)
      : state_(mix(mix(mix(seed + kStep) + epoch + kStep) + sample + kStep)) {}

  /// 64 random bits.
  std::uint64_t bits() { return mix(state_ += kStep); }
  /// In [0, 1).
  double uniform() { return static_cast<double>(bits() >> 11) * 0x1p-53; }
  /// In [low, high).
  double uniform(double low, double high);
  /// An integer in [0, n), without bias; 0 for n < 2.
  std::int64_t below(std::int64_t n) {
    if (n < 2) return 0;
    const auto range = static_cast<std::uint64_t>(n);
    const std::uint64_t reject = (0 - range) % range;  // 2^64 mod n
    std::uint64_t x = bits();
    while (x < reject) x = bits();
    return static_cast<std::int64_t>(x % range);
  }
  /// Normally distributed, mean 0, standard deviation 1.
  double normal();

 private:
  static constexpr std::uint64_t kStep = 0x9E3779B97F4A7C15;

  static constexpr std::uint64_t mix(std::uint64_t z) {
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EB;
    return z ^ (z >> 31);
  }

  std::uint64_t state_;
};

}  // namespace minnow::data
