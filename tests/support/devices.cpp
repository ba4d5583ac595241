#include "support/devices.h"

#include <cstdio>
#include <minnow/tensor/backend/devices.h>
#include <minnow/tensor/runtime/cuda_math.h>

namespace minnow::test {

const std::vector<Device>& test_devices() {
  static const std::vector<Device> devices = [] {
    std::vector<Device> list;
    for (const DeviceKind& kind : kDeviceKinds)
      if (device_count(kind.type) > 0) list.push_back(Device(kind.type));
    // Results are compared with the CPU's: float32 is computed as such.
    cuda::MathOptions math = cuda::math_options();
    math.conv_tf32 = false;
    cuda::set_math_options(math);
    std::string names;
    for (const Device& device : list) names += " " + device.str();
    std::printf("device-generic tests cover:%s%s\n", names.c_str(),
                cuda::is_available() ? "" : (" (no cuda: " + cuda::why_not() + ")").c_str());
    return list;
  }();
  return devices;
}

std::string device_name(const Device& device) {
  std::string name = device.str();
  for (char& c : name)
    if (c == ':') c = '_';
  return name;
}

std::string device_test_name(const ::testing::TestParamInfo<Device>& info) { return device_name(info.param); }

}  // namespace minnow::test
