#include <cstddef>
#include <cstring>
#include <cuda_runtime_api.h>
#include <dlfcn.h>
#include <emulator/launch.h>
#include <gtest/gtest.h>

#include "memory.h"

// One rank; those of several processes are in tests/distributed/emulated.
namespace {

struct UniqueId {
  char internal[128];
};
using Comm = void*;

template <class F> F* function(const char* name) {
  static void* const library = dlopen("libnccl.so.2", RTLD_NOW | RTLD_LOCAL);
  EXPECT_NE(library, nullptr) << dlerror();
  return reinterpret_cast<F*>(dlsym(library, name));
}
constexpr int kSuccess = 0, kInvalidArgument = 4, kInvalidUsage = 5, kFloat = 7, kSum = 0, kAvg = 4;

int init(Comm* comm, int ranks, int rank) {
  UniqueId id{};
  EXPECT_EQ(function<int(UniqueId*)>("ncclGetUniqueId")(&id), kSuccess);
  return function<int(Comm*, int, UniqueId, int)>("ncclCommInitRank")(comm, ranks, id, rank);
}
int destroy(Comm comm) { return function<int(Comm)>("ncclCommDestroy")(comm); }
int all_reduce(const void* from, void* to, std::size_t n, int dtype, int op, Comm comm, cudaStream_t stream) {
  return function<int(const void*, void*, std::size_t, int, int, Comm, cudaStream_t)>("ncclAllReduce")(
      from, to, n, dtype, op, comm, stream);
}

class Nccl : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(init(&comm, 1, 0), kSuccess);
    ASSERT_EQ(cudaMalloc(reinterpret_cast<void**>(&memory), 64), cudaSuccess);
    ASSERT_EQ(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), cudaSuccess);
  }
  void TearDown() override {
    if (comm != nullptr) { EXPECT_EQ(destroy(comm), kSuccess); }
    cudaFree(memory);
    cudaStreamDestroy(stream);
  }
  Comm comm = nullptr;
  float* memory = nullptr;
  cudaStream_t stream = nullptr;
};

TEST_F(Nccl, WorksInTheOrderOfTheStream) {
  const float before[4] = {1, 2, 3, 4};
  float after[4] = {};
  cudaMemcpyAsync(memory, before, sizeof before, cudaMemcpyHostToDevice, stream);
  EXPECT_EQ(all_reduce(memory, memory + 4, 4, kFloat, kAvg, comm, stream), kSuccess);
  EXPECT_GT(emulator::waiting_work(), 0u);
  cudaMemcpyAsync(after, memory + 4, sizeof after, cudaMemcpyDeviceToHost, stream);
  EXPECT_EQ(cudaStreamSynchronize(stream), cudaSuccess);
  EXPECT_EQ(std::memcmp(before, after, sizeof before), 0);
}

TEST_F(Nccl, RefusesWhatIsWrong) {
  float host[4] = {};
  EXPECT_EQ(all_reduce(host, memory, 4, kFloat, kSum, comm, stream), kInvalidArgument);
  EXPECT_EQ(all_reduce(memory, host, 4, kFloat, kSum, comm, stream), kInvalidArgument);
  EXPECT_EQ(all_reduce(memory, memory, 1 << 20, kFloat, kSum, comm, stream), kInvalidArgument);
  EXPECT_EQ(all_reduce(memory, memory, 4, 12, kSum, comm, stream), kInvalidArgument);
  EXPECT_EQ(all_reduce(memory, memory, 4, kFloat, 5, comm, stream), kInvalidArgument);
  EXPECT_EQ(all_reduce(memory, memory, 4, kFloat, kSum, host, stream), kInvalidArgument);
  EXPECT_EQ(all_reduce(nullptr, nullptr, 0, kFloat, kSum, comm, stream), kSuccess);
  const auto send = function<int(const void*, std::size_t, int, int, Comm, cudaStream_t)>("ncclSend");
  EXPECT_EQ(send(memory, 4, kFloat, 0, comm, stream), kInvalidUsage);  // to itself
  EXPECT_EQ(send(memory, 4, kFloat, 1, comm, stream), kInvalidArgument);
  Comm other = nullptr;
  EXPECT_EQ(init(&other, 2, 2), kInvalidArgument);
  EXPECT_EQ(init(&other, 0, 0), kInvalidArgument);
  const char* text = function<const char*(Comm)>("ncclGetLastError")(nullptr);
  EXPECT_NE(std::strstr(text, "there is no rank 0 of 0"), nullptr) << text;
}

TEST_F(Nccl, IsOverAfterItsEnd) {
  EXPECT_EQ(destroy(comm), kSuccess);
  EXPECT_EQ(all_reduce(memory, memory, 4, kFloat, kSum, comm, stream), kInvalidArgument);
  EXPECT_EQ(destroy(comm), kInvalidArgument);
  ASSERT_EQ(init(&comm, 1, 0), kSuccess);
  EXPECT_EQ(function<int(Comm)>("ncclCommAbort")(comm), kSuccess);
  EXPECT_EQ(all_reduce(memory, memory, 4, kFloat, kSum, comm, stream), kInvalidArgument);
  comm = nullptr;
}

TEST_F(Nccl, IsCaptured) {
  cudaStream_t other = nullptr;
  cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking);
  ASSERT_EQ(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal), cudaSuccess);
  EXPECT_EQ(all_reduce(memory, memory + 4, 4, kFloat, kSum, comm, stream), kSuccess);
  EXPECT_EQ(all_reduce(memory, memory + 4, 4, kFloat, kSum, comm, other), kInvalidUsage);
  cudaGraph_t graph = nullptr;
  ASSERT_EQ(cudaStreamEndCapture(stream, &graph), cudaSuccess);
  cudaGraphExec_t exec = nullptr;
  ASSERT_EQ(cudaGraphInstantiate(&exec, graph, 0), cudaSuccess);
  for (const float number : {3.0f, 5.0f}) {
    const float before[4] = {number, number, number, number};
    float after[4] = {};
    cudaMemcpyAsync(memory, before, sizeof before, cudaMemcpyHostToDevice, stream);
    EXPECT_EQ(cudaGraphLaunch(exec, stream), cudaSuccess);
    cudaMemcpyAsync(after, memory + 4, sizeof after, cudaMemcpyDeviceToHost, stream);
    EXPECT_EQ(cudaStreamSynchronize(stream), cudaSuccess);
    EXPECT_EQ(after[3], number);
  }
  cudaGraphExecDestroy(exec);
  cudaGraphDestroy(graph);
  cudaStreamDestroy(other);
}

}  // namespace
