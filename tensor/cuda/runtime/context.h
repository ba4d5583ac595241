#pragma once

#include <memory>
#include <mutex>
#include <vector>
#include <minnow/tensor/cuda/memory/device_memory.h>
#include <minnow/tensor/cuda/memory/faults.h>
#include <minnow/tensor/cuda/memory/pinned_memory.h>
#include <minnow/tensor/cuda/runtime/runtime_driver.h>
#include <minnow/tensor/internal.h>
#include <minnow/tensor/runtime/stream.h>

namespace minnow::cuda {

inline constexpr int kMaxDevices = 64;

/// The state of one device.  Never destroyed: global tensors may be destroyed last.
class Context {
 public:
  explicit Context(int index);

  /// The calling thread's stream.
  StreamHandle current() const;
  /// An unused stream.
  StreamHandle take_stream();
  void give_back(StreamHandle stream) noexcept;
  EventPool& events(EventUse use);
  /// After a synchronization: throws the errors that kernels found, and in the debug mode writes out of bounds.
  void report();

  const int index;
  RuntimeDriver driver;
  EventPool order_events, timed_events, waited_events;
  DeviceMemory memory;
  Faults faults;
  const StreamHandle default_handle;
  const PooledEvent base;  ///< the origin of Event::seconds()
  const std::shared_ptr<Stream::State> default_stream;

 private:
  std::mutex mutex_;
  std::vector<StreamHandle> idle_;  // reused later, when their order protects memory that they still work on
};

/// Made when the device is first used.  BackendError if the device has failed.
Context& context(int index);

PinnedMemory& pinned_memory();

}  // namespace minnow::cuda
