#pragma once

#include <cstdint>
#include <exception>
#include <functional>
#include <limits>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <typeinfo>
#include <vector>
#include <minnow/data/batch.h>
#include <minnow/data/loader_options.h>
#include <minnow/tensor/stream.h>

namespace minnow::data::detail {

/// The memory of one batch on its way: host side, device side where there is a device, and the events
/// between.
struct Slot {
  BatchBuffer host;
  BatchBuffer device;
  std::vector<Tensor> tensors;  // what the consumer gets
  Event started, copied;        // around the copy to the device
  Event reached;                // the consumer's stream came to the batch
  Event released;               // the consumer's stream is done with it

  bool is_shared() const { return host.is_shared() || device.is_shared(); }
};

/// A batch, or why there is none.
struct Made {
  std::unique_ptr<Slot> slot;
  std::exception_ptr error;
};

/// What the epochs of one loader share: how batches are made, their memory, statistics.  Thread-safe.
class LoaderCore {
 public:
  /// Writes the samples with these indices; seed and epoch decide augmentation.
  using Fill = std::function<void(std::span<const std::int64_t> indices, std::uint64_t seed, std::int64_t epoch,
                                  BatchBuffer& buffer)>;

  /// ValueError for options that make no sense, DeviceError for a device that is not there.
  LoaderCore(const DataLoaderOptions& options, Fill fill, SourceLocation where);
  ~LoaderCore();
  LoaderCore(const LoaderCore&) = delete;
  LoaderCore& operator=(const LoaderCore&) = delete;

  const DataLoaderOptions& options() const { return options_; }
  std::uint64_t seed() const { return seed_; }
  SourceLocation where() const { return where_; }

  /// Makes a batch and starts its copy to the device; any thread.
  Made make(std::span<const std::int64_t> indices, std::int64_t epoch) noexcept;
  /// The consumer's stream waits for the copy.
  void deliver(Slot& slot);
  /// The consumer is done: the memory is used again as soon as no tensor of the user's holds it.
  void release(std::unique_ptr<Slot> slot) noexcept;

  void note_batch(std::int64_t samples, double wait_seconds, LoaderPosition next);
  LoaderStats stats();
  LoaderPosition position() const;
  void set_position(LoaderPosition position);
  std::int64_t epoch() const;
  /// The position to start from; the next call starts the epoch after.
  LoaderPosition begin_epoch();

 private:
  struct Copy {
    Event started, copied, reached;
  };

  std::unique_ptr<Slot> acquire();
  void upload(Slot& slot);
  void settle(bool wait);

  DataLoaderOptions options_;
  Fill fill_;
  SourceLocation where_;
  std::uint64_t seed_;
  minnow::detail::Allocator* host_memory_;
  bool pinned_ = false;
  std::optional<Stream> side_;  // copies to the device
  std::mutex upload_mutex_;

  mutable std::mutex mutex_;
  std::vector<std::unique_ptr<Slot>> free_, held_;  // held_: the user kept a tensor
  std::vector<Copy> copies_;                        // not yet in stats_
  LoaderStats stats_;
  LoaderPosition position_, next_;
  std::int64_t epoch_ = 0;
};

/// One past the last epoch.
inline constexpr std::int64_t kNoEpoch = std::numeric_limits<std::int64_t>::max();

/// A number of samples that a dataset or sampler gave; ValueError for a negative one.
std::int64_t checked_samples(const char* whose, std::int64_t samples, SourceLocation where);
/// The batches of an epoch.
std::int64_t batches_of(std::int64_t samples, const DataLoaderOptions& options);

/// Refuses a batch that a dataset's get_batch made: ValueError for another number of fields or one that was not made,
/// ShapeError for another number of rows.
void check_batch(std::span<const Tensor> fields, std::size_t expected, std::size_t rows, const std::type_info& dataset,
                 SourceLocation where);

/// Rethrows the exception in flight as a SampleError.
[[noreturn]] void throw_sample_error(std::int64_t sample, SourceLocation where);

}  // namespace minnow::data::detail
