#pragma once

#include <cstdint>
#include <cuda_runtime_api.h>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

/// The state of the emulated runtime, used under one lock, which `api` holds.
namespace emulator {

/// Returns an error text, or an empty one.
using Work = std::function<std::string()>;

struct Stream;
using StreamPtr = std::shared_ptr<Stream>;

/// Complete when the stream has done `count` pieces of its work.
struct Point {
  StreamPtr stream;
  std::uint64_t count = 0;
};

/// A pending piece of work, and the work of other streams that must be done before.
struct Piece {
  Work work;
  std::vector<Point> after;
};

/// Captured work.
struct Capture {
  struct Node {
    Work work;
    std::vector<std::size_t> after;
  };
  std::vector<Node> nodes;
  std::vector<StreamPtr> streams;  // the first one is where the capture began
  cudaStreamCaptureMode mode = cudaStreamCaptureModeGlobal;
  std::thread::id thread;
  unsigned long long id = 0;
  bool invalid = false;
};
using CapturePtr = std::shared_ptr<Capture>;

/// Its work is done only when something waits for it, so that a missing synchronization always shows.
struct Stream {
  int device = 0;
  bool blocking = true;  // synchronizes with the legacy stream
  int priority = 0;
  std::deque<Piece> waiting;
  std::uint64_t given = 0, done = 0;
  CapturePtr capture;
  std::vector<std::size_t> leaves;  // of the capture: what must be done before this stream's next work
};

struct Event {
  int device = 0;
  bool timed = true;
  bool recorded = false;
  Point point;
  std::shared_ptr<double> time;
  CapturePtr capture;
  std::vector<std::size_t> leaves;
};

struct Device {
  StreamPtr legacy;
  std::vector<StreamPtr> streams;  // all with work, and those that have a handle
  char* arena = nullptr;
  std::map<std::size_t, std::size_t> blocks;  // offset -> bytes
  std::size_t used = 0;
  bool open = true;  // host code can access the memory now
};

struct Graph {
  std::vector<Work> work;
};

struct Runtime {
  std::mutex lock;
  std::vector<Device> devices;
  std::map<const void*, StreamPtr> streams;
  std::map<const void*, std::shared_ptr<Event>> events;
  std::map<const void*, std::shared_ptr<Graph>> graphs;  // including executable ones
  std::map<const char*, std::size_t> pinned;             // first byte -> bytes
  std::vector<CapturePtr> captures;
  std::size_t device_bytes = 0;
  cudaError_t sticky = cudaSuccess;
  std::string fault;
  struct Refusal {
    cudaError_t status;
    int count;
  };
  std::map<std::string, Refusal> refusals;
  struct LibraryRefusal {
    int status, count;
  };
  std::map<std::pair<std::string, int>, LibraryRefusal> refused_algorithms;  // by function and algorithm
  std::map<std::string, std::size_t> calls;
  std::set<std::pair<std::string, std::uint64_t>> used_kernels;  // of libraries
};
Runtime& runtime();

/// Thrown to end a call of the API with a status.
struct Status {
  cudaError_t code;
};
inline void require(bool condition, cudaError_t otherwise = cudaErrorInvalidValue) {
  if (!condition) throw Status{otherwise};
}

/// The status of this thread's last failed call, for cudaGetLastError, and its current device.
extern thread_local cudaError_t last_error;
extern thread_local int current_device;

/// Begins a call: counts it, and throws the status with which it must fail, or the error that made the device unusable.
void enter(const char* function);

/// Protects the memory of the devices from host code.
void close_memory();

/// The body of a function of the API.
template <class F> cudaError_t api(const char* function, F body) noexcept {
  const std::lock_guard guard(runtime().lock);
  cudaError_t result = cudaSuccess;
  try {
    enter(function);
    body();
    result = runtime().sticky;
  } catch (const Status& status) { result = status.code; } catch (const std::exception&) {
    result = cudaErrorUnknown;
  }
  close_memory();
  if (result != cudaSuccess) last_error = result;
  return result;
}

// Streams.  A handle of 0 (or cudaStreamLegacy) is the current device's legacy stream.
StreamPtr stream_of(cudaStream_t handle);
Device& device_of(const Stream& stream);
/// Submits work to a stream, or to its capture.
void push(const StreamPtr& stream, Work work, std::vector<Point> after = {});
void run_until(const Point& point);
void run_all(int device);
/// Gives work of `device` access to its memory until the end of the running work.
void open_memory(int device);

// Captures.
/// Throws if the calling thread must not do this during a capture.
void refuse_in_capture();
void refuse_in_capture(const StreamPtr& stream);
/// The same for functions that wait for all streams of a device, in any capture mode of the thread.
void refuse_in_capture(int device);
void invalidate(const CapturePtr& capture);
/// The stream waits for an event of a capture, and so joins it.
void follow(const StreamPtr& stream, const Event& event);

// Memory.
/// The device that has all of the bytes in one block of its memory; -1 if there is none.
int device_holding(const void* data, std::size_t bytes);
bool is_pinned(const void* data, std::size_t bytes);

}  // namespace emulator
