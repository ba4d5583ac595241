#pragma once

#include <cstddef>
#include <minnow/tensor/internal.h>
#include <minnow/tensor/runtime/stream.h>

namespace minnow::cuda {

using StreamHandle = void*;  ///< a cudaStream_t
using EventHandle = void*;   ///< a cudaEvent_t

/// The calls of the CUDA runtime for memory, events and streams of one device: an interface, so that their management
/// can be tested without a GPU.  Streams and events are pooled and never destroyed.  Functions that are not noexcept
/// throw BackendError if the device fails.  Thread-safe.
class Driver {
 public:
  virtual ~Driver() = default;

  /// False if the device has failed, and in a process that was forked from one that used it.  Memory need not be
  /// released then.
  virtual bool is_usable() const noexcept = 0;

  /// nullptr if there is no memory.
  virtual void* allocate(std::size_t bytes) noexcept = 0;
  virtual void release(void* block) noexcept = 0;
  /// Page-locked host memory that all devices can access; nullptr if there is none.
  virtual void* allocate_pinned(std::size_t bytes) noexcept = 0;
  virtual void release_pinned(void* block) noexcept = 0;
  /// Free bytes of the device, for messages; 0 if it is not known.
  virtual std::size_t free_bytes() noexcept = 0;

  virtual StreamHandle create_stream() = 0;
  virtual void synchronize_device() = 0;

  virtual EventHandle create_event(EventUse use) = 0;
  virtual void record(EventHandle event, StreamHandle stream) = 0;
  virtual bool is_complete(EventHandle event) = 0;
  virtual void synchronize(EventHandle event) = 0;
  /// Makes later work of the stream wait for the event.
  virtual void wait(StreamHandle stream, EventHandle event) = 0;

  /// Sets bytes in device memory, in the stream's order.
  virtual void fill(void* block, int value, std::size_t bytes, StreamHandle stream) = 0;
  /// Copies bytes to the host, after the work of the stream, and waits.
  virtual void read(void* host, const void* block, std::size_t bytes, StreamHandle stream) = 0;
};

}  // namespace minnow::cuda
