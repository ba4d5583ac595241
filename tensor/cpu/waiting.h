#pragma once

#include <chrono>
#include <thread>

namespace minnow::cpu {

/// How long a thread of a parallel loop waits awake before it sleeps: waking one takes up to 75 us.  The user's
/// GOMP_SPINCOUNT (turns of OpenMP's waiting loop; 0: none) and OMP_WAIT_POLICY (passive: none, active: for ever) win.
std::chrono::nanoseconds time_awake();

/// What those two variables ask for; either may be nullptr.
std::chrono::nanoseconds time_awake(const char* spin_count, const char* wait_policy);

inline void pause_processor() {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

/// One thread's waiting: awake for time_awake(), giving the core to whoever wants it, then asleep.  Where others take
/// the core the machine is busy, and the next waits are short.
class Patience {
 public:
  /// Until ready(); sleep() may return early.
  template <class Ready, class Sleep> void wait(const Ready& ready, const Sleep& sleep) {
    if (limit_ > limit_.zero() && stay_awake(ready)) return;
    while (!ready()) sleep();
  }

 private:
  using Clock = std::chrono::steady_clock;
  static constexpr int kTurns = 100, kShortWaits = 32;
  static constexpr std::chrono::microseconds kTaken{20};

  template <class Ready> static bool turns(const Ready& ready) {
    for (int i = 0; i < kTurns; ++i) {
      if (ready()) return true;
      pause_processor();
    }
    return false;
  }

  template <class Ready> bool stay_awake(const Ready& ready) {
    if (turns(ready)) return true;
    if (short_waits_ > 0) {
      --short_waits_;
      return false;
    }
    const Clock::time_point start = Clock::now();
    for (Clock::time_point now = start; now - start < limit_;) {
      std::this_thread::yield();
      if (ready()) return true;
      const Clock::time_point after = Clock::now();
      if (after - now > kTaken) {
        short_waits_ = kShortWaits;
        return false;
      }
      if (turns(ready)) return true;
      now = after;
    }
    return false;
  }

  const std::chrono::nanoseconds limit_ = time_awake();
  int short_waits_ = 0;
};

}  // namespace minnow::cpu
