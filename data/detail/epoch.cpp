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
#include <utility>
#include <minnow/tensor/profile/observers.h>
#include <minnow/tensor/runtime/calling_thread.h>
#include <minnow/tensor/runtime/capture_rules.h>
#include <minnow/tensor/runtime/threads.h>

namespace minnow::data::detail {
namespace {

using Clock = std::chrono::steady_clock;
using minnow::detail::ScopeObserver;
using minnow::detail::SharedTrace;

constexpr std::int64_t kSmallBatch = std::int64_t{1} << 20;  // bytes
constexpr std::int64_t kSmallBatchWindow = 16;
// About half the time that sleeping and waking up takes.
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
  /// An entry of the ring buffer; batch b is in entry b % size.
  struct Entry {
    BatchResult result;
    std::atomic<bool> full = false;
  };

  std::span<const std::int64_t> indices_of(std::int64_t batch) const;
  void start(int workers);
  void work(int number) noexcept;
  std::int64_t claim(std::shared_ptr<SharedTrace>& trace);
  void follow_trace();
  void put(std::int64_t batch, BatchResult result);
  BatchResult take_own();
  BatchResult take_from_ring();

  std::shared_ptr<LoaderCore> core_;
  std::vector<std::int64_t> order_;
  std::int64_t epoch_;
  std::int64_t total_;    // batches of the whole epoch
  std::int64_t current_;  // the next one that the consumer gets
  bool ended_ = false;    // the consumer has reached the end
  std::unique_ptr<BatchMemory> in_use_;

  // Without workers: batches that are made ahead.
  std::int64_t ahead_ = 0;
  std::deque<BatchResult> made_;

  // With workers.
  std::vector<Entry> ring_;
  std::mutex mutex_;
  std::condition_variable space_, ready_;
  std::int64_t claimed_ = 0;  // mutex_ guards this and what follows
  std::int64_t taken_ = 0;
  std::int64_t window_ = 0;  // the limit of batches that are claimed and not taken
  int sleeping_ = 0;
  bool consumer_waits_ = false;
  bool window_chosen_ = false;
  bool stop_ = false;
  std::shared_ptr<SharedTrace> trace_;  // of the consumer
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
  // Without workers one batch is made ahead for a device, so that its copy overlaps with a step.
  ahead_ = options.prefetch != kAuto ? options.prefetch : options.device.is_cpu() ? 0 : 1;
  claimed_ = taken_ = current_;
  const auto left = total_ - current_;
  follow_trace();
  if (workers > 0 && left > 0) start(static_cast<int>(std::min<std::int64_t>(workers, left)));
}

Epoch::State::~State() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  space_.notify_all();
  workers_.clear();  // joins
  core_->release(std::move(in_use_));
  for (auto& entry : ring_) core_->release(std::move(entry.result.memory));
  for (auto& result : made_) core_->release(std::move(result.memory));
}

void Epoch::State::start(int workers) {
  const DataLoaderOptions& options = core_->options();
  window_chosen_ = options.prefetch != kAuto;
  window_ = window_chosen_ ? std::max(1, options.prefetch) : 2 * workers;
  ring_ = std::vector<Entry>(static_cast<std::size_t>(std::max(window_, kSmallBatchWindow)));
  try {
    workers_.reserve(static_cast<std::size_t>(workers));
    for (int i = 0; i < workers; ++i) workers_.emplace_back([this, i] { work(i); });
  } catch (const std::system_error&) {  // no more threads: those that run, or the caller, make the batches
  } catch (const std::bad_alloc&) {     // as above
  }
}

std::span<const std::int64_t> Epoch::State::indices_of(std::int64_t batch) const {
  const std::int64_t size = core_->options().batch_size;
  const std::int64_t first = batch * size;
  const std::int64_t count = std::min(size, static_cast<std::int64_t>(order_.size()) - first);
  return std::span(order_).subspan(static_cast<std::size_t>(first), static_cast<std::size_t>(count));
}

void Epoch::State::work(int number) noexcept {
  const SerialRegion serial;
  for (;;) {
    std::shared_ptr<SharedTrace> trace;
    const std::int64_t batch = claim(trace);
    if (batch < 0) return;
    BatchResult result;
    {  // a batch that the consumer has is in the trace
      const auto follows = trace ? trace->follow("loader", number) : nullptr;
      result = core_->make(indices_of(batch), {epoch_, batch});
    }
    put(batch, std::move(result));
  }
}

/// The workers' batches are in the consumer's trace from here on.
void Epoch::State::follow_trace() {
  const ScopeObserver* scopes = minnow::detail::calling_thread.scopes;
  if (!scopes && !trace_) return;
  const std::lock_guard lock(mutex_);
  trace_ = scopes ? scopes->trace() : nullptr;
}

/// Waits for space in the ring, and returns the next batch to make; -1 at the end.
std::int64_t Epoch::State::claim(std::shared_ptr<SharedTrace>& trace) {
  std::unique_lock lock(mutex_);
  while (!stop_ && claimed_ < total_ && claimed_ >= taken_ + window_) {
    ++sleeping_;
    space_.wait(lock);
    --sleeping_;
  }
  trace = trace_;
  return stop_ || claimed_ >= total_ ? -1 : claimed_++;
}

void Epoch::State::put(std::int64_t batch, BatchResult result) {
  std::int64_t bytes = 0;
  if (result.memory)
    for (const auto& tensor : result.memory->tensors) bytes += tensor.nbytes();
  Entry& entry = ring_[static_cast<std::size_t>(batch) % ring_.size()];
  entry.result = std::move(result);
  bool wake_consumer = false, wake_workers = false;
  {
    const std::lock_guard lock(mutex_);
    entry.full.store(true, std::memory_order_release);
    if (!window_chosen_) {
      window_chosen_ = true;
      // Many small batches are made ahead, since waking a worker takes longer than a small batch.
      if (bytes <= kSmallBatch) window_ = std::max(window_, kSmallBatchWindow);
      wake_workers = sleeping_ > 0;
    }
    wake_consumer = consumer_waits_;
  }
  if (wake_consumer) ready_.notify_one();
  if (wake_workers) space_.notify_all();
}

BatchResult Epoch::State::take_from_ring() {
  Entry& entry = ring_[static_cast<std::size_t>(current_) % ring_.size()];
  const auto start = Clock::now();
  while (!entry.full.load(std::memory_order_acquire) && Clock::now() - start < kSpin) std::this_thread::yield();
  BatchResult result;
  bool wake_workers = false;
  {
    std::unique_lock lock(mutex_);
    if (!entry.full.load(std::memory_order_relaxed) && sleeping_ > 0) space_.notify_all();
    consumer_waits_ = true;
    ready_.wait(lock, [&] { return entry.full.load(std::memory_order_relaxed); });
    consumer_waits_ = false;
    result = std::move(entry.result);
    entry.result = BatchResult();
    entry.full.store(false, std::memory_order_relaxed);
    ++taken_;
    // Waking a worker takes longer than a small batch: wait until half of the window is empty.
    const std::int64_t space = taken_ + window_ - claimed_;
    wake_workers = sleeping_ > 0 && claimed_ < total_ && space >= std::max<std::int64_t>(1, window_ / 2);
  }
  if (wake_workers) space_.notify_all();
  return result;
}

BatchResult Epoch::State::take_own() {
  while (claimed_ < total_ && claimed_ <= current_ + ahead_) {
    made_.push_back(core_->make(indices_of(claimed_), {epoch_, claimed_}));
    ++claimed_;
  }
  BatchResult result = std::move(made_.front());
  made_.pop_front();
  return result;
}

const std::vector<Tensor>* Epoch::State::next() {
  if (CaptureRules::current()) forbid_in_capture("DataLoader", core_->where());
  core_->release(std::move(in_use_));
  if (current_ >= total_) {
    if (!std::exchange(ended_, true)) core_->finish_epoch(epoch_);
    return nullptr;
  }
  follow_trace();
  if (ScopeObserver* scopes = minnow::detail::calling_thread.scopes) [[unlikely]] {
    const auto full = std::count_if(ring_.begin(), ring_.end(), [](const Entry& entry) { return entry.full.load(); });
    scopes->count("batches that wait", full + static_cast<std::int64_t>(made_.size()));
  }
  const auto start = Clock::now();
  BatchResult result;
  {
    const minnow::detail::OpenScope scope(minnow::detail::ScopeKind::wait, "wait for batch");
    result = workers_.empty() ? take_own() : take_from_ring();
  }
  const auto samples = static_cast<std::int64_t>(indices_of(current_).size());
  ++current_;
  in_use_ = std::move(result.memory);
  core_->count_batch(result.error ? 0 : samples, seconds_since(start), {epoch_, current_});
  if (result.error) std::rethrow_exception(result.error);
  core_->deliver(*in_use_);
  return &in_use_->tensors;
}

Epoch::Epoch(std::shared_ptr<LoaderCore> core, std::vector<std::int64_t> order, LoaderPosition start, int workers)
    : state_(std::make_unique<State>(std::move(core), std::move(order), start, workers)) {}
Epoch::~Epoch() = default;
const std::vector<Tensor>* Epoch::next() { return state_->next(); }

int default_workers() { return static_cast<int>(std::clamp(std::thread::hardware_concurrency(), 1U, 2U)); }

}  // namespace minnow::data::detail
