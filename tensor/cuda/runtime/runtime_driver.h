#pragma once

#include <mutex>
#include <vector>
#include <minnow/tensor/cuda/memory/driver.h>

namespace minnow::cuda {

/// The CUDA runtime, for one device.
///
/// A wait for the whole device, by whatever thread, is an error of CUDA's while a stream of it is captured, and spoils
/// the capture.  So captures begin and streams join them here, and a wait for the device under one waits for the work of
/// the streams that were made here, one by one: of a captured stream for what it was given before.
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
  /// Captures what this thread gives to the stream.  The thread has a PoolGuard.
  void begin_capture(StreamHandle stream);
  /// To be called after the end of the capture.
  void end_capture() noexcept;
  /// Whether what the stream is given is captured, by whatever thread; also when that capture has failed.
  bool is_captured(StreamHandle stream);
  EventHandle create_event(bool timed) override;
  void record(EventHandle event, StreamHandle stream) override;
  bool is_complete(EventHandle event) override;
  void synchronize(EventHandle event) override;
  /// A stream that waits for an event of this thread's capture joins it.
  void wait(StreamHandle stream, EventHandle event) override;
  void fill(void* block, int value, std::size_t bytes, StreamHandle stream) override;
  void read(void* host, const void* block, std::size_t bytes, StreamHandle stream) override;

 private:
  struct Made {
    StreamHandle stream;
    EventHandle given;  ///< after the work that the stream was given before it was captured, or before a wait
  };

  // The caller holds mutex_.
  void mark(Made& made);
  Made* find(StreamHandle stream);

  const int device_;
  std::mutex mutex_;
  std::vector<Made> streams_;
  int captures_ = 0;
};

}  // namespace minnow::cuda
