#pragma once

#include <chrono>
#include <thread>

namespace minnow::cpu {

/// How long a waiting thread spins before it sleeps; waking it takes up to 75 us.  The environment variables
/// GOMP_SPINCOUNT (turns of OpenMP's waiting loop; 0: none) and OMP_WAIT_POLICY (passive: none, active: forever) take
/// precedence.
std::chrono::nanoseconds spin_time();

/// The same for given values of the two variables, which may be nullptr.
std::chrono::nanoseconds spin_time(const char* spin_count, const char* wait_policy);

inline void pause_processor() {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

/// Waits on behalf of one thread: spins for spin_time(), yielding the core to other threads, then sleeps.  If another
/// thread takes the core, the machine is busy, and the next waits do not spin.
class SpinWait {
 public:
  /// Waits until ready(); sleep() may return early.
  template <class Ready, class Sleep> void wait(const Ready& ready, const Sleep& sleep) {
    if (limit_ > limit_.zero() && spin_until(ready)) return;
    while (!ready()) sleep();
  }

 private:
  using Clock = std::chrono::steady_clock;
  static constexpr int kSpins = 100, kWaitsWithoutSpinning = 32;
  static constexpr std::chrono::microseconds kCoreTaken{20};

  template <class Ready> static bool spin(const Ready& ready) {
    for (int i = 0; i < kSpins; ++i) {
      if (ready()) return true;
      pause_processor();
    }
    return false;
  }

  template <class Ready> bool spin_until(const Ready& ready) {
    if (spin(ready)) return true;
    if (waits_without_spinning_ > 0) {
      --waits_without_spinning_;
      return false;
    }
    const Clock::time_point start = Clock::now();
    for (Clock::time_point now = start; now - start < limit_;) {
      std::this_thread::yield();
      if (ready()) return true;
      const Clock::time_point after = Clock::now();
      if (after - now > kCoreTaken) {
        waits_without_spinning_ = kWaitsWithoutSpinning;
        return false;
      }
      if (spin(ready)) return true;
      now = after;
    }
    return false;
  }

  const std::chrono::nanoseconds limit_ = spin_time();
  int waits_without_spinning_ = 0;
};

}  // namespace minnow::cpu
