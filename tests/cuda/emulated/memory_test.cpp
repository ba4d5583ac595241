#include <cstdlib>
#include <emulator/launch.h>
#include <gtest/gtest.h>
#include <iostream>
#include <thread>
#include <minnow/minnow.h>
#include <minnow/tensor/backend/devices.h>
#include <minnow/tensor/backend/dispatch.h>
#include <minnow/tensor/create.h>
#include <minnow/tensor/cuda/runtime/context.h>
#include <minnow/tensor/error.h>
#include <minnow/tensor/profile/transfer_report.h>
#include <minnow/tensor/raw/transfer.h>
#include <minnow/tensor/runtime/memory.h>
#include <minnow/tensor/runtime/stream.h>

#include "support/host_tensor.h"
#include "support/thrown.h"

/// Memory, streams and copies of the CUDA backend.  The emulated device does its work only when something waits for it,
/// so that reusing memory too early always shows.
namespace minnow {
namespace {

using test::counting;
using test::error_of;
using test::has;
using test::values;

constexpr std::int64_t kMany = 1000;

Tensor there(const Tensor& x) { return raw::to_device(x, "cuda", true); }
Tensor pinned(double value) { return raw::pin_memory(full({kMany}, value, {DType::float32})); }

/// Each test begins with an empty cache.
class Tidy : public ::testing::Test {
 protected:
  ~Tidy() override { empty_cache("cuda"); }
};
using CudaMemory = Tidy;
using CudaTransfer = Tidy;
using CudaStream = Tidy;
using CudaCapture = Tidy;

TEST_F(CudaMemory, OfAnotherStreamIsNotReusedBeforeItsReaderIsDone) {
  const Stream side{Device("cuda")};
  const Tensor first = raw::pin_memory(counting(kMany)), second = pinned(-1);
  Tensor x, z;
  {
    const StreamGuard guard(side);
    x = there(first);
  }
  current_stream("cuda").wait(side.record());
  const Tensor host = raw::to_device(x, "cpu", true);  // reads x, later
  const void* block = x.raw_data();
  x = Tensor();
  {
    const StreamGuard guard(side);
    z = there(second);
    EXPECT_NE(z.raw_data(), block);
    side.synchronize();
  }
  EXPECT_EQ(values(host), values(first));
}

TEST_F(CudaMemory, OfTheSameStreamIsReusedAtOnce) {
  const Tensor first = raw::pin_memory(counting(kMany)), second = pinned(-1);
  Tensor x = there(first);
  const void* block = x.raw_data();
  const Tensor host = raw::to_device(x, "cpu", true);
  std::thread([&] { x = Tensor(); }).join();  // from any thread
  const Tensor z = there(second);
  EXPECT_EQ(z.raw_data(), block);
  EXPECT_EQ(values(host), values(first));
  EXPECT_EQ(values(raw::to_device(z, "cpu")), values(second));
}

TEST_F(CudaMemory, PinnedSourcesAreHeldUntilTheCopyIsDone) {
  Tensor source = raw::pin_memory(counting(kMany));
  const void* block = source.raw_data();
  const Tensor x = there(source);
  source = Tensor();
  const Tensor other = pinned(-1);  // the host writes it at once
  EXPECT_NE(other.raw_data(), block);
  EXPECT_EQ(values(raw::to_device(x, "cpu")), values(counting(kMany)));
}

TEST_F(CudaMemory, SteadyStateDoesNotCallTheDriver) {
  const auto step = [] {
    const Tensor x = there(raw::pin_memory(counting(kMany)));
    const Tensor y = raw::to_device(counting(10), "cuda");
    const float sum = values(raw::to_device(x, "cpu", true))[5] + values(raw::to_device(y, "cpu"))[1];
    transfer_report();  // it keeps the events of copies until it is read, or until there are many
    return sum;
  };
  for (int i = 0; i < 3; ++i) step();
  const auto asked = [] {
    std::size_t calls = 0;
    for (const char* name : {"cudaMalloc", "cudaHostAlloc", "cudaFree", "cudaFreeHost", "cudaEventCreateWithFlags",
                             "cudaStreamCreateWithFlags", "cudaSetDevice"})
      calls += emulator::calls_of(name);
    return calls;
  };
  const std::size_t before = asked();
  for (int i = 0; i < 5; ++i) EXPECT_EQ(step(), 6);
  EXPECT_EQ(asked(), before);
  for (int i = 0; i < 5; ++i) Stream{Device("cuda")}.record().synchronize();
  EXPECT_LE(asked(), before + 2);  // streams are reused
}

TEST_F(CudaTransfer, OfPageableMemoryDoesNotWait) {
  synchronize("cuda");
  for (const std::int64_t count : {kMany, std::int64_t{1'000'003}}) {
    Tensor source = counting(count);
    const Tensor x = raw::to_device(source, "cuda");
    EXPECT_GT(emulator::waiting_work(), 0u);
    const float last = source.data<float>()[count - 1];
    source.data<float>()[0] = source.data<float>()[count - 1] = -1;  // after the copy read it
    const std::vector<float> there = values(raw::to_device(x, "cpu"));
    EXPECT_EQ(there.front(), 0);
    EXPECT_EQ(there.back(), last);
    EXPECT_EQ(there[static_cast<std::size_t>(count / 2)], static_cast<float>(count / 2));
  }
}

TEST_F(CudaTransfer, OfMuchPageableMemoryTakesLittlePinnedMemory) {
  pinned(0);
  cuda_backend()->pinned_allocator()->empty_cache();
  const std::int64_t before = pinned_memory_stats().reserved;
  const Tensor source = counting(std::int64_t{15} << 20);  // exact in float32
  const std::size_t waits = emulator::calls_of("cudaEventSynchronize");
  const Tensor x = raw::to_device(source, "cuda");
  EXPECT_EQ(emulator::calls_of("cudaEventSynchronize"), waits + 60 - 32) << "for the first of the blocks under way";
  EXPECT_LE(pinned_memory_stats().reserved - before, std::int64_t{34} << 20);
  EXPECT_EQ(values(raw::to_device(x, "cpu")), values(source));
  emulator::fail_next("cudaHostAlloc", cudaErrorMemoryAllocation, 2);
  cuda_backend()->pinned_allocator()->empty_cache();
  EXPECT_EQ(values(raw::to_device(raw::to_device(source, "cuda"), "cpu")), values(source));
}

TEST_F(CudaStream, EventsTellTheTimeBetweenThem) {
  const Stream side{Device("cuda")};
  const Event start = side.record();
  const Tensor x = there(raw::pin_memory(counting(kMany)));
  side.wait(current_stream("cuda").record());
  const Event end = side.record();
  EXPECT_FALSE(end.is_ready());
  const double seconds = end.seconds_since(start);
  EXPECT_GE(seconds, 0);
  EXPECT_LT(seconds, 60);
  EXPECT_NEAR(start.seconds_since(end), -seconds, 1e-6);
  EXPECT_TRUE(end.is_ready());
}

TEST_F(CudaCapture, RefusesCallsThatWaitForTheDevice) {
  const Tensor x = there(raw::pin_memory(counting(kMany)));
  const Tensor one = there(raw::pin_memory(counting(1)));
  const Event event = current_stream("cuda").record();
  cuda::MemoryPool pool(cuda::context(0).memory);
  const cuda::PoolGuard guard(pool);
  const std::size_t calls = emulator::calls_of("cudaStreamSynchronize") + emulator::calls_of("cudaEventSynchronize") +
                            emulator::calls_of("cudaMemcpyAsync") + emulator::calls_of("cudaDeviceSynchronize");
  const std::string item = error_of<BackendError>([&] { one.item(); });
  for (const char* part : {"item: cannot be captured", "(memory_test.cpp:", "move it out of the captured step"})
    EXPECT_TRUE(has(item, part)) << item;
  EXPECT_TRUE(has(error_of<BackendError>([&] { x.to_vector<float>(); }), "to_vector: cannot be captured"));
  EXPECT_TRUE(has(error_of<BackendError>([&] { there(counting(3)); }), "to: cannot be captured"));
  EXPECT_TRUE(has(error_of<BackendError>([&] { synchronize("cuda"); }), "synchronize: cannot be captured"));
  EXPECT_TRUE(has(error_of<BackendError>([&] { event.synchronize(); }), "cannot be captured"));
  EXPECT_TRUE(has(error_of<BackendError>([&] { current_stream("cuda").synchronize(); }), "cannot be captured"));
  EXPECT_EQ(emulator::calls_of("cudaStreamSynchronize") + emulator::calls_of("cudaEventSynchronize") +
                emulator::calls_of("cudaMemcpyAsync") + emulator::calls_of("cudaDeviceSynchronize"),
            calls);
}

/// Captures y = x + 1 with a large y, after as much memory went into the cache.
void capture_large() {
  constexpr std::int64_t kCount = std::int64_t{16} << 20;
  there(raw::pin_memory(full({kCount}, 5, {DType::float32})));
  const Tensor x = there(full({1}, 2, {DType::float32}));
  CapturedStep step(
      [&] {
        return x + zeros({kCount}, {DType::float32, Device("cuda")});
      },
      {.device = Device("cuda"), .warm_up = 0});
  EXPECT_EQ(step()(-1).item(), 2);
  EXPECT_EQ(step.captures(), 1);
}

TEST_F(CudaCapture, KeepsTheCache) {
  const std::size_t frees = emulator::calls_of("cudaFree");
  capture_large();
  EXPECT_EQ(emulator::calls_of("cudaFree"), frees);
}

TEST_F(CudaCapture, GivesTheCacheBackWhereMemoryIsShort) {
  const std::size_t frees = emulator::calls_of("cudaFree");
  emulator::set_device_memory(std::size_t{160} << 20);
  capture_large();
  emulator::set_device_memory(std::size_t{4} << 30);
  EXPECT_GT(emulator::calls_of("cudaFree"), frees);
}

class CudaDebug : public Tidy {
 protected:
  CudaDebug() { cuda::set_debug(true); }
  ~CudaDebug() override { cuda::set_debug(false); }
};

TEST_F(CudaDebug, FindsWritesOutOfBounds) {
  EXPECT_TRUE(cuda::debug());
  Tensor x = empty({10}, {DType::float32, Device("cuda")});
  EXPECT_NE(values(raw::to_device(x, "cpu"))[3], values(raw::to_device(x, "cpu"))[3]);  // NaN until it is written
  const auto stream = static_cast<cudaStream_t>(cuda::context(0).current());
  ASSERT_EQ(cudaMemsetAsync(static_cast<char*>(x.raw_data()) + 40, 0, 1, stream), cudaSuccess);
  const std::string used = error_of<BackendError>([&] { raw::to_device(x, "cpu"); });
  for (const char* part : {"to: it or an operation before it wrote out of bounds", "a block of 40 bytes on cuda:0",
                           "at byte 40", "(memory_test.cpp:"})
    EXPECT_TRUE(has(used, part)) << used;
  x = Tensor();
  EXPECT_TRUE(has(error_of<BackendError>([] { synchronize("cuda"); }), "at byte 40"));
  synchronize("cuda");
}

/// With two devices, in its own process.
[[noreturn]] void use_two_devices() {
  const Tensor source = raw::pin_memory(counting(kMany));
  const Tensor x = raw::to_device(source, "cuda:0", true);
  const Tensor y = raw::to_device(x, "cuda:1", true);
  const Tensor z = raw::to_device(y, "cuda:0");
  bool good = y.device() == Device(DeviceType::cuda, 1) && values(raw::to_device(z, "cpu")) == values(source);
  {
    const DeviceGuard guard("cuda:1");
    good = good && x.cuda().device() == Device(DeviceType::cuda, 1) && best_device() == Device(DeviceType::cuda, 1) &&
           raw::to_device(source, "cuda").device() == Device("cuda:1");
  }
  const Stream side(Device("cuda:1"));
  side.wait(current_stream("cuda:0").record());
  side.record().synchronize();
  synchronize("cuda:0");
  synchronize("cuda:1");
  std::_Exit(good && memory_stats("cuda:1").allocated > 0 ? 0 : 1);
}

TEST(CudaDevices, CopyToEachOther) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  setenv("MINNOW_EMULATOR_DEVICES", "2", 1);
  EXPECT_EXIT(use_two_devices(), ::testing::ExitedWithCode(0), "");
  unsetenv("MINNOW_EMULATOR_DEVICES");
}

}  // namespace
}  // namespace minnow
