#pragma once

#include <chrono>
#include <string>
#include <utility>
#include <vector>
#include <minnow/tensor/profile/observers.h>

namespace minnow::profile {

/// Where the time of a training goes, on this thread, since the object was made:
///
///     const profile::StepTimes times;
///     ...
///     std::cout << times.str();      // waiting 1.2 s, copies 0.1 s, forward 20.4 s, ...
///
/// Costs nothing for an operation, and 0.05 us for each call of a module: it may be on in every training.  The time is
/// the host's: on a GPU, that of the launches, and of waiting where a value is read.  Each is for the thread that made
/// it, and must end there.
class StepTimes final : minnow::detail::ScopeObserver {
 public:
  /// In seconds.  Together they are all of the time.
  struct Seconds {
    double waiting = 0;   ///< for a loader's batch, or making it without workers
    double copies = 0;    ///< to a device, by this thread
    double forward = 0;   ///< modules, but for those under a NoGradGuard; an evaluation without one counts too
    double backward = 0;  ///< and grad(); with what a checkpoint computes again
    double step = 0;      ///< of an optimizer; that of LBFGS has its losses too
    double other = 0;     ///< losses, evaluation, reports; replays of a CapturedStep (on a GPU)

    double total() const { return waiting + copies + forward + backward + step + other; }
  };

  [[nodiscard]] StepTimes() = default;

  Seconds seconds() const;
  /// The same by name, in this order.
  std::vector<std::pair<std::string, double>> parts() const;
  std::string str() const;
  /// Starts anew from 0.
  void reset();

 private:
  using Clock = std::chrono::steady_clock;
  struct Open {
    const void* key;
    double Seconds::*part;
  };

  void enter(const minnow::detail::Scope& scope) noexcept override;
  void leave(const void* key) noexcept override;
  /// Gives the time since the last change to what is open.
  void charge(Seconds& seconds, Clock::time_point now) const;

  Seconds seconds_;
  Clock::time_point changed_ = Clock::now();
  std::vector<Open> open_;
};

}  // namespace minnow::profile
