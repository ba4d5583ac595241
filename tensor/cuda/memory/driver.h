#pragma once

#include <cstddef>
#include <minnow/tensor/internal.h>

namespace minnow::cuda {

using StreamHandle = void*;  ///< a cudaStream_t
using EventHandle = void*;   ///< a cudaEvent_t

/// The calls of the CUDA runtime that the memory, the events and the streams of one device need, so that their
/// bookkeeping is tested without a GPU.  Streams and events are pooled and never destroyed.  Thread-safe.  BackendError
/// when the device fails, except where noexcept.
class Driver {
 public:
  virtual ~Driver() = default;

  /// False once the device has failed, and in a process that was forked from one that used it: then nothing that was
  /// allocated is worth giving back.
  virtual bool is_usable() const noexcept = 0;

  /// nullptr when there is no memory.
  virtual void* allocate(std::size_t bytes) noexcept = 0;
  virtual void release(void* block) noexcept = 0;
  /// Page-locked host memory that every device can read and write.  nullptr when there is none.
  virtual void* allocate_pinned(std::size_t bytes) noexcept = 0;
  virtual void release_pinned(void* block) noexcept = 0;
  /// Bytes of the device that nobody has taken, for messages; 0 where nobody knows.
  virtual std::size_t free_bytes() noexcept = 0;

  virtual StreamHandle create_stream() = 0;
  virtual void synchronize_device() = 0;

  /// Only a timed event can tell when it completed; one that only orders work costs less.
  virtual EventHandle create_event(bool timed) = 0;
  virtual void record(EventHandle event, StreamHandle stream) = 0;
  virtual bool is_complete(EventHandle event) = 0;
  virtual void synchronize(EventHandle event) = 0;
  /// Later work of the stream starts after the event.
  virtual void wait(StreamHandle stream, EventHandle event) = 0;

  /// Sets bytes of the device, in the stream's order.
  virtual void fill(void* block, int value, std::size_t bytes, StreamHandle stream) = 0;
  /// Copies bytes of the device to the host, after the stream's work, and waits.
  virtual void read(void* host, const void* block, std::size_t bytes, StreamHandle stream) = 0;
};

}  // namespace minnow::cuda
