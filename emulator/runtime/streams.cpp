#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <emulator/launch.h>
#include <emulator/processes.h>

#include "runtime.h"

namespace emulator {
namespace {

/// When a queue is longer than this, its work begins: launches on a GPU block too, then.
constexpr std::size_t kMostWaiting = 1024;

double seconds() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

void run_one(Stream& stream) {
  const Piece piece = std::move(stream.waiting.front());
  stream.waiting.pop_front();
  for (const Point& point : piece.after) run_until(point);
  if (piece.work && runtime().sticky == cudaSuccess) {
    open_memory(stream.device);
    std::string fault = piece.work();
    if (!fault.empty()) {
      std::fprintf(stderr, "emulated GPU: %s\n", fault.c_str());
      runtime().fault = std::move(fault);
      runtime().sticky = cudaErrorLaunchFailure;
    }
  }
  ++stream.done;
}

/// The work that must be done before work of this stream, by the rules of the legacy stream.
void take_turns(const StreamPtr& stream, std::vector<Point>& after) {
  Device& device = device_of(*stream);
  if (stream == device.legacy) {
    for (const StreamPtr& other : device.streams)
      if (other->blocking && other != stream && !other->waiting.empty()) after.push_back({other, other->given});
  } else if (stream->blocking && !device.legacy->waiting.empty()) {
    after.push_back({device.legacy, device.legacy->given});
  }
}

void forget_empty(Device& device) {
  std::erase_if(device.streams, [&](const StreamPtr& stream) {
    return stream != device.legacy && stream->waiting.empty() && !runtime().streams.contains(stream.get());
  });
}

}  // namespace

Device& device_of(const Stream& stream) { return runtime().devices[static_cast<std::size_t>(stream.device)]; }

StreamPtr stream_of(cudaStream_t handle) {
  require(!runtime().devices.empty(), cudaErrorNoDevice);
  if (handle == nullptr || handle == cudaStreamLegacy)
    return runtime().devices[static_cast<std::size_t>(current_device)].legacy;
  const auto found = runtime().streams.find(handle);
  require(found != runtime().streams.end(), cudaErrorInvalidResourceHandle);
  return found->second;
}

void push(const StreamPtr& stream, Work work, std::vector<Point> after) {
  if (stream->capture) {
    Capture& capture = *stream->capture;
    require(!capture.invalid, cudaErrorStreamCaptureInvalidated);
    capture.nodes.push_back({std::move(work), stream->leaves});
    stream->leaves = {capture.nodes.size() - 1};
    return;
  }
  Device& device = device_of(*stream);
  if (stream == device.legacy)
    for (const CapturePtr& capture : std::vector(runtime().captures))
      for (const StreamPtr& other : capture->streams)
        if (other->device == stream->device && other->blocking) {
          invalidate(capture);
          throw Status{cudaErrorStreamCaptureImplicit};
        }
  take_turns(stream, after);
  stream->waiting.push_back({std::move(work), std::move(after)});
  ++stream->given;
  static const bool eager = std::getenv("MINNOW_EMULATOR_EAGER") != nullptr;
  if (eager) run_until({stream, stream->given});
  else if (stream->waiting.size() > kMostWaiting) run_until({stream, stream->done + 1});
}

void run_until(const Point& point) {
  while (point.stream->done < point.count) run_one(*point.stream);
}

void run_all(int index) {
  Device& device = runtime().devices[static_cast<std::size_t>(index)];
  for (const StreamPtr& stream : std::vector(device.streams)) run_until({stream, stream->given});
  forget_empty(device);
}

cudaError_t submit(cudaStream_t stream, std::function<std::string()> work) {
  return api("submit", [&] { push(stream_of(stream), std::move(work)); });
}

void advance() {
  constexpr int kPieces = 16;
  api("advance", [&] {
    for (Device& device : runtime().devices)
      for (const StreamPtr& stream : std::vector(device.streams))
        for (int i = 0; i < kPieces && !stream->waiting.empty(); ++i) run_one(*stream);
  });
}

bool leaves_capture(cudaStream_t handle) {
  bool leaves = false;
  api("leaves_capture", [&] {
    const StreamPtr stream = stream_of(handle);
    for (const CapturePtr& capture : runtime().captures)
      leaves |= !stream->capture && capture->thread == std::this_thread::get_id();
  });
  return leaves;
}

std::size_t waiting_work() {
  const std::lock_guard guard(runtime().lock);
  std::size_t waiting = 0;
  for (const Device& device : runtime().devices)
    for (const StreamPtr& stream : device.streams) waiting += stream->waiting.size();
  return waiting;
}

}  // namespace emulator

using namespace emulator;

namespace {

std::shared_ptr<Event> event_of(cudaEvent_t handle) {
  const auto found = runtime().events.find(handle);
  require(found != runtime().events.end(), cudaErrorInvalidResourceHandle);
  return found->second;
}

/// Returns "not ready" once more, but does some of the work, so that a program that polls makes progress.
void ask(const Point& point) {
  if (point.stream->done >= point.count) return;
  run_one(*point.stream);
  throw Status{cudaErrorNotReady};
}

}  // namespace

extern "C" {

cudaError_t cudaStreamCreateWithPriority(cudaStream_t* handle, unsigned flags, int priority) {
  return api("cudaStreamCreateWithPriority", [&] {
    require(flags == cudaStreamDefault || flags == cudaStreamNonBlocking);
    require(!runtime().devices.empty(), cudaErrorNoDevice);
    const auto stream = std::make_shared<Stream>();
    stream->device = current_device;
    stream->blocking = flags == cudaStreamDefault;
    stream->priority = std::clamp(priority, -5, 0);
    *handle = reinterpret_cast<cudaStream_t>(stream.get());
    runtime().streams[stream.get()] = stream;
    device_of(*stream).streams.push_back(stream);
  });
}

cudaError_t cudaStreamCreateWithFlags(cudaStream_t* handle, unsigned flags) {
  return cudaStreamCreateWithPriority(handle, flags, 0);
}

cudaError_t cudaStreamCreate(cudaStream_t* handle) {
  return cudaStreamCreateWithPriority(handle, cudaStreamDefault, 0);
}

cudaError_t cudaStreamDestroy(cudaStream_t handle) {
  return api("cudaStreamDestroy", [&] {
    const StreamPtr stream = stream_of(handle);
    require(stream != device_of(*stream).legacy, cudaErrorInvalidResourceHandle);
    if (stream->capture) invalidate(stream->capture);
    runtime().streams.erase(handle);
    forget_empty(device_of(*stream));
  });
}

cudaError_t cudaStreamGetFlags(cudaStream_t handle, unsigned* flags) {
  return api("cudaStreamGetFlags",
             [&] { *flags = stream_of(handle)->blocking ? cudaStreamDefault : cudaStreamNonBlocking; });
}

cudaError_t cudaStreamGetPriority(cudaStream_t handle, int* priority) {
  return api("cudaStreamGetPriority", [&] { *priority = stream_of(handle)->priority; });
}

cudaError_t cudaStreamGetDevice(cudaStream_t handle, int* device) {
  return api("cudaStreamGetDevice", [&] { *device = stream_of(handle)->device; });
}

cudaError_t cudaStreamSynchronize(cudaStream_t handle) {
  return api("cudaStreamSynchronize", [&] {
    const StreamPtr stream = stream_of(handle);
    refuse_in_capture(stream);
    run_until({stream, stream->given});
  });
}

cudaError_t cudaStreamQuery(cudaStream_t handle) {
  return api("cudaStreamQuery", [&] {
    const StreamPtr stream = stream_of(handle);
    refuse_in_capture(stream);
    ask({stream, stream->given});
  });
}

cudaError_t cudaStreamWaitEvent(cudaStream_t handle, cudaEvent_t event_handle, unsigned flags) {
  return api("cudaStreamWaitEvent", [&] {
    require(flags == 0);
    const StreamPtr stream = stream_of(handle);
    const auto event = event_of(event_handle);
    if (stream->capture || event->capture) follow(stream, *event);
    else if (event->recorded) push(stream, {}, {event->point});
  });
}

cudaError_t cudaLaunchHostFunc(cudaStream_t handle, cudaHostFn_t function, void* data) {
  return api("cudaLaunchHostFunc", [&] {
    push(stream_of(handle), [=] {
      function(data);
      return std::string();
    });
  });
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t* handle, unsigned flags) {
  return api("cudaEventCreateWithFlags", [&] {
    require(!runtime().devices.empty(), cudaErrorNoDevice);
    const auto event = std::make_shared<Event>();
    event->device = current_device;
    event->timed = !(flags & cudaEventDisableTiming);
    *handle = reinterpret_cast<cudaEvent_t>(event.get());
    runtime().events[event.get()] = event;
  });
}

cudaError_t cudaEventCreate(cudaEvent_t* handle) { return cudaEventCreateWithFlags(handle, cudaEventDefault); }

cudaError_t cudaEventDestroy(cudaEvent_t handle) {
  return api("cudaEventDestroy", [&] {
    event_of(handle);
    runtime().events.erase(handle);
  });
}

cudaError_t cudaEventRecord(cudaEvent_t handle, cudaStream_t stream_handle) {
  return api("cudaEventRecord", [&] {
    const StreamPtr stream = stream_of(stream_handle);
    const auto event = event_of(handle);
    require(event->device == stream->device, cudaErrorInvalidResourceHandle);
    if (stream->capture) {
      require(!stream->capture->invalid, cudaErrorStreamCaptureInvalidated);
      event->capture = stream->capture;
      event->leaves = stream->leaves;
      return;
    }
    const auto time = std::make_shared<double>(0);
    push(stream, [time] {
      *time = seconds();
      return std::string();
    });
    event->capture = nullptr;
    event->recorded = true;
    event->time = time;
    event->point = {stream, stream->given};
  });
}

cudaError_t cudaEventSynchronize(cudaEvent_t handle) {
  return api("cudaEventSynchronize", [&] {
    const auto event = event_of(handle);
    refuse_in_capture();
    require(!event->capture, cudaErrorCapturedEvent);
    if (event->recorded) run_until(event->point);
  });
}

cudaError_t cudaEventQuery(cudaEvent_t handle) {
  return api("cudaEventQuery", [&] {
    const auto event = event_of(handle);
    refuse_in_capture();
    require(!event->capture, cudaErrorCapturedEvent);
    if (event->recorded) ask(event->point);
  });
}

cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t first, cudaEvent_t last) {
  return api("cudaEventElapsedTime", [&] {
    const auto begin = event_of(first), end = event_of(last);
    require(begin->timed && end->timed && begin->recorded && end->recorded, cudaErrorInvalidResourceHandle);
    for (const auto& event : {begin, end}) require(event->point.stream->done >= event->point.count, cudaErrorNotReady);
    *milliseconds = static_cast<float>((*end->time - *begin->time) * 1e3);
  });
}

}  // extern "C"
