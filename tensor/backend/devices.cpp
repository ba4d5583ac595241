#include <minnow/tensor/backend/captured_calls.h>
#include <minnow/tensor/backend/dispatch.h>
#include <minnow/tensor/device.h>
#include <minnow/tensor/error.h>

namespace minnow {
namespace {

thread_local int current_index[kDeviceTypes] = {};

int& index_of(DeviceType type) { return current_index[static_cast<int>(type)]; }

Backend* backend_of(DeviceType type) {
  switch (type) {
    case DeviceType::cpu: return cpu_backend();
    case DeviceType::cuda: return cuda_backend();
    case DeviceType::sim: return sim_backend();
  }
  return nullptr;
}

[[noreturn]] void no_such_device(Device device, int count, SourceLocation where) {
  std::string text = std::string(CallSite::op_or("Device")) + ": " + device.str() + " cannot be used\n  ";
  if (count > 0)
    text += "this machine has " + std::to_string(count) + " " + std::string(name_of(device.type())) +
            (count == 1 ? " device" : " devices");
  else if (device.is_cuda()) text += cuda::why_not();
  else text += "there is no " + std::string(name_of(device.type())) + " device";
  if (device.is_sim()) text += " (MINNOW_SIM_DEVICES sets how many there are)";
  throw DeviceError(text + "\nthis machine has: " + available_devices(), where);
}

}  // namespace

int device_count(DeviceType type) {
  const Backend* backend = backend_of(type);
  return backend ? backend->device_count() : 0;
}

std::string available_devices() {
  std::string list = "cpu";
  for (const auto type : {DeviceType::cuda, DeviceType::sim}) {
    int count = 0;
    try {
      count = device_count(type);
    } catch (const Error&) {  // a bad setting is reported where the device is used, not inside of another message
    }
    for (int i = 0; i < count; ++i) list += ", " + Device(type, i).str();
  }
  return list;
}

Device best_device() { return device_count(DeviceType::cuda) > 0 ? current_device(DeviceType::cuda) : Device(); }

Device current_device(DeviceType type) { return Device(type, index_of(type)); }

DeviceGuard::DeviceGuard(Device device, SourceLocation where) : previous_(current_device(device.type())) {
  const CallSite site("DeviceGuard", where);
  backend_of(device, where);
  index_of(device.type()) = device.index();
}

DeviceGuard::~DeviceGuard() { index_of(previous_.type()) = previous_.index(); }

Backend& backend_of(Device device, SourceLocation where) {
  Backend* backend = backend_of(device.type());
  const int count = backend ? backend->device_count() : 0;
  if (device.index() < 0 || device.index() >= count) no_such_device(device, count, where);
  if (Backend* capture = call_capture(device)) return *capture;
  return *backend;
}

}  // namespace minnow
