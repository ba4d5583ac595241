#include <emulator/launch.h>
#include <gtest/gtest.h>
#include <string>
#include <thread>

#include "memory.h"

namespace {

class Captures : public ::testing::Test {
 protected:
  void SetUp() override {
    for (cudaStream_t* stream : {&a_, &b_})
      ASSERT_EQ(cudaStreamCreateWithFlags(stream, cudaStreamNonBlocking), cudaSuccess);
    for (cudaEvent_t* event : {&fork_, &join_})
      ASSERT_EQ(cudaEventCreateWithFlags(event, cudaEventDisableTiming), cudaSuccess);
  }
  void TearDown() override {
    emulator::recover();
    for (cudaStream_t stream : {a_, b_}) cudaStreamDestroy(stream);
    for (cudaEvent_t event : {fork_, join_}) cudaEventDestroy(event);
    if (executable_) cudaGraphExecDestroy(executable_);
    cudaGetLastError();
  }
  void tell(cudaStream_t stream, const char* letter) {
    ASSERT_EQ(emulator::submit(stream,
                               [this, letter] {
                                 story_ += letter;
                                 return std::string();
                               }),
              cudaSuccess);
  }
  void begin(cudaStreamCaptureMode mode = cudaStreamCaptureModeGlobal) {
    ASSERT_EQ(cudaStreamBeginCapture(a_, mode), cudaSuccess);
  }
  cudaError_t end() {
    cudaGraph_t graph{};
    const cudaError_t status = cudaStreamEndCapture(a_, &graph);
    EXPECT_EQ(graph != nullptr, status == cudaSuccess);
    if (status != cudaSuccess) return status;
    EXPECT_EQ(cudaGraphInstantiate(&executable_, graph, 0), cudaSuccess);
    return cudaGraphDestroy(graph);
  }
  cudaStreamCaptureStatus status(cudaStream_t stream) {
    cudaStreamCaptureStatus now{};
    EXPECT_EQ(cudaStreamIsCapturing(stream, &now), cudaSuccess);
    return now;
  }

  cudaStream_t a_{}, b_{};
  cudaEvent_t fork_{}, join_{};
  cudaGraphExec_t executable_{};
  std::string story_;
};

TEST_F(Captures, WorkIsRecordedAndReplayed) {
  begin();
  EXPECT_EQ(status(a_), cudaStreamCaptureStatusActive);
  tell(a_, "1");
  tell(a_, "2");
  ASSERT_EQ(end(), cudaSuccess);
  EXPECT_EQ(status(a_), cudaStreamCaptureStatusNone);
  cudaStreamSynchronize(a_);
  EXPECT_EQ(story_, "");
  for (int i = 0; i < 2; ++i) EXPECT_EQ(cudaGraphLaunch(executable_, b_), cudaSuccess);
  EXPECT_EQ(story_, "");
  cudaStreamSynchronize(b_);
  EXPECT_EQ(story_, "1212");
}

TEST_F(Captures, AStreamJoinsByAnEventAndComesBack) {
  begin();
  tell(a_, "1");
  EXPECT_EQ(cudaEventRecord(fork_, a_), cudaSuccess);
  EXPECT_EQ(cudaStreamWaitEvent(b_, fork_, 0), cudaSuccess);
  EXPECT_EQ(status(b_), cudaStreamCaptureStatusActive);
  tell(b_, "2");
  EXPECT_EQ(cudaEventRecord(join_, b_), cudaSuccess);
  EXPECT_EQ(cudaStreamWaitEvent(a_, join_, 0), cudaSuccess);
  tell(a_, "3");
  ASSERT_EQ(end(), cudaSuccess);
  EXPECT_EQ(status(b_), cudaStreamCaptureStatusNone);
  cudaGraphLaunch(executable_, a_);
  cudaStreamSynchronize(a_);
  EXPECT_EQ(story_, "123");
  EXPECT_EQ(cudaEventQuery(join_), cudaErrorCapturedEvent);
}

TEST_F(Captures, AStreamThatDoesNotComeBackIsAnError) {
  begin();
  tell(a_, "1");
  cudaEventRecord(fork_, a_);
  cudaStreamWaitEvent(b_, fork_, 0);
  tell(b_, "2");
  EXPECT_EQ(end(), cudaErrorStreamCaptureUnjoined);
}

TEST_F(Captures, WaitingForTheDeviceSpoilsIt) {
  void* data = nullptr;
  const auto spoiled_by = [&](cudaError_t status) {
    EXPECT_EQ(status, cudaErrorStreamCaptureUnsupported);
    EXPECT_EQ(this->status(a_), cudaStreamCaptureStatusInvalidated);
    EXPECT_EQ(end(), cudaErrorStreamCaptureInvalidated);
    EXPECT_EQ(this->status(a_), cudaStreamCaptureStatusNone);
  };
  begin();
  spoiled_by(cudaStreamSynchronize(a_));
  begin();
  spoiled_by(cudaDeviceSynchronize());
  begin();
  spoiled_by(cudaStreamQuery(a_));
  begin();
  spoiled_by(cudaMalloc(&data, 1));
  begin();
  int host = 0;
  spoiled_by(cudaMemcpy(&host, &host, 0, cudaMemcpyHostToHost));
  tell(a_, "1");
  EXPECT_EQ(cudaStreamSynchronize(a_), cudaSuccess) << "the stream can be used again";
  EXPECT_EQ(story_, "1");
}

TEST_F(Captures, AnotherThreadSpoilsAGlobalOne) {
  const auto elsewhere = [this](cudaStreamCaptureMode mode) {
    cudaError_t status = cudaSuccess;
    std::thread([&] {
      cudaThreadExchangeStreamCaptureMode(&mode);
      status = cudaEventQuery(fork_);
    }).join();
    return status;
  };
  begin();
  EXPECT_EQ(elsewhere(cudaStreamCaptureModeRelaxed), cudaSuccess);
  EXPECT_EQ(elsewhere(cudaStreamCaptureModeGlobal), cudaErrorStreamCaptureUnsupported);
  EXPECT_EQ(end(), cudaErrorStreamCaptureInvalidated);
  begin(cudaStreamCaptureModeThreadLocal);
  EXPECT_EQ(elsewhere(cudaStreamCaptureModeGlobal), cudaSuccess);
  EXPECT_EQ(cudaEventQuery(fork_), cudaErrorStreamCaptureUnsupported) << "the thread's own capture";
  EXPECT_EQ(end(), cudaErrorStreamCaptureInvalidated);
  begin(cudaStreamCaptureModeRelaxed);
  EXPECT_EQ(cudaEventQuery(fork_), cudaSuccess);
  EXPECT_EQ(end(), cudaSuccess);
}

TEST_F(Captures, AWaitForTheDeviceSpoilsThoseOfAllModesAndThreads) {
  for (const auto mode :
       {cudaStreamCaptureModeGlobal, cudaStreamCaptureModeThreadLocal, cudaStreamCaptureModeRelaxed}) {
    begin(mode);
    std::thread([] {
      cudaStreamCaptureMode relaxed = cudaStreamCaptureModeRelaxed;
      cudaThreadExchangeStreamCaptureMode(&relaxed);
      EXPECT_EQ(cudaDeviceSynchronize(), cudaErrorStreamCaptureUnsupported);
    }).join();
    EXPECT_EQ(end(), cudaErrorStreamCaptureInvalidated);
  }
}

TEST_F(Captures, OutsideWorkIsIsolated) {
  cudaEventRecord(fork_, b_);
  begin();
  EXPECT_EQ(cudaStreamWaitEvent(a_, fork_, 0), cudaErrorStreamCaptureIsolation);
  EXPECT_EQ(end(), cudaErrorStreamCaptureInvalidated);
}

TEST_F(Captures, ABlockingStreamMakesTheLegacyStreamAnError) {
  cudaStream_t blocking{};
  cudaStreamCreate(&blocking);
  ASSERT_EQ(cudaStreamBeginCapture(blocking, cudaStreamCaptureModeRelaxed), cudaSuccess);
  EXPECT_EQ(emulator::submit(nullptr, [] { return std::string(); }), cudaErrorStreamCaptureImplicit);
  cudaGraph_t graph{};
  EXPECT_EQ(cudaStreamEndCapture(blocking, &graph), cudaErrorStreamCaptureInvalidated);
  cudaStreamDestroy(blocking);
}

TEST_F(Captures, PageableMemoryCannotBeCaptured) {
  const emulator::test::Buffer<int> device(1);
  int host = 0;
  begin();
  EXPECT_EQ(cudaMemcpyAsync(device.data(), &host, sizeof host, cudaMemcpyHostToDevice, a_),
            cudaErrorStreamCaptureUnsupported);
  EXPECT_EQ(end(), cudaErrorStreamCaptureInvalidated);
}

TEST_F(Captures, GraphsAndHandlesAreChecked) {
  begin();
  EXPECT_EQ(cudaStreamBeginCapture(a_, cudaStreamCaptureModeGlobal), cudaErrorIllegalState);
  ASSERT_EQ(end(), cudaSuccess);
  cudaGraph_t graph{};
  EXPECT_EQ(cudaStreamEndCapture(a_, &graph), cudaErrorIllegalState);
  EXPECT_EQ(cudaGraphExecDestroy(executable_), cudaSuccess);
  EXPECT_EQ(cudaGraphLaunch(executable_, a_), cudaErrorInvalidValue);
  executable_ = nullptr;
}

}  // namespace
