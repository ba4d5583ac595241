#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>
#include <minnow/tensor/runtime/stream.h>
#include <minnow/tensor/storage.h>

namespace minnow::sim {

/// A copy for a copy engine, and its outcome.
struct Copy {
  const void* from = nullptr;
  void* to = nullptr;
  std::size_t bytes = 0;
  std::shared_ptr<Storage> keep_from, keep_to;  ///< kept until the copy is done
  std::vector<Event> after;                     ///< the copy starts when these are complete, and fails if one failed

  // Set by the engine; read them after done.
  std::atomic<bool> done = false;
  std::exception_ptr error;
  double end = 0;  ///< seconds on the clock of now()
  std::thread::id runner;
};

/// Seconds since the first call: the clock of all simulated devices.
double now();

/// Runs copies one after the other, in the order of submission, on its own thread, which the first copy starts.  If no
/// thread can be started, the caller runs them.  A copy that fails keeps its error.  The destructor waits for pending
/// copies; the engines of devices are never destroyed.  Thread-safe.
class Engine {
 public:
  using ThreadStart = std::thread (*)(std::function<void()>);
  static std::thread start_thread(std::function<void()> body) { return std::thread(std::move(body)); }

  explicit Engine(ThreadStart start = start_thread) : start_(start) {}
  ~Engine();
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  void submit(std::shared_ptr<Copy> copy);
  /// Runs the copy on the calling thread, for copies that need not be queued (see is_instant).
  void execute(Copy& copy) noexcept;
  /// Blocks until the copy is done; rethrows its error.  Returns at once on the thread that is running this copy:
  /// it frees storages, which may wait for the copy.
  void wait(const Copy& copy);
  /// Blocks until all copies submitted so far are done; rethrows an error that was not reported yet.
  void synchronize();

  /// Blocks until all copies submitted so far are done or have failed.
  void drain() noexcept;

  /// In bytes per second; 0 for no limit.
  void set_bandwidth(double bandwidth) { bandwidth_.store(bandwidth, std::memory_order_relaxed); }
  bool is_instant() const { return bandwidth_.load(std::memory_order_relaxed) == 0; }
  /// Makes the next copy fail, for tests.
  void fail_next() { fail_next_.store(true, std::memory_order_relaxed); }

 private:
  void run();
  void copy_bytes(const Copy& copy);

  const ThreadStart start_;
  std::atomic<double> bandwidth_ = 0;
  std::atomic<bool> fail_next_ = false;
  std::mutex mutex_;
  std::condition_variable work_, finished_;
  std::deque<std::shared_ptr<Copy>> queue_;
  std::shared_ptr<Copy> last_;
  std::exception_ptr unreported_error_;
  std::thread thread_;
  bool inline_ = false;  // no thread could be started
  bool stop_ = false;
};

}  // namespace minnow::sim
