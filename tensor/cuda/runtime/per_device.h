#pragma once

#include <cstddef>
#include <memory>
#include <mutex>
#include <vector>
#include <minnow/tensor/cuda/runtime/call.h>
#include <minnow/tensor/cuda/runtime/capture_exemption.h>

namespace minnow::cuda {

/// The state of a library for each device, made at the first call on the device and never destroyed.  Thread-safe.
template <class State> class PerDevice {
 public:
  /// Calls `open(state)` once for each device, which the call has selected.  It may allocate during a capture.
  template <class Open> State& of(const Call& call, Open&& open) {
    const std::lock_guard lock(mutex_);
    const auto index = static_cast<std::size_t>(call.device());
    if (states_.size() <= index) states_.resize(index + 1);
    if (!states_[index]) {
      auto state = std::make_unique<State>();
      const Uncaptured scope;
      open(*state);
      states_[index] = std::move(state);
    }
    return *states_[index];
  }

 private:
  std::mutex mutex_;
  std::vector<std::unique_ptr<State>> states_;
};

}  // namespace minnow::cuda
