#pragma once

#include <memory>
#include <mutex>
#include <vector>
#include <minnow/tensor/cuda/memory/device_memory.h>
#include <minnow/tensor/cuda/memory/faults.h>
#include <minnow/tensor/cuda/memory/pinned_memory.h>
#include <minnow/tensor/cuda/runtime/runtime_driver.h>
#include <minnow/tensor/internal.h>
#include <minnow/tensor/stream.h>

namespace minnow::cuda {

inline constexpr int kMaxDevices = 64;

/// What belongs to one device.  Never destroyed: a global tensor may die last.
class Context {
 public:
  explicit Context(int index);

  /// The calling thread's stream.
  StreamHandle current() const;
  /// A stream that nobody uses.
  StreamHandle take_stream();
  void give_back(StreamHandle stream) noexcept;
  /// After a synchronization: throws what kernels found, and in the debug mode what was written out of bounds.
  void report();

  const int index;
  RuntimeDriver driver;
  EventPool order_events, timed_events;
  DeviceMemory memory;
  Faults faults;
  const StreamHandle default_handle;
  const PooledEvent base;  ///< from which seconds are counted
  const std::shared_ptr<Stream::State> default_stream;

 private:
  std::mutex mutex_;
  std::vector<StreamHandle> idle_;  // in use again later: their order keeps what they still work on safe
};

/// Made when the device is first used.  BackendError when the device cannot be used any more.
Context& context(int index);

PinnedMemory& pinned_memory();

}  // namespace minnow::cuda
