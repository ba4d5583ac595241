#include <cstdio>
#include <cstdlib>
#include <emulator/launch.h>
#include <gtest/gtest.h>
#include <iostream>
#include <sys/wait.h>
#include <unistd.h>
#include <minnow/tensor/create.h>
#include <minnow/tensor/device.h>
#include <minnow/tensor/error.h>
#include <minnow/tensor/raw/transfer.h>
#include <minnow/tensor/runtime/memory.h>
#include <minnow/tensor/runtime/stream.h>

#include "support/host_tensor.h"
#include "support/thrown.h"

/// The CUDA backend on machines without a GPU, with failing devices, and after forks.  Tests that break something run
/// in their own process.
namespace minnow {
namespace {

using test::error_of;
using test::has;

/// Runs this test again in a new process, with a variable set for it.
class OwnProcess : public ::testing::Test {
 protected:
  void SetUp() override { GTEST_FLAG_SET(death_test_style, "threadsafe"); }
  void TearDown() override {
    for (const char* name : {"MINNOW_EMULATOR_DRIVER", "MINNOW_EMULATOR_DEVICES", "MINNOW_EMULATOR_CAPABILITY",
                             "MINNOW_EMULATOR_BROKEN", "CUDA_VISIBLE_DEVICES", "MINNOW_CUDA_DEBUG"})
      unsetenv(name);
  }
};

/// Prints why there is no device to use, which must then behave as in a build without CUDA.
[[noreturn]] void tell_why_not() {
  const std::string why = cuda::why_not();
  const bool good = !cuda::is_available() && device_count(DeviceType::cuda) == 0 && best_device() == Device() &&
                    has(error_of<DeviceError>([] { synchronize(Device(DeviceType::cuda)); }), why);
  std::cerr << why;
  std::_Exit(good && !why.empty() ? 0 : 1);
}

TEST_F(OwnProcess, WithoutADriver) {
  setenv("MINNOW_EMULATOR_DRIVER", "0", 1);
  EXPECT_EXIT(tell_why_not(), ::testing::ExitedWithCode(0), "there is no NVIDIA driver");
}

TEST_F(OwnProcess, WithoutAGpu) {
  setenv("MINNOW_EMULATOR_DEVICES", "0", 1);
  EXPECT_EXIT(tell_why_not(), ::testing::ExitedWithCode(0), "an NVIDIA driver, but no GPU");
}

TEST_F(OwnProcess, WithNoGpuVisible) {
  setenv("MINNOW_EMULATOR_DEVICES", "0", 1);
  setenv("CUDA_VISIBLE_DEVICES", "", 1);
  EXPECT_EXIT(tell_why_not(), ::testing::ExitedWithCode(0), "CUDA_VISIBLE_DEVICES is ''");
}

TEST_F(OwnProcess, WithAGpuThatIsTooOld) {
  setenv("MINNOW_EMULATOR_CAPABILITY", "7.5", 1);
  EXPECT_EXIT(tell_why_not(), ::testing::ExitedWithCode(0),
              "cuda:0 has compute capability 7.5, and this library holds code for 8.0, 9.0 ");
}

TEST_F(OwnProcess, WithGpusThatAreNewerThanTheLibrary) {
  setenv("MINNOW_EMULATOR_DEVICES", "2", 1);
  setenv("MINNOW_EMULATOR_CAPABILITY", "10.0,12.0", 1);
  EXPECT_EXIT(
      tell_why_not(), ::testing::ExitedWithCode(0),
      "cuda:0 has compute capability 10.0, and this library holds code for 8.0, 9.0 .the GPUs here: 10.0, 12.0;");
}

TEST_F(OwnProcess, WithADriverThatIsTooOld) {
  setenv("MINNOW_EMULATOR_DRIVER", "11080", 1);
  EXPECT_EXIT(tell_why_not(), ::testing::ExitedWithCode(0),
              "the NVIDIA driver is too old: it supports CUDA 11.8, and minnow was built with CUDA 1.*newer driver");
}

TEST_F(OwnProcess, WithADriverThatDoesNotWork) {
  setenv("MINNOW_EMULATOR_BROKEN", "1", 1);
  EXPECT_EXIT(tell_why_not(), ::testing::ExitedWithCode(0),
              "the NVIDIA driver does not work: cudaErrorInitializationError: initialization error");
}

TEST_F(OwnProcess, WithAFirstGpuThatIsTooOld) {
  setenv("MINNOW_EMULATOR_DEVICES", "2", 1);
  setenv("MINNOW_EMULATOR_CAPABILITY", "7.0,9.0", 1);
  EXPECT_EXIT(tell_why_not(), ::testing::ExitedWithCode(0),
              "cuda:0 has compute capability 7.0.*CUDA_VISIBLE_DEVICES chooses");
}

TEST_F(OwnProcess, WithASecondGpuThatIsTooOldTheFirstIsUsed) {
  setenv("MINNOW_EMULATOR_DEVICES", "2", 1);
  setenv("MINNOW_EMULATOR_CAPABILITY", "9.0,7.5", 1);
  const auto run = [] {
    const std::string text = error_of<DeviceError>([] { synchronize("cuda:1"); });
    const bool good = cuda::is_available() && cuda::why_not().empty() && device_count(DeviceType::cuda) == 1 &&
                      has(text, "cuda:1 cannot be used");
    std::cerr << text;
    std::_Exit(good ? 0 : 1);
  };
  EXPECT_EXIT(run(), ::testing::ExitedWithCode(0), "this machine has 1 cuda device");
}

/// After a failure the device stays unusable, and the program ends normally.
[[noreturn]] void fail_and_go_on() {
  static Tensor survivor = raw::to_device(test::counting(100), "cuda");  // destroyed after main
  const Stream stream{Device("cuda")};
  emulator::fail_next("cudaStreamSynchronize", cudaErrorIllegalAddress);
  const std::string first = error_of<BackendError>([] { survivor.to_vector<float>(); });
  const std::string later = error_of<BackendError>([] { raw::to_device(test::counting(3), "cuda"); });
  const std::string latest = error_of<BackendError>([] { synchronize("cuda"); });
  const bool good = has(first, "to_vector") && has(first, "cudaErrorIllegalAddress") &&
                    has(first, "MINNOW_CUDA_DEBUG=1") && has(first, "(errors_test.cpp:") &&
                    has(later, "to: cuda:0 cannot be used any more") && has(later, "to_vector") &&
                    has(later, "cudaErrorIllegalAddress") && has(latest, "cudaErrorIllegalAddress");
  if (!good) std::cerr << first << "\n" << later << "\n" << latest;
  std::exit(good ? 0 : 1);
}

TEST_F(OwnProcess, AFailedDeviceKeepsQuotingTheFirstCause) {
  EXPECT_EXIT(fail_and_go_on(), ::testing::ExitedWithCode(0), "^$|device-generic");
}

/// Checks the error in the child of a fork; 0 if it is right.
int child_of_fork(const Tensor& there) {
  const std::string use = error_of<BackendError>([&] { raw::to_device(there, "cpu"); });
  const std::string more = error_of<BackendError>([&] { synchronize("cuda"); });
  const bool good = has(use, "this process was forked from one that used CUDA") && has(more, "this process was forked");
  if (!good) std::cerr << use << "\n" << more << "\n";
  return good ? 0 : 1;
}

/// Each test begins with an empty cache.
class Failure : public ::testing::Test {
 protected:
  ~Failure() override { empty_cache("cuda"); }
};

TEST_F(Failure, ForksAreRefusedToUseCuda) {
  const Tensor there = raw::to_device(test::counting(3), "cuda");
  const pid_t child = fork();
  if (child == 0) {
    int status = 1;
    {
      const Tensor mine = there;  // its destruction is harmless
      status = child_of_fork(mine);
    }
    _exit(status);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
  EXPECT_EQ(test::values(raw::to_device(there, "cpu")), (std::vector<float>{0, 1, 2}));
}

TEST_F(Failure, OfOneCallLeavesTheDeviceUsable) {
  emulator::fail_next("cudaMemcpyAsync", cudaErrorInvalidValue);
  const std::string message = error_of<BackendError>([] { raw::to_device(test::counting(3), "cuda"); });
  for (const char* part : {"to: cudaMemcpyAsync", "cudaErrorInvalidValue", "on cuda:0", "(errors_test.cpp:"})
    EXPECT_TRUE(has(message, part)) << message;
  EXPECT_EQ(test::values(raw::to_device(raw::to_device(test::counting(2), "cuda"), "cpu")), (std::vector<float>{0, 1}));
}

TEST_F(Failure, OutOfMemoryIsTypedAndTheProgramContinues) {
  const std::int64_t live = memory_stats("cuda").allocated;
  const std::string message = error_of<OutOfMemoryError>([] {
    empty({std::int64_t{1} << 40}, {DType::float32, Device("cuda")});
  });
  for (const char* part : {"out of memory on cuda:0: requested 4398046511104 bytes  (errors_test.cpp:", "reserved",
                           "peak", "free on the device"})
    EXPECT_TRUE(has(message, part)) << message;
  EXPECT_EQ(memory_stats("cuda").allocated, live);
  emulator::fail_next("cudaMalloc", cudaErrorMemoryAllocation, 1);  // once: the second attempt succeeds
  const Tensor large = empty({30'000'000}, {DType::float32, Device("cuda")});
  EXPECT_TRUE(emulator::is_device_memory(large.raw_data(), 120'000'000));
  emulator::fail_next("cudaHostAlloc", cudaErrorMemoryAllocation, 2);
  const Tensor home = raw::to_device(large, "cpu", true);  // the result is in pageable memory
  EXPECT_FALSE(home.is_pinned());
}

TEST(Startup, CpuProgramDoesNotUseTheDriver) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const auto run = [] {
    const Tensor x = full({10}, 1.0, {});
    const Tensor y = raw::to_device(x, "cpu");
    // Listing this program's tests asks only for the number of devices.
    std::size_t calls = 0;
    for (const char* name : {"cudaSetDevice", "cudaMalloc", "cudaHostAlloc", "cudaStreamCreateWithFlags",
                             "cudaEventCreateWithFlags", "cudaDeviceSynchronize"})
      calls += emulator::calls_of(name);
    std::_Exit(calls == 0 && y.is_same(x) ? 0 : 1);
  };
  EXPECT_EXIT(run(), ::testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace minnow
