#pragma once

#include <mutex>
#include <vector>
#include <minnow/tensor/cuda/memory/driver.h>

namespace minnow::cuda {

/// The CUDA runtime, for one device.
///
/// While a stream is captured, waiting for the whole device, on any thread, is an error and invalidates the capture.
/// So captures begin here and streams join them here, and synchronize_device() then waits for each stream that was made
/// here; for a captured stream, only for the work before the capture.
class RuntimeDriver final : public Driver {
 public:
  explicit RuntimeDriver(int device) : device_(device) {}

  bool is_usable() const noexcept override;
  void* allocate(std::size_t bytes) noexcept override;
  void release(void* block) noexcept override;
  void* allocate_pinned(std::size_t bytes) noexcept override;
  void release_pinned(void* block) noexcept override;
  std::size_t free_bytes() noexcept override;
  StreamHandle create_stream() override;
  void synchronize_device() override;
  /// Captures what this thread submits to the stream.  The thread must have a PoolGuard.
  void begin_capture(StreamHandle stream);
  /// Call it after the end of the capture.
  void end_capture() noexcept;
  /// Whether the stream is being captured, by any thread, also if that capture has failed.
  bool is_captured(StreamHandle stream);
  EventHandle create_event(EventUse use) override;
  void record(EventHandle event, StreamHandle stream) override;
  bool is_complete(EventHandle event) override;
  void synchronize(EventHandle event) override;
  /// A stream that waits for an event of this thread's capture joins the capture.
  void wait(StreamHandle stream, EventHandle event) override;
  void fill(void* block, int value, std::size_t bytes, StreamHandle stream) override;
  void read(void* host, const void* block, std::size_t bytes, StreamHandle stream) override;

 private:
  struct OwnedStream {
    StreamHandle stream;
    EventHandle before_capture;  ///< an event after the work before the capture, or before a wait
  };

  // The caller holds mutex_.
  void mark(OwnedStream& owned);
  OwnedStream* find(StreamHandle stream);

  const int device_;
  std::mutex mutex_;
  std::vector<OwnedStream> streams_;
  int captures_ = 0;
};

}  // namespace minnow::cuda
