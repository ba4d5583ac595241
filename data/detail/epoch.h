#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>
#include <minnow/data/detail/loader_core.h>

namespace minnow::data::detail {

/// One pass over an order of samples: batches in that order, made by worker threads or by the caller.  Used
/// by one thread; the destructor stops and joins the workers wherever they are.
class Epoch {
 public:
  /// Starts at a position; the batches before it are not made.
  Epoch(std::shared_ptr<LoaderCore> core, std::vector<std::int64_t> order, LoaderPosition start, int workers);
  ~Epoch();
  Epoch(const Epoch&) = delete;
  Epoch& operator=(const Epoch&) = delete;

  /// The tensors of the next batch, until the next call; nullptr at the end.  The caller has dropped the
  /// tensors of the batch before.  Throws what the dataset threw (SampleError); the call after that goes on
  /// with the next batch.
  const std::vector<Tensor>* next();

 private:
  /// A place in the ring; batch b goes to place b % size.
  struct Place {
    Made made;
    std::atomic<bool> full = false;
  };

  std::span<const std::int64_t> indices_of(std::int64_t batch) const;
  void start(int workers);
  void work() noexcept;
  std::int64_t claim();
  void put(std::int64_t batch, Made made);
  Made take();
  Made take_own();
  Made take_from_ring();

  std::shared_ptr<LoaderCore> core_;
  std::vector<std::int64_t> order_;
  std::int64_t epoch_;
  std::int64_t total_;    // batches of the whole epoch
  std::int64_t current_;  // the next one that the consumer gets
  std::unique_ptr<Slot> in_use_;

  // Without workers: batches that the caller made ahead.
  std::int64_t ahead_ = 0;
  std::deque<Made> made_;

  // With workers.
  std::vector<Place> ring_;
  std::mutex mutex_;
  std::condition_variable room_, ready_;
  std::int64_t claimed_ = 0;  // guarded, as all that follows
  std::int64_t taken_ = 0;
  std::int64_t window_ = 0;  // batches that may be claimed and not taken
  int asleep_ = 0;
  bool consumer_waits_ = false;
  bool window_chosen_ = false;
  bool stop_ = false;
  std::vector<std::jthread> workers_;
};

}  // namespace minnow::data::detail
