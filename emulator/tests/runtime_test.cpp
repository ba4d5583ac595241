#include <cstring>
#include <emulator/launch.h>
#include <gtest/gtest.h>
#include <string>
#include <vector>
#include <minnow/tensor/cuda/runtime/launch_syntax.h>

#include "memory.h"

namespace {

using emulator::test::Buffer;
using emulator::test::counting;

class Streams : public ::testing::Test {
 protected:
  void SetUp() override {
    for (cudaStream_t* stream : {&a_, &b_})
      ASSERT_EQ(cudaStreamCreateWithFlags(stream, cudaStreamNonBlocking), cudaSuccess);
    ASSERT_EQ(cudaEventCreateWithFlags(&event_, cudaEventDefault), cudaSuccess);
  }
  void TearDown() override {
    emulator::recover();
    cudaDeviceSynchronize();
    for (cudaStream_t stream : {a_, b_}) cudaStreamDestroy(stream);
    cudaEventDestroy(event_);
    EXPECT_EQ(cudaGetLastError(), cudaSuccess);
  }
  /// Work that adds a letter to the story.
  void tell(cudaStream_t stream, const char* letter) {
    ASSERT_EQ(emulator::submit(stream,
                               [this, letter] {
                                 story_ += letter;
                                 return std::string();
                               }),
              cudaSuccess);
  }

  cudaStream_t a_{}, b_{};
  cudaEvent_t event_{};
  std::string story_;
};

TEST_F(Streams, WorkWaitsUntilSomethingWaitsForIt) {
  tell(a_, "1");
  tell(b_, "2");
  EXPECT_EQ(story_, "");
  EXPECT_EQ(emulator::waiting_work(), 2u);
  EXPECT_EQ(cudaStreamSynchronize(b_), cudaSuccess);
  EXPECT_EQ(story_, "2");
  EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  EXPECT_EQ(story_, "21");
}

TEST_F(Streams, AStreamGoesOnAfterAnEventOfAnother) {
  tell(a_, "1");
  cudaEventRecord(event_, a_);
  tell(a_, "2");
  EXPECT_EQ(cudaStreamWaitEvent(b_, event_, 0), cudaSuccess);
  tell(b_, "3");
  EXPECT_EQ(cudaStreamSynchronize(b_), cudaSuccess);
  EXPECT_EQ(story_, "13") << "up to the event, and no further";
}

TEST_F(Streams, AnEventIsReadyWhenItsWorkIsDone) {
  EXPECT_EQ(cudaEventQuery(event_), cudaSuccess) << "never recorded";
  tell(a_, "1");
  cudaEventRecord(event_, a_);
  tell(a_, "2");
  EXPECT_EQ(cudaEventQuery(event_), cudaErrorNotReady);
  EXPECT_EQ(cudaGetLastError(), cudaErrorNotReady) << "as in CUDA, it is a last error";
  EXPECT_EQ(cudaEventSynchronize(event_), cudaSuccess);
  EXPECT_EQ(cudaEventQuery(event_), cudaSuccess);
  EXPECT_EQ(story_, "1");
}

TEST_F(Streams, WhoAsksAgainAndAgainSeesTheWorkDone) {
  tell(a_, "1");
  tell(a_, "2");
  int asked = 0;
  while (cudaStreamQuery(a_) == cudaErrorNotReady) ++asked;
  EXPECT_EQ(asked, 2);
  EXPECT_EQ(story_, "12");
  cudaGetLastError();
}

TEST_F(Streams, TheLegacyStreamTakesTurnsWithBlockingOnes) {
  cudaStream_t blocking{};
  ASSERT_EQ(cudaStreamCreate(&blocking), cudaSuccess);
  tell(blocking, "1");
  tell(a_, "x");
  tell(nullptr, "2");
  tell(blocking, "3");
  EXPECT_EQ(cudaStreamSynchronize(blocking), cudaSuccess);
  EXPECT_EQ(story_, "123");
  EXPECT_EQ(cudaStreamDestroy(blocking), cudaSuccess);
}

TEST_F(Streams, ALongQueueBeginsItsWork) {
  for (int i = 0; i < 2000; ++i) tell(a_, ".");
  EXPECT_GT(story_.size(), 500u);
  EXPECT_LT(story_.size(), 2000u);
}

TEST_F(Streams, ADestroyedStreamFinishes) {
  cudaStream_t stream{};
  ASSERT_EQ(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), cudaSuccess);
  tell(stream, "1");
  EXPECT_EQ(cudaStreamDestroy(stream), cudaSuccess);
  EXPECT_EQ(cudaStreamSynchronize(stream), cudaErrorInvalidResourceHandle);
  cudaGetLastError();
  EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  EXPECT_EQ(story_, "1");
}

TEST_F(Streams, TimePassesBetweenEvents) {
  cudaEvent_t end{};
  ASSERT_EQ(cudaEventCreate(&end), cudaSuccess);
  cudaEventRecord(event_, a_);
  tell(a_, "1");
  cudaEventRecord(end, a_);
  float milliseconds = -1;
  EXPECT_EQ(cudaEventElapsedTime(&milliseconds, event_, end), cudaErrorNotReady);
  cudaGetLastError();
  cudaEventSynchronize(end);
  EXPECT_EQ(cudaEventElapsedTime(&milliseconds, event_, end), cudaSuccess);
  EXPECT_GE(milliseconds, 0);
  cudaEventDestroy(end);
}

TEST_F(Streams, FailedWorkLeavesTheDeviceUnusable) {
  emulator::submit(a_, [] { return std::string("broken"); });
  tell(a_, "after");
  EXPECT_EQ(cudaStreamSynchronize(a_), cudaErrorLaunchFailure);
  void* data = nullptr;
  EXPECT_EQ(cudaMalloc(&data, 1), cudaErrorLaunchFailure);
  EXPECT_EQ(cudaGetLastError(), cudaErrorLaunchFailure);
  EXPECT_EQ(cudaGetLastError(), cudaErrorLaunchFailure) << "it does not go away";
  EXPECT_EQ(emulator::last_fault(), "broken");
  EXPECT_EQ(story_, "");
}

TEST_F(Streams, ACallFailsWhenToldTo) {
  emulator::fail_next("cudaMalloc", cudaErrorMemoryAllocation, 2);
  void* data = nullptr;
  const std::size_t before = emulator::calls_of("cudaMalloc");
  EXPECT_EQ(cudaMalloc(&data, 1), cudaErrorMemoryAllocation);
  EXPECT_EQ(cudaMalloc(&data, 1), cudaErrorMemoryAllocation);
  EXPECT_EQ(cudaMalloc(&data, 1), cudaSuccess);
  EXPECT_EQ(emulator::calls_of("cudaMalloc"), before + 3);
  cudaFree(data);
  cudaGetLastError();
}

// Memory.

TEST_F(Streams, NewMemoryHoldsNothingOfUse) {
  float* data = nullptr;
  ASSERT_EQ(cudaMalloc(reinterpret_cast<void**>(&data), sizeof(float)), cudaSuccess);
  float value = 0;
  cudaMemcpy(&value, data, sizeof value, cudaMemcpyDeviceToHost);
  EXPECT_NE(value, value);
  cudaFree(data);
}

TEST_F(Streams, MemoryEnds) {
  std::size_t free = 0, total = 0;
  void *first = nullptr, *second = nullptr;
  emulator::set_device_memory(1 << 20);
  EXPECT_EQ(cudaMalloc(&first, 700 << 10), cudaSuccess);
  EXPECT_EQ(cudaMalloc(&second, 700 << 10), cudaErrorMemoryAllocation);
  EXPECT_EQ(cudaGetLastError(), cudaErrorMemoryAllocation);
  EXPECT_EQ(cudaGetLastError(), cudaSuccess) << "the device can still be used";
  EXPECT_EQ(cudaMemGetInfo(&free, &total), cudaSuccess);
  EXPECT_EQ(total, 1u << 20);
  EXPECT_EQ(free, (1u << 20) - (700u << 10));
  EXPECT_EQ(cudaFree(first), cudaSuccess);
  EXPECT_EQ(cudaMalloc(&second, 700 << 10), cudaSuccess);
  EXPECT_EQ(cudaFree(second), cudaSuccess);
  EXPECT_EQ(cudaFree(second), cudaErrorInvalidValue) << "twice";
  cudaGetLastError();
  emulator::set_device_memory(std::size_t{4} << 30);
}

TEST_F(Streams, APinnedBlockIsReadWhenTheCopyRuns) {
  const Buffer<int> device(1);
  int* pinned = nullptr;
  ASSERT_EQ(cudaHostAlloc(reinterpret_cast<void**>(&pinned), sizeof(int), cudaHostAllocDefault), cudaSuccess);
  *pinned = 1;
  cudaMemcpyAsync(device.data(), pinned, sizeof(int), cudaMemcpyHostToDevice, a_);
  *pinned = 2;  // too early
  cudaStreamSynchronize(a_);
  EXPECT_EQ(device.read(), std::vector<int>{2});
  int pageable = 3;
  cudaMemcpyAsync(device.data(), &pageable, sizeof(int), cudaMemcpyHostToDevice, a_);
  pageable = 4;  // allowed: it was read
  cudaStreamSynchronize(a_);
  EXPECT_EQ(device.read(), std::vector<int>{3});
  cudaMemcpyAsync(pinned, device.data(), sizeof(int), cudaMemcpyDeviceToHost, a_);
  EXPECT_EQ(*pinned, 2) << "not there yet";
  cudaMemcpyAsync(&pageable, device.data(), sizeof(int), cudaMemcpyDeviceToHost, a_);
  EXPECT_EQ(pageable, 3) << "pageable memory is written before the call returns";
  EXPECT_EQ(cudaFreeHost(pinned), cudaSuccess);
}

TEST_F(Streams, CopiesKeepToTheirBlocksAndKinds) {
  const Buffer<int> device(counting<int>(8));
  std::vector<int> host(200);
  EXPECT_EQ(cudaMemcpy(host.data(), device.data(), 600, cudaMemcpyDeviceToHost), cudaErrorInvalidValue);
  EXPECT_EQ(cudaMemcpy(host.data(), device.data(), 8, cudaMemcpyHostToDevice), cudaErrorInvalidValue);
  EXPECT_EQ(cudaMemcpy(host.data(), host.data() + 2, 8, cudaMemcpyDeviceToHost), cudaErrorInvalidValue);
  cudaGetLastError();
  EXPECT_EQ(cudaMemsetAsync(device.data() + 1, 0, 8, a_), cudaSuccess);
  cudaStreamSynchronize(a_);
  EXPECT_EQ(device.read(), (std::vector<int>{0, 0, 0, 3, 4, 5, 6, 7}));
}

using StreamsDeathTest = Streams;
TEST_F(StreamsDeathTest, HostCodeCannotReadDeviceMemory) {
  const Buffer<int> device(counting<int>(8));
  volatile int* data = device.data();
  EXPECT_EXIT(static_cast<void>(data[1]), ::testing::KilledBySignal(SIGSEGV), "");
}

}  // namespace
