#pragma once

#include <compare>
#include <cstdint>
#include <iosfwd>
#include <string>
#include <string_view>
#include <minnow/tensor/source_location.h>

namespace minnow {

enum class DeviceType : std::uint8_t { cpu, cuda, sim };
inline constexpr int kDeviceTypes = 3;

std::string_view name_of(DeviceType type);

/// Where a tensor's memory is: "cpu", "cuda:1", "sim:0".
class Device {
 public:
  constexpr Device() = default;
  /// An index that no device can have becomes -1, which is refused when the device is used.
  constexpr Device(DeviceType type, int index = 0)
      : type_(type), index_(static_cast<std::int16_t>(index >= 0 && index <= INT16_MAX ? index : -1)) {}

  /// Parses `cpu | cuda | cuda:N | sim | sim:N` (N without leading zeros); without N it is the thread's current
  /// device of that type (see DeviceGuard).  DeviceError for anything else.  Whether the device exists is checked when
  /// it is used.
  Device(std::string_view text, SourceLocation where = SourceLocation::current());
  Device(const char* text, SourceLocation where = SourceLocation::current()) : Device(std::string_view(text), where) {}
  Device(const std::string& text, SourceLocation where = SourceLocation::current())
      : Device(std::string_view(text), where) {}

  constexpr DeviceType type() const { return type_; }
  constexpr int index() const { return index_; }
  constexpr bool is_cpu() const { return type_ == DeviceType::cpu; }
  constexpr bool is_cuda() const { return type_ == DeviceType::cuda; }
  constexpr bool is_sim() const { return type_ == DeviceType::sim; }
  /// "cpu", "cuda:0", "sim:1".
  std::string str() const;

  friend constexpr auto operator<=>(const Device&, const Device&) = default;

 private:
  DeviceType type_ = DeviceType::cpu;
  std::int16_t index_ = 0;
};

/// Prints str().
std::ostream& operator<<(std::ostream& out, const Device& device);

/// The number of devices of a type that this process can use (0 for cuda without a driver).
int device_count(DeviceType type);
/// "cpu, sim:0, sim:1": the devices of this machine, for messages.
std::string available_devices();
/// The current CUDA device if there is one, otherwise the CPU.
Device best_device();
/// The device that "cuda" or "sim" without an index means on this thread: index 0 outside of a DeviceGuard.
Device current_device(DeviceType type);

/// Makes a device the current one of its type on this thread, for a scope.  DeviceError for a device that does not
/// exist. (Each device has its own current stream: see StreamGuard.)
class DeviceGuard {
 public:
  [[nodiscard]] explicit DeviceGuard(Device device, SourceLocation where = SourceLocation::current());
  ~DeviceGuard();
  DeviceGuard(const DeviceGuard&) = delete;
  DeviceGuard& operator=(const DeviceGuard&) = delete;

 private:
  Device previous_;
};

namespace cuda {
/// Whether this process can use a CUDA device.
bool is_available();
/// Why it cannot: built without CUDA, no driver, no GPU, ...; empty if it can.
std::string why_not();
/// The debug mode, which the environment variable MINNOW_CUDA_DEBUG=1 turns on as well: the host waits after every
/// launch, so that an error names its operation; freed memory is filled with a pattern; each block has guard bytes
/// around it. Slow.  Thread-safe.
void set_debug(bool on);
bool debug();
}  // namespace cuda

}  // namespace minnow
