#include "support/devices.h"

#include <gtest/gtest.h>
#include <thread>
#include <minnow/tensor/backend/dispatch.h>
#include <minnow/tensor/error.h>
#include <minnow/tensor/runtime/memory.h>
#include <minnow/tensor/runtime/stream.h>
#include <minnow/tensor/sim/options.h>

#include "support/thrown.h"

namespace minnow {
namespace {

using test::error_of;
using test::has;

TEST(DeviceString, IsReadAndWritten) {
  const std::pair<const char*, Device> good[] = {{"cpu", Device()},
                                                 {"cpu:0", Device()},
                                                 {"cuda", Device(DeviceType::cuda, 0)},
                                                 {"cuda:0", Device(DeviceType::cuda, 0)},
                                                 {"cuda:1", Device(DeviceType::cuda, 1)},
                                                 {"cuda:10", Device(DeviceType::cuda, 10)},
                                                 {"sim", Device(DeviceType::sim, 0)},
                                                 {"sim:12", Device(DeviceType::sim, 12)}};
  for (const auto& [text, device] : good) {
    EXPECT_EQ(Device(text), device) << text;
    EXPECT_EQ(Device(device.str()), device) << text;
  }
  EXPECT_EQ(Device().str(), "cpu");
  EXPECT_EQ(Device("cuda").str(), "cuda:0");
  EXPECT_NE(Device("cuda:0"), Device("sim:0"));
  EXPECT_NE(Device("cuda:0"), Device("cuda:1"));
}

TEST(DeviceString, RefusesOtherTextAndListsTheDevices) {
  for (const char* text : {"",           " ",       ":",       ":0",       "cp",
                           "CPU",        "Cuda",    "gpu",     "cpu:1",    "cpu:",
                           "cuda:",      "cuda:01", "cuda:00", "cuda:-1",  "cuda:-0",
                           "cuda:+1",    "cuda: 1", "cuda:1 ", " cuda",    "cuda ",
                           "cuda:1:2",   "cuda:1a", "cuda:a",  "cuda:1.0", "cuda:99999999999999999999",
                           "cuda:40000", "sim:x",   "sim0",    "cuda,0",   "cuda::0",
                           "sim:0,"}) {
    const std::string message = error_of<DeviceError>([&] { Device device{std::string(text)}; });
    EXPECT_TRUE(has(message, "invalid device string '" + std::string(text) + "'")) << message;
    EXPECT_TRUE(has(message, "device_test.cpp:")) << message;
    EXPECT_TRUE(has(message, "this machine has: " + available_devices())) << message;
  }
  EXPECT_THROW(Device("sim:0\n"), DeviceError);
  // A zero byte is no end.
  EXPECT_THROW(Device(std::string_view("cpu\0x", 5)), DeviceError);
}

TEST(DeviceString, OfADtypeSaysHowItIsWritten) {
  EXPECT_TRUE(has(error_of<DeviceError>([] { Device("float64"); }), "write it without quotes: float64"));
  EXPECT_TRUE(has(error_of<DeviceError>([] { Device("bool"); }), "write it without quotes: bool_"));
}

TEST(Device, MissingDeviceSaysWhatIsMissing) {
  const sim::ScopedOptions options({.devices = 2});
  EXPECT_TRUE(has(available_devices(), "cpu")) << available_devices();
  EXPECT_TRUE(has(available_devices(), "sim:0, sim:1")) << available_devices();
  EXPECT_EQ(device_count(DeviceType::cpu), 1);
  EXPECT_EQ(device_count(DeviceType::sim), 2);
  const std::string message = error_of<DeviceError>([] { synchronize("sim:2"); });
  for (const char* part :
       {"sim:2 cannot be used", "2 sim devices", "MINNOW_SIM_DEVICES", "device_test.cpp:", "sim:0, sim:1"})
    EXPECT_TRUE(has(message, part)) << message;

  const sim::ScopedOptions none({.devices = 0});
  EXPECT_FALSE(has(available_devices(), "sim"));
  EXPECT_TRUE(has(error_of<DeviceError>([] { memory_stats("sim"); }), "there is no sim device"));
}

TEST(DeviceGuard, DecidesWhichDeviceANameMeans) {
  const sim::ScopedOptions options({.devices = 3});
  EXPECT_EQ(current_device(DeviceType::sim), Device("sim:0"));
  {
    const DeviceGuard first("sim:2");
    EXPECT_EQ(Device("sim"), Device(DeviceType::sim, 2));
    EXPECT_EQ(Device("sim:0"), Device(DeviceType::sim, 0));
    {
      const DeviceGuard second("sim:1");
      EXPECT_EQ(Device("sim"), Device(DeviceType::sim, 1));
      EXPECT_EQ(current_device(DeviceType::cpu), Device());
      std::thread([] { EXPECT_EQ(Device("sim"), Device(DeviceType::sim, 0)); }).join();
    }
    EXPECT_EQ(Device("sim"), Device(DeviceType::sim, 2));
    const std::string message = error_of<DeviceError>([] { const DeviceGuard none("sim:3"); });
    EXPECT_TRUE(has(message, "sim:3 cannot be used")) << message;
    EXPECT_TRUE(has(message, "(device_test.cpp:")) << message;
    EXPECT_EQ(Device("sim"), Device(DeviceType::sim, 2));
  }
  EXPECT_EQ(Device("sim"), Device(DeviceType::sim, 0));
  const DeviceGuard cpu{Device()};
  EXPECT_EQ(Device("cpu"), Device());
}

TEST(Device, CudaParsesEverywhereAndSaysWhyItCannotBeUsed) {
  const Device device("cuda");
  if (cuda::is_available()) {
    EXPECT_EQ(cuda::why_not(), "");
    EXPECT_EQ(best_device(), device);
    EXPECT_GT(device_count(DeviceType::cuda), 0);
    return;
  }
  EXPECT_EQ(device_count(DeviceType::cuda), 0);
  EXPECT_EQ(best_device(), Device());
  EXPECT_NE(cuda::why_not(), "");
  for (const std::string& message :
       {error_of<DeviceError>([&] { synchronize(device); }), error_of<DeviceError>([&] { current_stream(device); }),
        error_of<DeviceError>([&] { Stream stream(device); }), error_of<DeviceError>([&] { memory_stats(device); }),
        error_of<DeviceError>([&] { empty_cache(device); }),
        error_of<DeviceError>([&] { reset_peak_memory(device); })}) {
    for (const std::string& part :
         {std::string("cuda:0 cannot be used"), cuda::why_not(), available_devices(), std::string("(device_test.cpp:")})
      EXPECT_TRUE(has(message, part)) << message;
  }
}

TEST(Device, HostAccessToDeviceMemoryHasAHint) {
  const Tensor x(std::make_shared<Storage>(backend_of("sim").allocator(0), "sim", std::size_t{8}), DType::float32, {2},
                 {1});
  const std::string message = error_of<DeviceError>([&] { x.data<float>(); });
  for (const char* part : {"sim:0", "float32[2] on sim:0", ".cpu()", "device_test.cpp:"})
    EXPECT_TRUE(has(message, part)) << message;
  EXPECT_THROW(x.span<float>(), DeviceError);
}

}  // namespace
}  // namespace minnow
