#include <minnow/tensor/backend/devices.h>

#include <charconv>
#include <iterator>
#include <minnow/tensor/backend/dispatch.h>
#include <minnow/tensor/error.h>
#include <minnow/tensor/runtime/calling_thread.h>

namespace minnow {
namespace {

int& index_of(DeviceType type) { return calling_thread.device_index[static_cast<int>(type)]; }

const DeviceKind& kind_of(DeviceType type) { return kDeviceKinds[static_cast<int>(type)]; }

/// "cpu, cuda, cuda:N, sim or sim:N": what a device string may be.
std::string device_strings() {
  std::string text;
  for (const DeviceKind& kind : kDeviceKinds) {
    const bool last = &kind == std::end(kDeviceKinds) - 1;
    if (!text.empty()) text += ", ";
    text += name_of(kind.type);
    if (kind.type != DeviceType::cpu) text.append(last ? " or " : ", ").append(name_of(kind.type)).append(":N");
  }
  return text;
}

[[noreturn]] void no_such_device(Device device, int count, SourceLocation where) {
  const DeviceKind& kind = kind_of(device.type());
  std::string text = std::string(CallSite::op_or("Device")) + ": " + device.str() + " cannot be used\n  ";
  if (count > 0)
    text += "this machine has " + std::to_string(count) + " " + std::string(name_of(kind.type)) +
            (count == 1 ? " device" : " devices");
  else if (kind.why_none) text += kind.why_none();
  else text += "there is no " + std::string(name_of(kind.type)) + " device";
  if (!kind.setting.empty()) text.append(" (").append(kind.setting).append(")");
  throw DeviceError(text + "\nthis machine has: " + available_devices(), where);
}

}  // namespace

Device::Device(std::string_view text, SourceLocation where) {
  const auto colon = text.find(':');
  const std::string_view kind = text.substr(0, colon);
  bool ok = false;
  for (const DeviceKind& known : kDeviceKinds) {
    if (kind != name_of(known.type)) continue;
    *this = current_device(known.type);
    ok = true;
  }
  if (ok && colon != std::string_view::npos) {
    const std::string_view digits = text.substr(colon + 1);
    const auto [end, code] = std::from_chars(digits.data(), digits.data() + digits.size(), index_);
    ok = code == std::errc{} && end == digits.data() + digits.size() && index_ >= 0 &&
         (digits.size() == 1 || digits[0] != '0') && digits[0] != '-' && (type_ != DeviceType::cpu || index_ == 0);
  }
  if (ok) return;
  for (int i = 0; i < kDTypeCount; ++i) {
    const auto dtype = static_cast<DType>(i);
    if (text != name_of(dtype)) continue;
    throw DeviceError("Device: '" + std::string(text) + "' is a dtype, not a device\nwrite it without quotes: " +
                          (dtype == DType::bool_ ? "bool_" : std::string(text)),
                      where);
  }
  throw DeviceError("Device: invalid device string '" + std::string(text) + "'\n  expected " + device_strings() +
                        "\nthis machine has: " + available_devices(),
                    where);
}

int device_count(DeviceType type) {
  const Backend* backend = kind_of(type).backend();
  return backend ? backend->device_count() : 0;
}

std::string available_devices() {
  std::string list = "cpu";
  for (const DeviceKind& kind : kDeviceKinds) {
    if (kind.type == DeviceType::cpu) continue;
    int count = 0;
    try {
      count = device_count(kind.type);
    } catch (const Error&) {  // a wrong setting is reported when the device is used, not inside of another message
    }
    for (int i = 0; i < count; ++i) list += ", " + Device(kind.type, i).str();
  }
  return list;
}

Device best_device() {
  for (const DeviceKind& kind : kDeviceKinds) {
    Backend* backend = kind.backend();
    if (backend && !backend->computes_on_host() && backend->device_count() > 0) return current_device(kind.type);
  }
  return {};
}

DeviceGuard::DeviceGuard(Device device, SourceLocation where) : previous_(current_device(device.type())) {
  const CallSite site("DeviceGuard", where);
  backend_of(device, where);
  index_of(device.type()) = device.index();
}

DeviceGuard::~DeviceGuard() { index_of(previous_.type()) = previous_.index(); }

Backend& detail::backend_of(Device device, SourceLocation where) {
  Backend* backend = kind_of(device.type()).backend();
  const int count = backend ? backend->device_count() : 0;
  if (device.index() < 0 || device.index() >= count) no_such_device(device, count, where);
  return *backend;
}

}  // namespace minnow
