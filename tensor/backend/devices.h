#pragma once

#include <iterator>
#include <string>
#include <string_view>
#include <minnow/tensor/backend/backend.h>
#include <minnow/tensor/device.h>

namespace minnow::detail {

// The backends; nullptr where this build has none.
Backend* cpu_backend();
Backend* cuda_backend();
Backend* sim_backend();

/// A kind of device.
struct DeviceKind {
  DeviceType type;
  Backend* (*backend)();
  std::string (*why_none)();      ///< why there is no such device; nullptr if there is nothing to say
  std::string_view setting = {};  ///< what says how many there are, for messages
};

/// All kinds, in the order of DeviceType: what is listed here can be named, used and tested.
inline constexpr DeviceKind kDeviceKinds[] = {
    {DeviceType::cpu, cpu_backend, nullptr},
    {DeviceType::cuda, cuda_backend, cuda::why_not},
    {DeviceType::sim, sim_backend, nullptr, "MINNOW_SIM_DEVICES sets how many there are"},
};
static_assert(std::size(kDeviceKinds) == kDeviceTypes);
static_assert([] {
  for (int i = 0; i < kDeviceTypes; ++i)
    if (static_cast<int>(kDeviceKinds[i].type) != i) return false;
  return true;
}());

}  // namespace minnow::detail
