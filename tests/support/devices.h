#pragma once

#include <gtest/gtest.h>
#include <ostream>
#include <string>
#include <vector>
#include <minnow/tensor/device.h>
#include <minnow/tensor/runtime/stream.h>

namespace minnow {

inline void PrintTo(const Device& device, std::ostream* out) { *out << device.str(); }

namespace test {

/// The devices that device-generic tests run on: cpu, sim:0 and, where there is one, cuda:0.  The first call
/// prints which they are.
const std::vector<Device>& test_devices();

/// "cpu", "sim_0": the suffix of a test's name.
std::string device_name(const Device& device);
std::string device_test_name(const ::testing::TestParamInfo<Device>& info);

/// A test that runs once on each device:
///
///     class AddTest : public test::DeviceTest {};
///     INSTANTIATE_TEST_SUITE_P(Devices, AddTest, test::all_devices(), test::device_test_name);
///
///     TEST_P(AddTest, WorksOnEveryDevice) { Tensor x = ones({2}, {.device = device()}); ... }
class DeviceTest : public ::testing::TestWithParam<Device> {
 protected:
  static Device device() { return GetParam(); }
  /// Runs f and synchronizes, so that faults that the device finds are thrown here.
  template <class F> static void finish(const F& f) {
    f();
    synchronize(device());
  }
};

inline auto all_devices() { return ::testing::ValuesIn(test_devices()); }

}  // namespace test
}  // namespace minnow
