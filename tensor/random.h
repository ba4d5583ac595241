#pragma once

#include <cstdint>
#include <mutex>
#include <minnow/tensor/source_location.h>

namespace minnow {

class StateDict;

/// The position in a Philox stream from which an operation draws: element i uses counter offset + i / 4, lane i % 4, so
/// that the numbers do not depend on device or threads.
struct PhiloxState {
  std::uint64_t seed = 0;
  std::uint64_t offset = 0;
  /// If set, device memory {seed, increment of the offset} that kernels read instead of `seed`, so that each replay of
  /// a captured step draws other numbers.
  const std::uint64_t* replayed = nullptr;
};

/// A source of random numbers: a seed, and how much of its stream was used.  Thread-safe.  Not copyable; state() and
/// set_state() copy the state.
class RandomGenerator {
 public:
  explicit RandomGenerator(std::uint64_t seed = 0) : state_{seed, 0} {}
  RandomGenerator(const RandomGenerator&) = delete;
  RandomGenerator& operator=(const RandomGenerator&) = delete;

  /// Reserves `numbers` 32-bit numbers and advances the stream past them.  ValueError below 0.
  PhiloxState reserve(std::int64_t numbers, SourceLocation where = SourceLocation::current());
  void manual_seed(std::uint64_t seed);
  PhiloxState state() const;
  void set_state(PhiloxState state);
  /// "seed" and "offset", int64 with the same bits.
  StateDict state_dict() const;
  /// ValueError unless the values are what state_dict() gave; nothing has changed then.
  void load_state_dict(const StateDict& values, SourceLocation where = SourceLocation::current());

 private:
  mutable std::mutex mutex_;
  PhiloxState state_;
};

/// The generator of all random operations that are given no other, on all devices.  Its seed is 0 until manual_seed().
RandomGenerator& default_generator();
/// Restarts the default generator with a seed.
void manual_seed(std::uint64_t seed);

namespace detail {

/// Replaces this thread's default generator for a scope.
class DefaultGenerator {
 public:
  [[nodiscard]] explicit DefaultGenerator(RandomGenerator& generator) noexcept;
  ~DefaultGenerator();
  DefaultGenerator(const DefaultGenerator&) = delete;
  DefaultGenerator& operator=(const DefaultGenerator&) = delete;

 private:
  RandomGenerator* const previous_;
};

}  // namespace detail

}  // namespace minnow
