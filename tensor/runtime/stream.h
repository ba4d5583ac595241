#pragma once

#include <cstdint>
#include <memory>
#include <minnow/tensor/device.h>

namespace minnow {

/// What an event is for, besides the order of work.
enum class EventUse : std::uint8_t {
  ordering,  ///< nothing else; costs the device least
  timing,    ///< seconds_since()
  waiting    ///< that too, and threads that wait for it sleep, while they otherwise may spin
};

/// A point in the work of a stream.  A handle; a default-constructed one is complete.  Thread-safe.
class Event {
 public:
  /// What a backend implements.
  struct State {
    virtual ~State() = default;
    virtual bool is_ready() = 0;
    virtual void synchronize() = 0;
    /// Seconds on the device's clock at which the event completed; waits for it.
    virtual double seconds() = 0;
    /// Seconds of device time from another event to this one.
    virtual double seconds_since(State& start) { return seconds() - start.seconds(); }
    /// Waits as synchronize() does, without throwing: for destructors.
    virtual void settle() noexcept;
  };

  Event() = default;
  explicit Event(std::shared_ptr<State> state) : state_(std::move(state)) {}

  bool is_ready() const { return !state_ || state_->is_ready(); }
  /// Blocks the calling thread until the event has completed.
  void synchronize() const {
    if (state_) state_->synchronize();
  }
  /// Seconds of device time from `start` to this event; waits for both.
  double seconds_since(const Event& start) const {
    return state_ && start.state_ ? state_->seconds_since(*start.state_) : 0.0;
  }
  /// Waits as synchronize() does, without throwing: for destructors.  The next synchronization reports what failed.
  void settle() const noexcept {
    if (state_) state_->settle();
  }
  const std::shared_ptr<State>& state() const { return state_; }

 private:
  std::shared_ptr<State> state_;
};

/// An ordered queue of work on one device.  A handle.  On the CPU, work is done when the call returns.
class Stream {
 public:
  /// What a backend implements.
  struct State {
    virtual ~State() = default;
    virtual Event record(EventUse use) = 0;
    virtual void wait(const Event& event) = 0;
    virtual void synchronize() = 0;
  };

  /// A new stream of the device.  DeviceError for a device that does not exist.
  explicit Stream(Device device, SourceLocation where = SourceLocation::current());
  Stream(Device device, std::shared_ptr<State> state) : device_(device), state_(std::move(state)) {}
  // Moving copies, so that a moved-from handle is still valid.
  Stream(const Stream&) = default;
  Stream& operator=(const Stream&) = default;

  Device device() const { return device_; }
  /// An event that completes when all work submitted to this stream so far has.
  Event record(EventUse use = EventUse::timing) const { return state_->record(use); }
  /// Makes later work of this stream wait for the event.
  void wait(const Event& event) const { state_->wait(event); }
  void synchronize() const { state_->synchronize(); }
  const std::shared_ptr<State>& state() const { return state_; }

 private:
  Device device_;
  std::shared_ptr<State> state_;
};

/// The stream of this thread's operations on the device.  DeviceError for a device that does not exist.
Stream current_stream(Device device, SourceLocation where = SourceLocation::current());

/// Makes a stream the current one of its device on this thread, for a scope.
class StreamGuard {
 public:
  [[nodiscard]] explicit StreamGuard(const Stream& stream);
  ~StreamGuard();
  StreamGuard(const StreamGuard&) = delete;
  StreamGuard& operator=(const StreamGuard&) = delete;

 private:
  Stream previous_;
};

/// Blocks until all work on the device is done.  While another thread captures a CapturedStep on the device, it waits
/// only for work that minnow submitted.  DeviceError for a device that does not exist.
void synchronize(Device device, SourceLocation where = SourceLocation::current());

}  // namespace minnow
