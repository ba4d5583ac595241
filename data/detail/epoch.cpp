#include <minnow/data/detail/epoch.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <new>
#include <system_error>
#include <thread>
#include <minnow/tensor/capture_session.h>
#include <minnow/tensor/threads.h>

namespace minnow::data::detail {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::int64_t kSmallBatch = std::int64_t{1} << 20;  // bytes
constexpr std::int64_t kSmallBatchWindow = 16;
// About half of what it costs to sleep and be woken.
constexpr auto kSpin = std::chrono::microseconds(30);

double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

}  // namespace

class Epoch::State {
 public:
  State(std::shared_ptr<LoaderCore> core, std::vector<std::int64_t> order, LoaderPosition start, int workers);
  ~State();
  State(const State&) = delete;
  State& operator=(const State&) = delete;

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

Epoch::State::State(std::shared_ptr<LoaderCore> core, std::vector<std::int64_t> order, LoaderPosition start_at,
                    int workers)
    : core_(std::move(core)),
      order_(std::move(order)),
      epoch_(start_at.epoch),
      total_(batches_of(static_cast<std::int64_t>(order_.size()), core_->options())),
      current_(std::min(start_at.batch, total_)) {
  const DataLoaderOptions& options = core_->options();
  // One batch is made ahead even without workers, where its copy to the device can then overlap a step.
  ahead_ = options.prefetch != kAuto ? options.prefetch : options.device.is_cpu() ? 0 : 1;
  claimed_ = taken_ = current_;
  const auto left = total_ - current_;
  if (workers > 0 && left > 0) start(static_cast<int>(std::min<std::int64_t>(workers, left)));
}

Epoch::State::~State() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  room_.notify_all();
  workers_.clear();  // joins
  core_->release(std::move(in_use_));
  for (auto& place : ring_) core_->release(std::move(place.made.slot));
  for (auto& made : made_) core_->release(std::move(made.slot));
}

void Epoch::State::start(int workers) {
  const DataLoaderOptions& options = core_->options();
  window_chosen_ = options.prefetch != kAuto;
  window_ = window_chosen_ ? std::max(1, options.prefetch) : 2 * workers;
  ring_ = std::vector<Place>(static_cast<std::size_t>(std::max(window_, kSmallBatchWindow)));
  try {
    workers_.reserve(static_cast<std::size_t>(workers));
    for (int i = 0; i < workers; ++i) workers_.emplace_back([this] { work(); });
  } catch (const std::system_error&) {  // no more threads: those that run, or the caller, do it
  } catch (const std::bad_alloc&) {     // no memory for one
  }
}

std::span<const std::int64_t> Epoch::State::indices_of(std::int64_t batch) const {
  const std::int64_t size = core_->options().batch_size;
  const std::int64_t first = batch * size;
  const std::int64_t count = std::min(size, static_cast<std::int64_t>(order_.size()) - first);
  return std::span(order_).subspan(static_cast<std::size_t>(first), static_cast<std::size_t>(count));
}

void Epoch::State::work() noexcept {
  const SerialRegion serial;
  for (;;) {
    const std::int64_t batch = claim();
    if (batch < 0) return;
    put(batch, core_->make(indices_of(batch), epoch_));
  }
}

/// The next batch for a worker, once there is room for it; -1 when there is nothing left to do.
std::int64_t Epoch::State::claim() {
  std::unique_lock lock(mutex_);
  while (!stop_ && claimed_ < total_ && claimed_ >= taken_ + window_) {
    ++asleep_;
    room_.wait(lock);
    --asleep_;
  }
  return stop_ || claimed_ >= total_ ? -1 : claimed_++;
}

void Epoch::State::put(std::int64_t batch, Made made) {
  std::int64_t bytes = 0;
  if (made.slot)
    for (const auto& tensor : made.slot->tensors) bytes += tensor.nbytes();
  Place& place = ring_[static_cast<std::size_t>(batch) % ring_.size()];
  place.made = std::move(made);
  bool wake_consumer = false, wake_workers = false;
  {
    const std::lock_guard lock(mutex_);
    place.full.store(true, std::memory_order_release);
    if (!window_chosen_) {
      window_chosen_ = true;
      // Small batches are made many at a time, so that a worker seldom sleeps and the consumer seldom wakes
      // it.
      if (bytes <= kSmallBatch) window_ = std::max(window_, kSmallBatchWindow);
      wake_workers = asleep_ > 0;
    }
    wake_consumer = consumer_waits_;
  }
  if (wake_consumer) ready_.notify_one();
  if (wake_workers) room_.notify_all();
}

Made Epoch::State::take_from_ring() {
  Place& place = ring_[static_cast<std::size_t>(current_) % ring_.size()];
  const auto start = Clock::now();
  while (!place.full.load(std::memory_order_acquire) && Clock::now() - start < kSpin) std::this_thread::yield();
  Made made;
  bool wake_workers = false;
  {
    std::unique_lock lock(mutex_);
    if (!place.full.load(std::memory_order_relaxed) && asleep_ > 0) room_.notify_all();
    consumer_waits_ = true;
    ready_.wait(lock, [&] { return place.full.load(std::memory_order_relaxed); });
    consumer_waits_ = false;
    made = std::move(place.made);
    place.made = Made();
    place.full.store(false, std::memory_order_relaxed);
    ++taken_;
    // Waking costs more than a small batch: let half of the ring run empty first.
    const std::int64_t room = taken_ + window_ - claimed_;
    wake_workers = asleep_ > 0 && claimed_ < total_ && room >= std::max<std::int64_t>(1, window_ / 2);
  }
  if (wake_workers) room_.notify_all();
  return made;
}

Made Epoch::State::take_own() {
  while (claimed_ < total_ && claimed_ <= current_ + ahead_) {
    made_.push_back(core_->make(indices_of(claimed_), epoch_));
    ++claimed_;
  }
  Made made = std::move(made_.front());
  made_.pop_front();
  return made;
}

const std::vector<Tensor>* Epoch::State::next() {
  if (CaptureSession::current()) forbid_in_capture("DataLoader", core_->where());
  core_->release(std::move(in_use_));
  if (current_ >= total_) return nullptr;
  const auto start = Clock::now();
  Made made = workers_.empty() ? take_own() : take_from_ring();
  const auto samples = static_cast<std::int64_t>(indices_of(current_).size());
  ++current_;
  in_use_ = std::move(made.slot);
  core_->note_batch(made.error ? 0 : samples, seconds_since(start),
                    current_ < total_ ? LoaderPosition{epoch_, current_} : LoaderPosition{epoch_ + 1, 0});
  if (made.error) std::rethrow_exception(made.error);
  core_->deliver(*in_use_);
  return &in_use_->tensors;
}

Epoch::Epoch(std::shared_ptr<LoaderCore> core, std::vector<std::int64_t> order, LoaderPosition start, int workers)
    : state_(std::make_unique<State>(std::move(core), std::move(order), start, workers)) {}
Epoch::~Epoch() = default;
const std::vector<Tensor>* Epoch::next() { return state_->next(); }

int default_workers() { return static_cast<int>(std::clamp(std::thread::hardware_concurrency(), 1U, 2U)); }

}  // namespace minnow::data::detail
