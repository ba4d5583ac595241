#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <pthread.h>
#include <unistd.h>

#include "runtime.h"

namespace emulator {

thread_local cudaError_t last_error = cudaSuccess;
thread_local int current_device = 0;

namespace {

std::size_t number(const char* variable, std::size_t otherwise) {
  const char* text = std::getenv(variable);
  return text ? std::strtoull(text, nullptr, 10) : otherwise;
}

Runtime* make_runtime() {
  auto* made = new Runtime();  // never destroyed
  made->devices.resize(number("MINNOW_EMULATOR_DEVICES", 1));
  made->device_bytes = number("MINNOW_EMULATOR_MEMORY", std::size_t{4} << 30);
  for (std::size_t i = 0; i < made->devices.size(); ++i) {
    made->devices[i].legacy = std::make_shared<Stream>();
    made->devices[i].legacy->device = static_cast<int>(i);
    made->devices[i].streams.push_back(made->devices[i].legacy);
  }
  pthread_atfork(nullptr, nullptr, [] { runtime().sticky = cudaErrorInitializationError; });
  return made;
}

/// From a list such as "9.0,7.5", whose last entry is also for further devices; "9.0" by default.
int capability(int device, int part) {
  const char* text = std::getenv("MINNOW_EMULATOR_CAPABILITY");
  if (!text) return part == 0 ? 9 : 0;
  for (; device > 0 && std::strchr(text, ','); --device) text = std::strchr(text, ',') + 1;
  const int tenfold = static_cast<int>(10 * std::atof(text) + 0.5);
  return part == 0 ? tenfold / 10 : tenfold % 10;
}

}  // namespace

Runtime& runtime() {
  static Runtime* made = make_runtime();
  return *made;
}

void enter(const char* function) {
  ++runtime().calls[function];
  const auto told = runtime().refusals.find(function);
  if (told != runtime().refusals.end() && told->second.count-- > 0) throw Status{told->second.status};
  if (runtime().sticky != cudaSuccess) throw Status{runtime().sticky};
}

}  // namespace emulator

using namespace emulator;

namespace {

int count_devices() { return static_cast<int>(runtime().devices.size()); }

void require_device(int device) {
  require(count_devices() > 0, cudaErrorNoDevice);
  require(device >= 0 && device < count_devices(), cudaErrorInvalidDevice);
}

}  // namespace

extern "C" {

cudaError_t cudaGetDeviceCount(int* count) {
  return api("cudaGetDeviceCount", [&] {
    *count = 0;
    // Any driver with the runtime's major version is new enough; the version without a driver is 0.
    if (number("MINNOW_EMULATOR_DRIVER", CUDART_VERSION) < CUDART_VERSION / 1000 * 1000)
      throw Status{cudaErrorInsufficientDriver};
    if (std::getenv("MINNOW_EMULATOR_BROKEN")) throw Status{cudaErrorInitializationError};
    require(count_devices() > 0, cudaErrorNoDevice);
    *count = count_devices();
  });
}

cudaError_t cudaSetDevice(int device) {
  return api("cudaSetDevice", [&] {
    require_device(device);
    current_device = device;
  });
}

cudaError_t cudaDeviceGetPCIBusId(char* text, int length, int device) {
  return api("cudaDeviceGetPCIBusId", [&] {
    require_device(device);
    // Each process has GPUs of its own.
    static const bool same = std::getenv("MINNOW_EMULATOR_SAME_GPUS") != nullptr;
    std::snprintf(text, static_cast<std::size_t>(length), "%08x:%02x:00.0", same ? 0u : static_cast<unsigned>(getpid()),
                  static_cast<unsigned>(device));
  });
}

cudaError_t cudaGetDevice(int* device) {
  return api("cudaGetDevice", [&] {
    require_device(0);
    *device = current_device;
  });
}

cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int device) {
  return api("cudaGetDeviceProperties", [&] {
    require_device(device);
    *properties = {};
    std::snprintf(properties->name, sizeof properties->name, "minnow's emulated GPU");
    properties->totalGlobalMem = runtime().device_bytes;
    properties->major = capability(device, 0);
    properties->minor = capability(device, 1);
    properties->multiProcessorCount = 132;
    properties->warpSize = 32;
    properties->maxThreadsPerBlock = 1024;
    properties->maxThreadsPerMultiProcessor = 2048;
    properties->maxGridSize[0] = 0x7fffffff;
    properties->maxGridSize[1] = properties->maxGridSize[2] = 65535;
    properties->maxThreadsDim[0] = properties->maxThreadsDim[1] = 1024;
    properties->maxThreadsDim[2] = 64;
    properties->sharedMemPerBlock = 48 << 10;
    properties->regsPerBlock = 65536;
    properties->unifiedAddressing = 1;
    properties->canMapHostMemory = 1;
    properties->asyncEngineCount = 3;
    properties->concurrentKernels = 1;
    properties->memoryBusWidth = 6144;
    properties->l2CacheSize = 50 << 20;
  });
}

cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int device) {
  return api("cudaDeviceGetAttribute", [&] {
    require_device(device);
    switch (attribute) {
      case cudaDevAttrComputeCapabilityMajor: *value = capability(device, 0); break;
      case cudaDevAttrComputeCapabilityMinor: *value = capability(device, 1); break;
      case cudaDevAttrMultiProcessorCount: *value = 132; break;
      case cudaDevAttrMaxThreadsPerBlock: *value = 1024; break;
      case cudaDevAttrMaxThreadsPerMultiProcessor: *value = 2048; break;
      case cudaDevAttrWarpSize: *value = 32; break;
      case cudaDevAttrMaxSharedMemoryPerBlock: *value = 48 << 10; break;
      case cudaDevAttrClockRate: *value = 1980000; break;
      case cudaDevAttrMemoryPoolsSupported: *value = 1; break;
      case cudaDevAttrUnifiedAddressing:
      case cudaDevAttrCanMapHostMemory:
      case cudaDevAttrConcurrentKernels: *value = 1; break;
      default: throw Status{cudaErrorNotSupported};
    }
  });
}

cudaError_t cudaDeviceGetStreamPriorityRange(int* least, int* greatest) {
  return api("cudaDeviceGetStreamPriorityRange", [&] {
    if (least) *least = 0;
    if (greatest) *greatest = -5;
  });
}

cudaError_t cudaDeviceCanAccessPeer(int* can, int device, int peer) {
  return api("cudaDeviceCanAccessPeer", [&] {
    require_device(device);
    require_device(peer);
    *can = 0;
  });
}

cudaError_t cudaDriverGetVersion(int* version) {
  return api("cudaDriverGetVersion",
             [&] { *version = static_cast<int>(number("MINNOW_EMULATOR_DRIVER", CUDART_VERSION)); });
}

cudaError_t cudaRuntimeGetVersion(int* version) {
  return api("cudaRuntimeGetVersion", [&] { *version = CUDART_VERSION; });
}

cudaError_t cudaDeviceSynchronize() {
  return api("cudaDeviceSynchronize", [] {
    require_device(current_device);
    refuse_in_capture(current_device);
    run_all(current_device);
  });
}

cudaError_t cudaGetLastError() {
  const cudaError_t last = last_error;
  const std::lock_guard guard(runtime().lock);
  last_error = runtime().sticky;
  return last != cudaSuccess ? last : runtime().sticky;
}

cudaError_t cudaPeekAtLastError() {
  const std::lock_guard guard(runtime().lock);
  return last_error != cudaSuccess ? last_error : runtime().sticky;
}

const char* cudaGetErrorName(cudaError_t error) {
  switch (error) {
    case cudaSuccess: return "cudaSuccess";
    case cudaErrorInvalidValue: return "cudaErrorInvalidValue";
    case cudaErrorMemoryAllocation: return "cudaErrorMemoryAllocation";
    case cudaErrorInitializationError: return "cudaErrorInitializationError";
    case cudaErrorCudartUnloading: return "cudaErrorCudartUnloading";
    case cudaErrorInvalidConfiguration: return "cudaErrorInvalidConfiguration";
    case cudaErrorLaunchOutOfResources: return "cudaErrorLaunchOutOfResources";
    case cudaErrorInsufficientDriver: return "cudaErrorInsufficientDriver";
    case cudaErrorNoDevice: return "cudaErrorNoDevice";
    case cudaErrorInvalidDevice: return "cudaErrorInvalidDevice";
    case cudaErrorNoKernelImageForDevice: return "cudaErrorNoKernelImageForDevice";
    case cudaErrorInvalidResourceHandle: return "cudaErrorInvalidResourceHandle";
    case cudaErrorNotReady: return "cudaErrorNotReady";
    case cudaErrorIllegalAddress: return "cudaErrorIllegalAddress";
    case cudaErrorLaunchFailure: return "cudaErrorLaunchFailure";
    case cudaErrorAssert: return "cudaErrorAssert";
    case cudaErrorNotSupported: return "cudaErrorNotSupported";
    case cudaErrorStreamCaptureUnsupported: return "cudaErrorStreamCaptureUnsupported";
    case cudaErrorStreamCaptureInvalidated: return "cudaErrorStreamCaptureInvalidated";
    case cudaErrorStreamCaptureMerge: return "cudaErrorStreamCaptureMerge";
    case cudaErrorStreamCaptureUnmatched: return "cudaErrorStreamCaptureUnmatched";
    case cudaErrorStreamCaptureUnjoined: return "cudaErrorStreamCaptureUnjoined";
    case cudaErrorStreamCaptureIsolation: return "cudaErrorStreamCaptureIsolation";
    case cudaErrorStreamCaptureImplicit: return "cudaErrorStreamCaptureImplicit";
    case cudaErrorCapturedEvent: return "cudaErrorCapturedEvent";
    case cudaErrorStreamCaptureWrongThread: return "cudaErrorStreamCaptureWrongThread";
    default: return "cudaErrorUnknown";
  }
}

const char* cudaGetErrorString(cudaError_t error) {
  switch (error) {
    case cudaSuccess: return "no error";
    case cudaErrorInvalidValue: return "invalid argument";
    case cudaErrorMemoryAllocation: return "out of memory";
    case cudaErrorInitializationError: return "initialization error";
    case cudaErrorInvalidConfiguration: return "invalid configuration argument";
    case cudaErrorInsufficientDriver: return "CUDA driver version is insufficient for CUDA runtime version";
    case cudaErrorNoDevice: return "no CUDA-capable device is detected";
    case cudaErrorInvalidDevice: return "invalid device ordinal";
    case cudaErrorInvalidResourceHandle: return "invalid resource handle";
    case cudaErrorNotReady: return "device not ready";
    case cudaErrorIllegalAddress: return "an illegal memory access was encountered";
    case cudaErrorLaunchFailure: return "unspecified launch failure";
    case cudaErrorStreamCaptureUnsupported: return "operation not permitted when stream is capturing";
    case cudaErrorStreamCaptureInvalidated: return "operation failed due to a previous error during capture";
    default: return "the emulator has no text for this error";
  }
}

}  // extern "C"
