#pragma once

#include <cstdint>
#include <mutex>
#include <minnow/tensor/source_location.h>

namespace minnow {

/// Where in a Philox stream an operation draws: element i uses counter offset + i / 4, lane i % 4, so that
/// the numbers do not depend on device or threads.
struct PhiloxState {
  std::uint64_t seed = 0;
  std::uint64_t offset = 0;
  /// Device memory {seed, what to add to the offset} that takes the seed's place when set: in a step that is captured
  /// once and replayed, the numbers change from replay to replay.
  const std::uint64_t* replayed = nullptr;
};

/// A source of random numbers: a seed, and how much of its stream was used.  Thread-safe.  Not copyable: hand
/// over state() and set_state() instead.
class RandomGenerator {
 public:
  explicit RandomGenerator(std::uint64_t seed = 0) : state_{seed, 0} {}
  RandomGenerator(const RandomGenerator&) = delete;
  RandomGenerator& operator=(const RandomGenerator&) = delete;

  /// Takes `numbers` 32-bit numbers of the stream.  ValueError below 0.
  PhiloxState reserve(std::int64_t numbers, SourceLocation where = SourceLocation::current());
  void manual_seed(std::uint64_t seed);
  PhiloxState state() const;
  void set_state(PhiloxState state);

 private:
  mutable std::mutex mutex_;
  PhiloxState state_;
};

/// The generator of all random operations that are given no other: one for all devices.  Its seed is 0 until
/// manual_seed.
RandomGenerator& default_generator();
/// Restarts the default generator.
void manual_seed(std::uint64_t seed);

}  // namespace minnow
