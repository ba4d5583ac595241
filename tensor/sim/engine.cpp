#include <minnow/tensor/sim/engine.h>

#include <chrono>
#include <cstring>
#include <system_error>
#include <utility>
#include <minnow/tensor/error.h>
#include <minnow/tensor/internal.h>

namespace minnow::sim {

double now() {
  using Clock = std::chrono::steady_clock;
  static const Clock::time_point start = Clock::now();
  return std::chrono::duration<double>(Clock::now() - start).count();
}

Engine::~Engine() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  work_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void Engine::submit(std::shared_ptr<Copy> copy) {
  {
    const std::lock_guard lock(mutex_);
    if (!inline_ && !thread_.joinable()) {
      try {
        thread_ = start_([this] { run(); });
      } catch (const std::system_error&) {  // without a thread, copies run on the caller
        inline_ = true;
      }
    }
    if (!inline_) queue_.push_back(copy);
    last_ = copy;
    if (!inline_) {
      work_.notify_one();
      return;
    }
  }
  execute(*copy);
}

void Engine::run() {
  std::unique_lock lock(mutex_);
  for (;;) {
    work_.wait(lock, [this] { return stop_ || !queue_.empty(); });
    if (queue_.empty()) return;
    {
      const std::shared_ptr<Copy> copy = std::move(queue_.front());
      queue_.pop_front();
      lock.unlock();
      execute(*copy);
    }
    lock.lock();
  }
}

void Engine::execute(Copy& copy) noexcept {
  std::exception_ptr error;
  try {
    for (const Event& event : copy.after) event.synchronize();
    copy_bytes(copy);
  } catch (...) { error = std::current_exception(); }
  copy.after.clear();
  {
    const std::lock_guard lock(mutex_);
    copy.runner = std::this_thread::get_id();
    copy.error = error;
    copy.end = now();
    if (error) unreported_error_ = error;
  }
  // Before the copy counts as done, so that its memory is free for those who waited for it.
  copy.keep_from.reset();
  copy.keep_to.reset();
  {
    const std::lock_guard lock(mutex_);
    copy.runner = {};
    copy.done.store(true, std::memory_order_release);
    if (last_.get() == &copy) last_.reset();
  }
  finished_.notify_all();
}

void Engine::copy_bytes(const Copy& copy) {
  if (copy.bytes == 0) return;
  if (fail_next_.exchange(false, std::memory_order_relaxed))
    throw BackendError("sim: a copy of " + std::to_string(copy.bytes) + " bytes failed");
  const double bandwidth = bandwidth_.load(std::memory_order_relaxed);
  const auto start = std::chrono::steady_clock::now();
  if (bandwidth > 0)  // the bytes arrive at the end: who does not wait finds the old ones
    std::this_thread::sleep_until(start + std::chrono::duration_cast<std::chrono::steady_clock::duration>(
                                              std::chrono::duration<double>(double(copy.bytes) / bandwidth)));
  std::memcpy(copy.to, copy.from, copy.bytes);
}

void Engine::wait(const Copy& copy) {
  if (!copy.done.load(std::memory_order_acquire)) {
    std::unique_lock lock(mutex_);
    finished_.wait(lock, [&copy] {
      return copy.done.load(std::memory_order_acquire) || copy.runner == std::this_thread::get_id();
    });
  }
  if (!copy.error) return;
  {
    const std::lock_guard lock(mutex_);
    if (unreported_error_ == copy.error) unreported_error_ = nullptr;
  }
  std::rethrow_exception(copy.error);
}

void Engine::drain() noexcept {
  std::unique_lock lock(mutex_);
  const std::shared_ptr<Copy> last = last_;
  finished_.wait(lock, [&last] {
    return !last || last->done.load(std::memory_order_acquire) || last->runner == std::this_thread::get_id();
  });
}

void Engine::synchronize() {
  std::shared_ptr<Copy> last;
  {
    const std::lock_guard lock(mutex_);
    last = last_;
  }
  if (last) wait(*last);
  std::exception_ptr error;
  {
    const std::lock_guard lock(mutex_);
    error = std::exchange(unreported_error_, nullptr);
  }
  if (error) std::rethrow_exception(error);
}

}  // namespace minnow::sim
