#include <cstdlib>
#include <emulator/block.h>
#include <emulator/launch.h>

#include "runtime.h"

namespace emulator {

void launch(cudaStream_t stream, dim3 blocks, dim3 threads, std::function<void()> thread, bool bounded, Shared shared) {
  api("cudaLaunchKernel", [&] {
    const std::uint64_t size = std::uint64_t{threads.x} * threads.y * threads.z;
    require(size > 0 && size <= 1024 && threads.z <= 64, cudaErrorInvalidConfiguration);
    require(blocks.x > 0 && blocks.y > 0 && blocks.z > 0, cudaErrorInvalidConfiguration);
    require(blocks.x <= 0x7fffffffu && blocks.y <= 65535 && blocks.z <= 65535, cudaErrorInvalidConfiguration);
    require(size <= 256 || bounded, cudaErrorLaunchOutOfResources);
    const StreamPtr there = stream_of(stream);
    require(there->device == current_device, cudaErrorInvalidResourceHandle);
    push(there, [=, thread = std::move(thread)] { return run_grid(blocks, threads, thread, shared); });
  });
}

std::string last_fault() {
  const std::lock_guard guard(runtime().lock);
  return runtime().fault;
}

void recover() {
  const std::lock_guard guard(runtime().lock);
  runtime().sticky = last_error = cudaSuccess;
  runtime().fault.clear();
  runtime().refusals.clear();
  runtime().refused_algorithms.clear();
  for (const CapturePtr& capture : runtime().captures)
    for (const StreamPtr& stream : capture->streams) stream->capture = nullptr;
  runtime().captures.clear();
}

void fail_next(const std::string& function, cudaError_t status, int count) {
  const std::lock_guard guard(runtime().lock);
  runtime().refusals[function] = {status, count};
}

void fail_next_algorithm(const std::string& function, int algorithm, int status, int count) {
  const std::lock_guard guard(runtime().lock);
  runtime().refused_algorithms[{function, algorithm}] = {status, count};
}

int library_status(const std::string& function, int algorithm) {
  const std::lock_guard guard(runtime().lock);
  ++runtime().calls[function];
  const auto found = runtime().refused_algorithms.find({function, algorithm});
  return found != runtime().refused_algorithms.end() && found->second.count-- > 0 ? found->second.status : 0;
}

cudaError_t first_use(const std::string& function, std::uint64_t kernel) {
  return api("first_use", [&] {
    if (!runtime().used_kernels.insert({function, kernel}).second) return;
    try {
      refuse_in_capture();
    } catch (const Status&) {
      runtime().used_kernels.erase({function, kernel});
      throw;
    }
  });
}

std::uint64_t choices_seed() {
  static const char* text = std::getenv("MINNOW_EMULATOR_CHOICES");
  static const std::uint64_t seed = text ? std::strtoull(text, nullptr, 10) : 0;
  return seed;
}

bool sums_backwards() {
  static const bool backwards = std::getenv("MINNOW_EMULATOR_BACKWARDS") != nullptr;
  return backwards;
}

std::int64_t narrow_limit() {
  static const char* text = std::getenv("MINNOW_EMULATOR_NARROW");
  static const std::int64_t limit = text ? std::strtoll(text, nullptr, 10) : std::int64_t{1} << 31;
  return limit;
}

std::size_t calls_of(const std::string& function) {
  const std::lock_guard guard(runtime().lock);
  const auto found = runtime().calls.find(function);
  return found == runtime().calls.end() ? 0 : found->second;
}

}  // namespace emulator

using namespace emulator;

extern "C" {

cudaError_t cudaFuncGetAttributes(cudaFuncAttributes* attributes, const void*) {
  return api("cudaFuncGetAttributes", [&] {
    *attributes = {};
    attributes->maxThreadsPerBlock = 1024;
    attributes->numRegs = 32;
    attributes->binaryVersion = attributes->ptxVersion = 90;
  });
}

cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, const void*, int threads, size_t) {
  return api("cudaOccupancyMaxActiveBlocksPerMultiprocessor", [&] {
    require(threads > 0 && threads <= 1024);
    *blocks = 2048 / threads;
  });
}

}  // extern "C"
