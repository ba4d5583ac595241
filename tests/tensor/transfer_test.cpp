#include <cstring>
#include <gtest/gtest.h>
#include <sstream>
#include <thread>
#include <minnow/tensor/backend/dispatch.h>
#include <minnow/tensor/create.h>
#include <minnow/tensor/error.h>
#include <minnow/tensor/profile/transfer_report.h>
#include <minnow/tensor/raw/copy.h>
#include <minnow/tensor/raw/elementwise.h>
#include <minnow/tensor/raw/transfer.h>
#include <minnow/tensor/raw/view.h>
#include <minnow/tensor/runtime/memory.h>
#include <minnow/tensor/sim/options.h>

#include "support/devices.h"
#include "support/host_tensor.h"
#include "support/thrown.h"

namespace minnow {
namespace {

using test::counting;
using test::error_of;
using test::has;
using test::values;

class TransferTest : public test::DeviceTest {
 protected:
  /// To the device and back, asynchronously where possible.
  static Tensor round_trip(const Tensor& x, bool non_blocking) {
    return raw::to_device(raw::to_device(x, device(), non_blocking), "cpu", non_blocking);
  }
};
INSTANTIATE_TEST_SUITE_P(Devices, TransferTest, test::all_devices(), test::device_test_name);

TEST_P(TransferTest, CopiesEveryDTypeBitForBit) {
  for (const DType dtype : {float32, float64, DType::float16, DType::bfloat16, int64, int32, uint8, DType::bool_}) {
    const Tensor x = test::host_tensor(dtype, {13, 7}, {7, 1});
    auto* bytes = static_cast<unsigned char*>(x.raw_data());
    for (std::int64_t b = 0; b < x.nbytes(); ++b) bytes[b] = static_cast<unsigned char>(b * 37 % 251);
    for (const bool non_blocking : {false, true}) {
      const Tensor source = non_blocking ? raw::pin_memory(x) : x;
      const Tensor home = round_trip(source, non_blocking);
      home.storage()->wait_ready();
      EXPECT_EQ(home.dtype(), dtype);
      EXPECT_EQ(home.shape(), x.shape());
      EXPECT_EQ(std::memcmp(home.raw_data(), x.raw_data(), static_cast<std::size_t>(x.nbytes())), 0)
          << name_of(dtype) << (non_blocking ? " non_blocking" : "");
    }
  }
}

TEST_P(TransferTest, KeepsTheStridesOfDenseTensors) {
  Tensor base = counting(2 * 3 * 4 * 5);
  const Shape shape{2, 3, 4, 5};
  for (const Strides& strides : {contiguous_strides(shape), channels_last_strides(shape), Strides{1, 40, 2, 8}}) {
    const Tensor x(base.storage(), DType::float32, shape, strides);
    const Tensor moved = raw::to_device(x, device());
    EXPECT_EQ(moved.device(), device());
    EXPECT_EQ(moved.strides(), strides);
    EXPECT_EQ(values(raw::to_device(moved, "cpu")), values(base));
  }
}

TEST_P(TransferTest, MakesOtherStridesContiguousFirst) {
  const Tensor base = counting(24);
  const Tensor x(base.storage(), DType::float32, {2, 3}, {12, 2}, 1);  // 1 3 5 / 13 15 17
  const Tensor expanded(base.storage(), DType::float32, {2, 3}, {0, 1}, 4);
  if (!device().is_cpu()) {
    EXPECT_TRUE(raw::to_device(x, device()).is_contiguous());
    EXPECT_EQ(raw::to_device(x, device()).storage()->bytes(), 24U);
  }
  // From the device too: a view on it.
  const Tensor there = raw::to_device(base, device());
  const Tensor view(there.storage(), DType::float32, {2, 3}, {12, 2}, 1);
  for (const Tensor& t : {x, view}) {
    const Tensor home = raw::contiguous(raw::to_device(raw::to_device(t, device()), "cpu"));
    EXPECT_EQ(values(home), (std::vector<float>{1, 3, 5, 13, 15, 17}));
  }
  EXPECT_EQ(values(raw::contiguous(raw::to_device(raw::to_device(expanded, device()), "cpu"))),
            (std::vector<float>{4, 5, 6, 4, 5, 6}));
}

TEST_P(TransferTest, CopiesOnlyTheElementsOfAView) {
  const Tensor base = counting(1000);
  const Tensor x(base.storage(), DType::float32, {10}, {1}, 500);
  const Tensor home = round_trip(x, false);
  if (!device().is_cpu()) { EXPECT_EQ(home.storage()->bytes(), 40U); }
  EXPECT_EQ(values(home), (std::vector<float>{500, 501, 502, 503, 504, 505, 506, 507, 508, 509}));
}

TEST_P(TransferTest, CopiesScalarsAndEmptyTensors) {
  const Tensor scalar = test::host_tensor({42}, {});
  EXPECT_EQ(round_trip(scalar, false).data<float>()[0], 42);
  EXPECT_EQ(round_trip(raw::pin_memory(scalar), true).data<float>()[0], 42);
  for (const bool non_blocking : {false, true}) {
    const Tensor none = round_trip(raw::pin_memory(test::host_tensor({}, {0, 3})), non_blocking);
    EXPECT_EQ(none.shape(), (Shape{0, 3}));
    EXPECT_TRUE(none.is_ready());
  }
}

TEST_P(TransferTest, ReturnsTheTensorItselfOnTheSameDevice) {
  const Tensor x = raw::to_device(counting(3), device());
  EXPECT_TRUE(raw::to_device(x, device()).is_same(x));
  EXPECT_TRUE(raw::to_device(x, device(), true).is_same(x));
}

TEST_P(TransferTest, LeavesTheOriginalUntouched) {
  const Tensor x = counting(3);
  const Tensor moved = raw::to_device(x, device());
  if (device().is_cpu()) return;
  EXPECT_EQ(x.device(), Device());
  backend_of(device()).run(calls::Fill{moved, 9.0});
  EXPECT_EQ(values(x), (std::vector<float>{0, 1, 2}));
  EXPECT_EQ(values(raw::to_device(moved, "cpu")), (std::vector<float>{9, 9, 9}));
}

TEST(Transfer, ToTheHostWithoutBlockingIsSafeToRead) {
  const sim::ScopedOptions options({.bandwidth = 10e6});
  const Tensor source = counting(250'000);
  const Tensor there = raw::to_device(source, "sim");
  const Tensor home = raw::to_device(there, "cpu", true);
  EXPECT_TRUE(home.is_pinned());
  EXPECT_FALSE(home.is_ready());
  EXPECT_EQ(home.data<float>()[249'999], 249'999.0F);  // waits
  EXPECT_TRUE(home.is_ready());
  EXPECT_EQ(values(home), values(source));

  const Tensor polled = raw::to_device(there, "cpu", true);
  EXPECT_FALSE(polled.is_ready());
  synchronize("sim");
  EXPECT_TRUE(polled.is_ready());

  // Host operations read too, and so does a copy back.
  const Tensor added = raw::to_device(there, "cpu", true);
  EXPECT_FALSE(added.is_ready());
  EXPECT_EQ(raw::binary(raw::kBinary<kernels::Add>, added, added).data<float>()[249'999], 2 * 249'999.0F);
  const Tensor back = raw::to_device(raw::to_device(there, "cpu", true), "sim", true);
  EXPECT_EQ(values(raw::to_device(back, "cpu")), values(source));
}

TEST(Transfer, ManyThreadsMayReadATensorThatIsBeingCopied) {
  const sim::ScopedOptions options({.bandwidth = 50e6});
  const Tensor home = raw::to_device(raw::to_device(counting(250'000), "sim"), "cpu", true);
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) threads.emplace_back([&] { EXPECT_EQ(home.data<float>()[249'999], 249'999.0F); });
  for (std::thread& thread : threads) thread.join();
}

TEST(Transfer, FromPageableMemoryBlocks) {
  const sim::ScopedOptions options({.bandwidth = 50e6});
  Tensor x = counting(25'000);
  const Tensor moved = raw::to_device(x, "sim", true);
  EXPECT_TRUE(current_stream("sim").record().is_ready());
  x.data<float>()[0] = -1;  // after the copy read it
  EXPECT_EQ(values(raw::to_device(moved, "cpu")), values(counting(25'000)));
}

TEST(Transfer, FromPinnedMemoryDoesNot) {
  const sim::ScopedOptions options({.bandwidth = 10e6});
  const Tensor x = raw::pin_memory(counting(250'000));
  const Tensor moved = raw::to_device(x, "sim", true);
  EXPECT_FALSE(current_stream("sim").record().is_ready());
  EXPECT_EQ(values(raw::to_device(moved, "cpu")), values(x));
}

TEST(Transfer, BetweenDevicesOfOneKind) {
  const sim::ScopedOptions options({.devices = 2, .bandwidth = 50e6});
  const Tensor x = raw::pin_memory(counting(250'000));
  const Tensor first = raw::to_device(x, "sim:0", true);
  const Tensor second = raw::to_device(first, "sim:1", true);  // waits for the copy that it reads
  EXPECT_EQ(second.device(), Device("sim:1"));
  EXPECT_EQ(values(raw::to_device(second, "cpu")), values(x));
}

TEST(Transfer, RefusesMissingDevices) {
  const Tensor x = counting(3);
  const std::string missing = error_of<DeviceError>([&] { raw::to_device(x, "sim:9"); });
  for (const std::string& part :
       {std::string("sim:9 cannot be used"), available_devices(), std::string("(transfer_test.cpp:")})
    EXPECT_TRUE(has(missing, part)) << missing;
  if (!cuda::is_available()) {
    EXPECT_TRUE(has(error_of<DeviceError>([&] { raw::to_device(x, "cuda"); }), cuda::why_not()));
  }
  const Tensor undefined;
  for (const std::string& message : {error_of<ValueError>([&] { raw::to_device(undefined, "sim"); }),
                                     error_of<ValueError>([&] { raw::pin_memory(undefined); })}) {
    EXPECT_TRUE(has(message, "undefined")) << message;
    EXPECT_TRUE(has(message, "(transfer_test.cpp:")) << message;
  }
}

TEST(Pinning, OfDeviceOrPinnedTensors) {
  const Tensor x = counting(10);
  EXPECT_FALSE(x.is_pinned());
  const Tensor pinned = raw::pin_memory(x);
  EXPECT_TRUE(pinned.is_pinned());
  EXPECT_EQ(pinned.device(), Device());
  EXPECT_EQ(values(pinned), values(x));
  EXPECT_TRUE(raw::pin_memory(pinned).is_same(pinned));
  const Tensor base = counting(24);
  const Tensor transposed(base.storage(), DType::float32, {4, 6}, {1, 4});
  EXPECT_EQ(raw::pin_memory(transposed).strides(), transposed.strides());
  EXPECT_EQ(values(raw::contiguous(raw::pin_memory(Tensor(base.storage(), DType::float32, {2, 2}, {12, 2}, 1)))),
            (std::vector<float>{1, 3, 13, 15}));
  EXPECT_TRUE(raw::pin_memory(test::host_tensor({}, {0})).is_pinned());

  const std::string message = error_of<DeviceError>([&] { raw::pin_memory(raw::to_device(x, "sim")); });
  for (const char* part : {"cannot pin a tensor of sim:0", "only CPU tensors can be pinned", "float32[10] on sim:0",
                           ".cpu()", "(transfer_test.cpp:"})
    EXPECT_TRUE(has(message, part)) << message;
}

TEST(Pinning, WithoutADeviceIsAnError) {
  if (cuda::is_available()) return;
  const sim::ScopedOptions options({.devices = 0});
  const std::string message = error_of<DeviceError>([] { raw::pin_memory(counting(1)); });
  EXPECT_TRUE(has(message, "no device copies from pinned memory")) << message;
  EXPECT_TRUE(has(message, "(transfer_test.cpp:")) << message;
}

TEST(Pinning, FailureWarnsOnceAndContinues) {
  if (cuda::is_available()) return;
  const std::int64_t used = pinned_memory_stats().reserved;
  const sim::ScopedOptions options({.pinned_memory = static_cast<std::size_t>(used) + 1});
  const Tensor x = counting(10'000'000);
  ::testing::internal::CaptureStderr();
  for (int i = 0; i < 3; ++i) {
    const Tensor pageable = raw::pin_memory(x);
    EXPECT_FALSE(pageable.is_pinned());
    EXPECT_EQ(pageable.data<float>()[9'999'999], 9'999'999.0F);
  }
  const std::string warning = ::testing::internal::GetCapturedStderr();
  EXPECT_TRUE(has(warning, "pageable memory")) << warning;
  EXPECT_EQ(warning.find("pageable memory"), warning.rfind("pageable memory"));
  // A copy to the host then goes to pageable memory.
  const Tensor home = raw::to_device(raw::to_device(x, "sim"), "cpu", true);
  EXPECT_FALSE(home.is_pinned());
  EXPECT_EQ(home.data<float>()[9'999'999], 9'999'999.0F);
}

TEST(TransferReport, ListsTheLinesThatMoveTheMost) {
  reset_transfer_report();
  EXPECT_TRUE(transfer_report().lines.empty());
  const Tensor x = counting(1000);
  Tensor there;
  const unsigned small = __LINE__ + 1;
  for (int i = 0; i < 3; ++i) there = raw::to_device(test::host_tensor({1}, {1}), "sim");
  const unsigned large = __LINE__ + 1;
  for (int i = 0; i < 2; ++i) there = raw::to_device(x, "sim");
  const Tensor home = raw::to_device(there, "cpu", true);
  home.data<float>();
  const TransferReport report = transfer_report();
  ASSERT_EQ(report.lines.size(), 3U);
  EXPECT_EQ(report.lines[0].line, large);
  EXPECT_TRUE(has(report.lines[0].file, "transfer_test.cpp"));
  EXPECT_EQ(report.lines[0].totals.bytes, 8000);
  EXPECT_EQ(report.lines[0].totals.count, 2);
  EXPECT_EQ(report.lines[1].direction, TransferDirection::to_host);
  EXPECT_EQ(report.lines[1].totals.bytes, 4000);
  EXPECT_EQ(report.lines[2].line, small);
  EXPECT_EQ(report.lines[2].totals.count, 3);
  EXPECT_EQ(report[TransferDirection::to_device].bytes, 8012);
  EXPECT_EQ(report[TransferDirection::to_device].count, 5);
  EXPECT_EQ(report[TransferDirection::to_host].count, 1);
  EXPECT_EQ(report[TransferDirection::between_devices].count, 0);
  EXPECT_GT(report[TransferDirection::to_device].seconds, 0);

  std::ostringstream text;
  text << report;
  for (const std::string& part :
       {std::string("to device            8.0 kB        5"), std::string("8.0 kB       2x  to device"),
        "transfer_test.cpp:" + std::to_string(large), "transfer_test.cpp:" + std::to_string(small)})
    EXPECT_TRUE(has(text.str(), part)) << text.str();
  EXPECT_FALSE(has(text.str(), "between devices")) << text.str();
  reset_transfer_report();
  EXPECT_EQ(transfer_report()[TransferDirection::to_device].count, 0);
}

TEST(TransferReport, CountsTheTimeOfCopiesThatDidNotBlock) {
  const sim::ScopedOptions options({.devices = 2, .bandwidth = 50e6});
  const Tensor x = raw::pin_memory(counting(250'000));
  reset_transfer_report();
  const Tensor there = raw::to_device(x, "sim:0", true);
  EXPECT_EQ(transfer_report()[TransferDirection::to_device].count, 1);
  EXPECT_EQ(transfer_report()[TransferDirection::to_device].bytes, 1'000'000);
  synchronize("sim:0");
  EXPECT_GE(transfer_report()[TransferDirection::to_device].seconds, 0.02);
  EXPECT_LT(transfer_report()[TransferDirection::to_device].seconds, 10);
  const Tensor other = raw::to_device(there, "sim:1");
  EXPECT_EQ(transfer_report()[TransferDirection::between_devices].bytes, 1'000'000);
  EXPECT_GE(transfer_report()[TransferDirection::between_devices].seconds, 0.02);
}

TEST(TransferReport, CountsForAllThreads) {
  reset_transfer_report();
  const Tensor pinned = raw::pin_memory(counting(100));
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&] {
      for (int i = 0; i < 100; ++i) {
        raw::to_device(pinned, "sim", true);
        if (i % 10 == 0) transfer_report();
      }
    });
  for (std::thread& thread : threads) thread.join();
  synchronize("sim");
  EXPECT_EQ(transfer_report()[TransferDirection::to_device].count, 400);
  EXPECT_EQ(transfer_report()[TransferDirection::to_device].bytes, 160'000);
}

}  // namespace
}  // namespace minnow
