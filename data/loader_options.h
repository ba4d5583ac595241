#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>
#include <vector>
#include <minnow/tensor/device.h>
#include <minnow/tensor/error.h>
#include <minnow/tensor/tensor.h>

namespace minnow::data {

/// The data loader chooses.
inline constexpr int kAuto = -1;

/// Makes a batch: gets the fields of each sample (numbers as 0-dim tensors), returns one tensor for each field.  Called
/// by the threads of a loader at the same time.
using Collate = std::function<std::vector<Tensor>(const std::vector<std::vector<Tensor>>& samples)>;

struct PadOptions {
  double value = 0;
  bool left = false;  ///< pads before the elements, not after them
};
/// For samples of different lengths: each field becomes [batch, longest sizes of this batch], padded by `value`.  The
/// batch throws ShapeError for samples of different ranks, DTypeError for different dtypes, ValueError for a value that
/// an integer dtype cannot hold; a loader nests them in a BatchError.
Collate pad_collate(const PadOptions& options = {});

struct DataLoaderOptions {
  std::int64_t batch_size = 64;
  /// A new random order in each epoch; else the dataset's order.  Not together with a sampler.
  bool shuffle = false;
  /// Threads that make batches.  0: the caller's thread makes them.  kAuto: 0 for a BatchDataset (waking a thread would
  /// cost more than a batch), else up to 2.
  int num_workers = kAuto;
  /// Skips a last batch that is smaller than the others.
  bool drop_last = false;
  /// Batches that are made ahead of the one in use.  kAuto: 2 for each worker, at least 16 if batches are small;
  /// without workers 1 for a device, else 0.
  int prefetch = kAuto;
  /// The device of the batches.  They are copied from pinned memory on a stream of their own, while the step computes.
  Device device = {};
  /// The seed of the order and of the augmentation; by default that of `manual_seed`.
  std::optional<std::uint64_t> seed = std::nullopt;
  /// Makes batches in pinned memory, for your own copies to a device.
  bool pin_memory = false;
  /// Makes batches of samples, e.g. `pad_collate()`; by default samples of one shape are stacked.
  Collate collate = {};
};

/// The position of a data loader: save it to continue later with the same batches.  Within the loop over the last batch
/// it is the end of that epoch, from which a loop has no batches; after the loop, the start of the next epoch.
struct LoaderPosition {
  std::int64_t epoch = 0;
  /// Batches of that epoch that the loop has had.
  std::int64_t batch = 0;

  friend bool operator==(const LoaderPosition&, const LoaderPosition&) = default;
};

/// Statistics of a data loader since it was made.
struct LoaderStats {
  std::int64_t batches = 0;    ///< that loops have had
  std::int64_t samples = 0;    ///< in these batches
  double wait_seconds = 0;     ///< in which the loop waited for batches, or made them itself
  double copy_seconds = 0;     ///< of copies to the device, by its clock
  double exposed_seconds = 0;  ///< the part of copy_seconds in which the loop's stream waited
  std::int64_t buffers = 0;    ///< the number of batch buffers that were made

  /// The fraction of the copy time that overlapped with steps; 1 without copies.
  double hidden_share() const { return copy_seconds > 0 ? 1 - exposed_seconds / copy_seconds : 1; }
};

/// A sample could not be read.  The dataset's exception is nested in it (std::rethrow_if_nested).
class SampleError : public Error {
 public:
  SampleError(std::int64_t sample, std::string_view what, SourceLocation where = {},
              std::string_view loader = "DataLoader");
  /// Its index in the dataset.
  std::int64_t sample() const noexcept { return sample_; }

 private:
  std::int64_t sample_;
};

/// A batch could not be made: a `collate` or get_batch() has thrown, for samples that can be read one by one.  What it
/// threw is nested in this error (std::rethrow_if_nested).
class BatchError : public Error {
 public:
  BatchError(std::int64_t batch, std::string_view what, SourceLocation where = {},
             std::string_view loader = "DataLoader");
  /// Its number in the epoch, from 0 on.
  std::int64_t batch() const noexcept { return batch_; }

 private:
  std::int64_t batch_;
};

}  // namespace minnow::data
