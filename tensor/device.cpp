#include <minnow/tensor/device.h>

#include <charconv>
#include <minnow/tensor/error.h>

namespace minnow {

std::string_view name_of(DeviceType type) {
  constexpr std::string_view kNames[kDeviceTypes] = {"cpu", "cuda", "sim"};
  return type <= DeviceType::sim ? kNames[static_cast<int>(type)] : "unknown";
}

Device::Device(std::string_view text, SourceLocation where) {
  const auto colon = text.find(':');
  const std::string_view kind = text.substr(0, colon);
  bool ok = false;
  for (const auto type : {DeviceType::cpu, DeviceType::cuda, DeviceType::sim}) {
    if (kind != name_of(type)) continue;
    *this = current_device(type);
    ok = true;
  }
  if (ok && colon != std::string_view::npos) {
    const std::string_view digits = text.substr(colon + 1);
    const auto [end, code] = std::from_chars(digits.data(), digits.data() + digits.size(), index_);
    ok = code == std::errc{} && end == digits.data() + digits.size() && index_ >= 0 &&
         (digits.size() == 1 || digits[0] != '0') && digits[0] != '-' && (type_ != DeviceType::cpu || index_ == 0);
  }
  if (ok) return;
  throw DeviceError("Device: invalid device string '" + std::string(text) +
                        "'\n  expected cpu, cuda, cuda:N, sim or sim:N\nthis machine has: " + available_devices(),
                    where);
}

std::string Device::str() const {
  std::string text{name_of(type_)};
  return is_cpu() ? text : text + ":" + std::to_string(index_);
}

}  // namespace minnow
