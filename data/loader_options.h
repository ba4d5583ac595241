#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <minnow/tensor/device.h>
#include <minnow/tensor/error.h>

namespace minnow::data {

/// Lets the loader choose.
inline constexpr int kAuto = -1;

struct DataLoaderOptions {
  std::int64_t batch_size = 64;
  /// Another random order in each epoch; else the dataset's own.  Not with a sampler of your own.
  bool shuffle = false;
  /// Threads that make batches.  0: the caller makes them, one at a time.  kAuto: 0 where the dataset writes
  /// whole batches by itself (it is in memory: waking a thread would cost more), else up to 2.
  int num_workers = kAuto;
  /// Leaves out a last batch that is smaller than the others.
  bool drop_last = false;
  /// Batches made ahead of the one in use.  kAuto: enough for the workers to fill while the consumer is busy.
  int prefetch = kAuto;
  /// Where batches go; copies run on a stream of their own, from pinned memory, while the step computes.
  Device device = {};
  /// Decides order and augmentation, with the epoch and the sample; by default the seed of `manual_seed`.
  std::optional<std::uint64_t> seed = std::nullopt;
  /// Batches in pinned memory, for your own copies to a device.
  bool pin_memory = false;
};

/// Where a loader stands: what to save to go on later with the same batches.
struct LoaderPosition {
  std::int64_t epoch = 0;
  /// Batches of that epoch that were handed out already.
  std::int64_t batch = 0;

  friend bool operator==(const LoaderPosition&, const LoaderPosition&) = default;
};

/// What a loader has done since it was made.
struct LoaderStats {
  std::int64_t batches = 0;    ///< handed out
  std::int64_t samples = 0;    ///< in these batches
  double wait_seconds = 0;     ///< the consumer waited, or made the batch itself
  double copy_seconds = 0;     ///< copies to the device took, by its own clock
  double exposed_seconds = 0;  ///< of these, the consumer's stream stood still
  std::int64_t buffers = 0;    ///< memory for batches that was ever set up

  /// Share of the copy time that ran beside the step: 1 is all of it; 1 without copies.
  double hidden_share() const { return copy_seconds > 0 ? 1 - exposed_seconds / copy_seconds : 1; }
};

/// A sample that could not be read: names it, and carries the dataset's own exception
/// (std::rethrow_if_nested).
class SampleError : public Error {
 public:
  SampleError(std::int64_t sample, std::string_view what, SourceLocation where = {});
  /// Its index in the dataset.
  std::int64_t sample() const noexcept { return sample_; }

 private:
  std::int64_t sample_;
};

}  // namespace minnow::data
