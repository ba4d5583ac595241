#include <minnow/tensor/cuda/runtime/runtime_driver.h>

#include <algorithm>
#include <cuda_runtime_api.h>
#include <minnow/tensor/cuda/memory/memory_pool.h>
#include <minnow/tensor/cuda/runtime/capture_exemption.h>
#include <minnow/tensor/cuda/runtime/status.h>

namespace minnow::cuda {
namespace {

cudaStream_t native(StreamHandle stream) { return static_cast<cudaStream_t>(stream); }
cudaEvent_t event_of(EventHandle event) { return static_cast<cudaEvent_t>(event); }

unsigned flags_of(EventUse use) {
  switch (use) {
    case EventUse::ordering: return cudaEventDisableTiming;
    case EventUse::waiting: return cudaEventBlockingSync;
    case EventUse::timing: break;
  }
  return cudaEventDefault;
}

/// Clears the error of a failure that the caller handles, so that the next check of a launch does not report it.
bool succeeded(cudaError_t status) noexcept {
  if (status == cudaSuccess) return true;
  cudaGetLastError();
  return false;
}

bool try_select(int device) noexcept {
  try {
    select(device);
    return true;
  } catch (...) { return false; }
}

}  // namespace

bool RuntimeDriver::is_usable() const noexcept { return cuda::is_usable(device_); }

void* RuntimeDriver::allocate(std::size_t bytes) noexcept {
  if (!try_select(device_)) return nullptr;
  const Uncaptured scope;
  void* block = nullptr;
  return succeeded(cudaMalloc(&block, bytes)) ? block : nullptr;
}

void RuntimeDriver::release(void* block) noexcept {
  if (!is_usable() || !try_select(device_)) return;
  const Uncaptured scope;
  succeeded(cudaFree(block));
}

void* RuntimeDriver::allocate_pinned(std::size_t bytes) noexcept {
  if (!try_select(device_)) return nullptr;
  const Uncaptured scope;
  void* block = nullptr;
  return succeeded(cudaHostAlloc(&block, bytes, cudaHostAllocPortable | cudaHostAllocMapped)) ? block : nullptr;
}

void RuntimeDriver::release_pinned(void* block) noexcept {
  if (!is_usable() || !try_select(device_)) return;
  const Uncaptured scope;
  succeeded(cudaFreeHost(block));
}

std::size_t RuntimeDriver::free_bytes() noexcept {
  std::size_t free = 0, total = 0;
  return try_select(device_) && succeeded(cudaMemGetInfo(&free, &total)) ? free : 0;
}

StreamHandle RuntimeDriver::create_stream() {
  select(device_);
  const Uncaptured scope;
  cudaStream_t stream = nullptr;
  check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "cudaStreamCreateWithFlags");
  const std::lock_guard lock(mutex_);
  streams_.push_back({stream, nullptr});
  return stream;
}

void RuntimeDriver::mark(OwnedStream& owned) {
  if (!owned.before_capture) owned.before_capture = create_event(EventUse::ordering);
  record(owned.before_capture, owned.stream);
}

RuntimeDriver::OwnedStream* RuntimeDriver::find(StreamHandle stream) {
  const auto found =
      std::find_if(streams_.begin(), streams_.end(), [&](const OwnedStream& m) { return m.stream == stream; });
  return found == streams_.end() ? nullptr : &*found;
}

void RuntimeDriver::begin_capture(StreamHandle stream) {
  select(device_);
  const std::lock_guard lock(mutex_);
  if (OwnedStream* owned = find(stream)) mark(*owned);
  // Thread-local, so that other threads can allocate, copy and wait for events.
  check(cudaStreamBeginCapture(native(stream), cudaStreamCaptureModeThreadLocal), "cudaStreamBeginCapture");
  ++captures_;
}

void RuntimeDriver::end_capture() noexcept {
  const std::lock_guard lock(mutex_);
  --captures_;
}

bool RuntimeDriver::is_captured(StreamHandle stream) {
  cudaStreamCaptureStatus now = cudaStreamCaptureStatusNone;
  check(cudaStreamIsCapturing(native(stream), &now), "cudaStreamIsCapturing");
  return now != cudaStreamCaptureStatusNone;
}

void RuntimeDriver::synchronize_device() {
  select(device_);
  const Uncaptured scope;
  std::vector<EventHandle> events;
  {
    // The lock keeps captures from beginning during this wait.
    const std::lock_guard lock(mutex_);
    if (captures_ == 0) {
      check(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
      return;
    }
    for (OwnedStream& owned : streams_) {
      if (!is_captured(owned.stream)) mark(owned);
      if (owned.before_capture) events.push_back(owned.before_capture);
    }
  }
  for (const EventHandle event : events) synchronize(event);
}

EventHandle RuntimeDriver::create_event(EventUse use) {
  select(device_);
  const Uncaptured scope;
  cudaEvent_t event = nullptr;
  check(cudaEventCreateWithFlags(&event, flags_of(use)), "cudaEventCreateWithFlags");
  return event;
}

void RuntimeDriver::record(EventHandle event, StreamHandle stream) {
  select(device_);
  check(cudaEventRecord(event_of(event), native(stream)), "cudaEventRecord");
}

bool RuntimeDriver::is_complete(EventHandle event) {
  select(device_);
  const Uncaptured scope;
  const cudaError_t status = cudaEventQuery(event_of(event));
  if (status == cudaErrorNotReady) return succeeded(status);
  check(status, "cudaEventQuery");
  return true;
}

void RuntimeDriver::synchronize(EventHandle event) {
  select(device_);
  const Uncaptured scope;
  check(cudaEventSynchronize(event_of(event)), "cudaEventSynchronize");
}

void RuntimeDriver::wait(StreamHandle stream, EventHandle event) {
  select(device_);
  std::unique_lock lock(mutex_, std::defer_lock);
  if (capturing()) {
    lock.lock();
    OwnedStream* owned = find(stream);
    if (owned && !is_captured(stream)) mark(*owned);
  }
  check(cudaStreamWaitEvent(native(stream), event_of(event), 0), "cudaStreamWaitEvent");
}

void RuntimeDriver::fill(void* block, int value, std::size_t bytes, StreamHandle stream) {
  if (bytes == 0) return;
  select(device_);
  check(cudaMemsetAsync(block, value, bytes, native(stream)), "cudaMemsetAsync");
}

void RuntimeDriver::read(void* host, const void* block, std::size_t bytes, StreamHandle stream) {
  select(device_);
  check(cudaMemcpyAsync(host, block, bytes, cudaMemcpyDeviceToHost, native(stream)), "cudaMemcpyAsync");
  check(cudaStreamSynchronize(native(stream)), "cudaStreamSynchronize");
}

}  // namespace minnow::cuda
