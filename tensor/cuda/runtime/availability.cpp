#include <algorithm>
#include <cstdlib>
#include <cuda_runtime_api.h>
#include <string>
#include <minnow/tensor/backend/devices.h>
#include <minnow/tensor/backend/dispatch.h>
#include <minnow/tensor/cuda/cuda_backend.h>
#include <minnow/tensor/cuda/runtime/architectures.h>
#include <minnow/tensor/cuda/runtime/context.h>
#include <minnow/tensor/cuda/runtime/status.h>
#include <minnow/tensor/device.h>

namespace minnow {

Backend* detail::cuda_backend() {
  static auto* backend = new cuda::CudaBackend();  // never destroyed
  return backend;
}

namespace cuda {
namespace {

struct Machine {
  int devices = 0;
  std::string why_not;
};

std::string version(int number) { return std::to_string(number / 1000) + "." + std::to_string(number % 1000 / 10); }

std::string why_no_device() {
  const char* visible = std::getenv("CUDA_VISIBLE_DEVICES");
  if (visible) return std::string("CUDA_VISIBLE_DEVICES is '") + visible + "', which leaves no GPU to this program";
  return "there is an NVIDIA driver, but no GPU that it can use";
}

std::string why_not_counted(cudaError_t status) {
  int driver = 0, runtime = 0;
  cudaDriverGetVersion(&driver);
  cudaRuntimeGetVersion(&runtime);
  if (status == cudaErrorNoDevice) return why_no_device();
  if (driver == 0) return "there is no NVIDIA driver on this machine";
  if (status == cudaErrorInsufficientDriver)
    return "the NVIDIA driver is too old: it supports CUDA " + version(driver) + ", and minnow was built with CUDA " +
           version(runtime) + "; install a newer driver";
  return std::string("the NVIDIA driver does not work: ") + cudaGetErrorName(status) + ": " +
         cudaGetErrorString(status);
}

Capability capability_of(int device) {
  Capability found;
  cudaDeviceGetAttribute(&found.major, cudaDevAttrComputeCapabilityMajor, device);
  cudaDeviceGetAttribute(&found.minor, cudaDevAttrComputeCapabilityMinor, device);
  return found;
}

/// Why a GPU of the machine cannot run the kernels of this library; empty if it can.
std::string why_not_run(int device, int count) {
  const Architectures built(MINNOW_CUDA_ARCHITECTURES);
  const Capability gpu = capability_of(device);
  const CodeFor code = built.code_for(gpu);
  int driver = 0, runtime = 0;
  cudaDriverGetVersion(&driver);
  cudaRuntimeGetVersion(&runtime);
  if (code == CodeFor::binary || (code == CodeFor::ptx && driver >= runtime)) return "";
  const std::string name = Device(DeviceType::cuda, device).str() + " has compute capability " + gpu.str();
  if (code == CodeFor::ptx)
    return name + ", for which this library holds PTX of CUDA " + version(runtime) +
           " only, and the driver is one of CUDA " + version(driver) + ": install a newer driver";
  std::string all;
  for (int i = 0; i < count; ++i) all += (i ? ", " : "") + capability_of(i).str();
  return name + ", and this library holds code for " + built.str() + " (the GPUs here: " + all +
         "; CUDA_VISIBLE_DEVICES chooses among them, MINNOW_CUDA_ARCHITECTURES of CMake what is built, from 8.0 on)";
}

/// The usable devices: those before the first one that the kernels were not compiled for.
Machine look() {
  Machine machine;
  int count = 0;
  const cudaError_t status = cudaGetDeviceCount(&count);
  if (status != cudaSuccess || count == 0) {
    machine.why_not = status == cudaSuccess ? why_no_device() : why_not_counted(status);
    cudaGetLastError();
    return machine;
  }
  note_use();
  for (count = std::min(count, kMaxDevices); machine.devices < count; ++machine.devices) {
    machine.why_not = why_not_run(machine.devices, count);
    if (!machine.why_not.empty()) break;
  }
  return machine;
}

const Machine& machine() {
  static const auto* seen = new Machine(look());  // determined once, at the first call
  return *seen;
}

}  // namespace

int CudaBackend::device_count() const { return machine().devices; }

bool is_available() { return machine().devices > 0; }

std::string why_not() { return is_available() ? "" : machine().why_not; }

}  // namespace cuda
}  // namespace minnow
