#include <minnow/tensor/device.h>

#include <ostream>
#include <minnow/tensor/runtime/calling_thread.h>
#include <minnow/tensor/text.h>

namespace minnow {

std::string_view name_of(DeviceType type) {
  switch (type) {
    case DeviceType::cpu: return "cpu";
    case DeviceType::cuda: return "cuda";
    case DeviceType::sim: return "sim";
  }
  return "unknown";
}

std::string Device::str() const {
  std::string text{name_of(type_)};
  return is_cpu() ? text : text + ":" + std::to_string(index_);
}

Device current_device(DeviceType type) {
  return Device(type, detail::calling_thread.device_index[static_cast<int>(type)]);
}

std::ostream& operator<<(std::ostream& out, const Device& device) {
  detail::write_text(out, device.str());
  return out;
}

}  // namespace minnow
