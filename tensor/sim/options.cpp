#include <minnow/tensor/sim/options.h>

#include <charconv>
#include <cstring>
#include <string>
#include <minnow/tensor/error.h>

namespace minnow::sim {
namespace {

[[noreturn]] void refuse(const char* variable, const char* text, const std::string& expected) {
  throw ValueError(std::string("sim: ") + variable + " is '" + text + "'\nexpected " + expected);
}

/// "64M", "1.5G", "4096".
double parse_bytes(const char* variable, const char* text) {
  const char* end = text + std::strlen(text);
  double value = 0;
  const auto [rest, code] = std::from_chars(text, end, value, std::chars_format::fixed);
  bool ok = code == std::errc{} && value >= 0 && end - rest <= 1;
  if (ok && rest != end) {
    const char* units = "KMGT";
    const char* unit = std::strchr(units, *rest);
    ok = unit != nullptr;
    for (auto i = unit; ok && i >= units; --i) value *= 1024;
  }
  if (!ok || value < 1 || value > 0x1p60) refuse(variable, text, "a number of bytes such as 64M, 1.5G or 4096");
  return value;
}

}  // namespace

Options parse_options(const char* devices, const char* memory, const char* bandwidth) {
  Options result;
  if (devices) {
    const char* end = devices + std::strlen(devices);
    const auto [rest, code] = std::from_chars(devices, end, result.devices);
    if (code != std::errc{} || rest != end || result.devices < 0 || result.devices > kMaxDevices)
      refuse("MINNOW_SIM_DEVICES", devices, "a number from 0 to " + std::to_string(kMaxDevices));
  }
  if (memory) result.memory = static_cast<std::size_t>(parse_bytes("MINNOW_SIM_MEMORY", memory));
  if (bandwidth) result.bandwidth = parse_bytes("MINNOW_SIM_BANDWIDTH", bandwidth);
  return result;
}

}  // namespace minnow::sim
