#pragma once

#include <atomic>
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
#include <minnow/tensor/runtime/stream.h>

namespace minnow::data::detail {

/// The memory of one batch, on the host and on the device, and the events of its copy.
struct BatchMemory {
  BatchBuffer host;
  BatchBuffer device;
  std::vector<Tensor> tensors;  // the batch
  Event started, copied;        // begin and end of the copy to the device
  Event ready;                  // the end of what is computed there
  Event reached;                // the loop's stream waits for the batch from here
  Event released;               // the end of the work that the loop's stream did with it

  bool is_shared() const { return host.is_shared() || device.is_shared(); }
};

/// A batch, or the exception that was thrown instead.
struct BatchResult {
  std::unique_ptr<BatchMemory> memory;
  std::exception_ptr error;
};

/// The part of a data loader that its epochs share: it makes batches, and keeps their memory and statistics.
/// Thread-safe.
class LoaderCore {
 public:
  /// Writes the samples with these indices, batch `at`; seed and epoch are those of the augmentation.
  using Fill = std::function<void(std::span<const std::int64_t> indices, std::uint64_t seed, LoaderPosition at,
                                  BatchBuffer& buffer)>;

  /// ValueError for options out of range, DeviceError for a device that cannot be used.
  LoaderCore(const DataLoaderOptions& options, Fill fill, SourceLocation where);
  ~LoaderCore();
  LoaderCore(const LoaderCore&) = delete;
  LoaderCore& operator=(const LoaderCore&) = delete;

  const DataLoaderOptions& options() const { return options_; }
  std::uint64_t seed() const { return seed_; }
  void set_seed(std::uint64_t seed) { seed_ = seed; }
  SourceLocation where() const { return where_; }

  /// Makes a batch and starts its copy to the device.
  BatchResult make(std::span<const std::int64_t> indices, LoaderPosition at) noexcept;
  /// Makes the loop's stream wait for the copy.
  void deliver(BatchMemory& memory);
  /// Takes the memory back when the loop goes on; it is used again when no tensor holds it.
  void release(std::unique_ptr<BatchMemory> memory) noexcept;

  void count_batch(std::int64_t samples, double wait_seconds, LoaderPosition next);
  /// The loop has reached the end of its epoch.
  void finish_epoch(std::int64_t epoch);
  LoaderStats stats();
  LoaderPosition position() const;
  void set_position(LoaderPosition position);
  std::int64_t epoch() const;
  /// The position to start from; the next call returns the next epoch.
  LoaderPosition begin_epoch();

 private:
  struct Copy {
    Event started, copied, reached;
  };

  std::unique_ptr<BatchMemory> acquire();
  void upload(BatchMemory& memory);
  void collect_copy_times(bool wait);

  DataLoaderOptions options_;
  Fill fill_;
  SourceLocation where_;
  std::atomic<std::uint64_t> seed_;
  minnow::detail::Allocator* host_memory_;
  bool pinned_ = false;
  std::optional<Stream> copy_stream_;  // for copies to the device
  std::mutex upload_mutex_;

  mutable std::mutex mutex_;
  std::vector<std::unique_ptr<BatchMemory>> free_, held_;  // held_: the user holds a tensor of it
  std::vector<Copy> copies_;                               // not counted in stats_ yet
  LoaderStats stats_;
  LoaderPosition position_, next_;
  std::int64_t epoch_ = 0;
};

/// One past the last epoch.
inline constexpr std::int64_t kNoEpoch = std::numeric_limits<std::int64_t>::max();

/// Returns `samples`, the size() of a dataset or sampler; ValueError if it is negative.
std::int64_t checked_samples(const char* whose, std::int64_t samples, SourceLocation where);
/// The number of batches in an epoch.
std::int64_t batches_of(std::int64_t samples, const DataLoaderOptions& options);

/// Checks a batch that get_batch() of a dataset made: ValueError for another number of fields or a missing one,
/// ShapeError for another number of rows.
void check_batch(std::span<const Tensor> fields, std::size_t expected, std::size_t rows, const std::type_info& dataset,
                 SourceLocation where);

}  // namespace minnow::data::detail
