#pragma once

#include <minnow/tensor/cuda/memory/driver.h>

namespace minnow::cuda {

/// The CUDA runtime, for one device.
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
  EventHandle create_event(bool timed) override;
  void record(EventHandle event, StreamHandle stream) override;
  bool is_complete(EventHandle event) override;
  void synchronize(EventHandle event) override;
  void wait(StreamHandle stream, EventHandle event) override;
  void fill(void* block, int value, std::size_t bytes, StreamHandle stream) override;
  void read(void* host, const void* block, std::size_t bytes, StreamHandle stream) override;

 private:
  const int device_;
};

}  // namespace minnow::cuda
