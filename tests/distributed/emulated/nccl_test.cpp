#include <chrono>
#include <cstdlib>
#include <cstring>
#include <cuda_runtime_api.h>
#include <dlfcn.h>
#include <emulator/launch.h>
#include <gtest/gtest.h>
#include <thread>
#include <minnow/distributed/collectives.h>
#include <minnow/distributed/data_parallel.h>
#include <minnow/distributed/process.h>
#include <minnow/distributed/sharded.h>
#include <minnow/minnow.h>
#include "support/thrown.h"

namespace minnow {
namespace {

using dist::ReduceOp;
using test::error_of;
using test::expect_contains;

const Device kGpu(DeviceType::cuda, 0);

Tensor ranks_sum(const Shape& shape) { return full(shape, dist::size() * (dist::size() + 1) / 2, {.dtype = float32}); }

TEST(NcclOnCuda, IsWhatCollectivesCall) {
  const Tensor x = full({5, 3}, dist::rank() + 1, {float32, kGpu}), whole = full({6, 4}, 1, {float32, kGpu});
  dist::all_reduce(ones({1}, {float32, kGpu}));  // starts it
  const auto calls = [] {
    return std::vector<std::size_t>{emulator::calls_of("ncclAllReduce"), emulator::calls_of("ncclBroadcast"),
                                    emulator::calls_of("ncclAllGather"), emulator::calls_of("ncclReduceScatter")};
  };
  const std::vector<std::size_t> before = calls();
  dist::all_reduce(x);
  dist::all_reduce(whole.t().narrow(0, 1, 2));
  dist::broadcast(whole);
  dist::all_gather(whole);
  dist::reduce_scatter(full({dist::size(), 2}, 1, {float32, kGpu}));
  dist::all_reduce(full({2}, 1, {int16, kGpu}));  // NCCL has no such type
  const std::vector<std::size_t> after = calls();
  for (std::size_t i = 0; i < after.size(); ++i) EXPECT_EQ(after[i] - before[i], i == 0 ? 2u : 1u) << i;
  EXPECT_TRUE(equal(x.cpu(), ranks_sum({5, 3})));
}

TEST(NcclOnCuda, SendAndRecvGoByNccl) {
  dist::all_reduce(ones({2}, {float32, kGpu}));  // starts it
  if (dist::size() == 1 || dist::rank() > 1) return;
  const int other = 1 - dist::rank();
  const auto calls = [] { return emulator::calls_of("ncclSend") + emulator::calls_of("ncclRecv"); };
  const std::size_t before = calls();
  const Tensor whole = full({300, 200}, dist::rank() + 1, {float32, kGpu}), part = whole.t().narrow(0, 1, 150);
  for (int sender = 0; sender < 2; ++sender) {
    if (dist::rank() == sender) {
      dist::send(part * 3, other);
      dist::send(full({}, 7, {int16, kGpu}), other);
      dist::send(empty({0, 3}, {float32, kGpu}), other);
    } else {
      const Tensor y = zeros({150, 300}, {float32, kGpu}), strided = zeros({300, 150}, {float32, kGpu}).t();
      const Tensor number = zeros({}, {int16, kGpu});
      dist::recv(sender == 0 ? strided : y, other);
      EXPECT_TRUE(equal((sender == 0 ? strided : y).cpu(), full({150, 300}, 3 * (other + 1), {.dtype = float32})));
      dist::recv(number, other);
      EXPECT_EQ(number.item<std::int16_t>(), 7);
      dist::recv(empty({0, 3}, {float32, kGpu}), other);
    }
  }
  EXPECT_EQ(calls() - before, 4u);  // nothing is sent of the empty ones
}

TEST(NcclOnCuda, SendAndRecvOfOtherTensorsAreRefusedOnBothRanks) {
  dist::all_reduce(ones({2}, {float32, kGpu}));
  if (dist::size() == 1 || dist::rank() > 1) return;
  const Tensor three = ones({3}, {float32, kGpu}), four = ones({4}, {float32, kGpu}), on_host = ones({3});
  if (dist::rank() == 0) {
    expect_contains(error_of<ValueError>([&] { dist::send(three, 1); }),
                    "rank 1 receives another tensor:  float32[4] on a GPU");
    expect_contains(error_of<ValueError>([&] { dist::send(three, 1); }), "rank 1 receives another tensor:  float32[3]");
    dist::send(on_host, 1);
  } else {
    expect_contains(error_of<ValueError>([&] { dist::recv(four, 0); }),
                    "rank 0 has sent another tensor:  float32[3] on a GPU");
    expect_contains(error_of<ValueError>([&] { dist::recv(on_host, 0); }), "both a GPU or neither");
    expect_contains(error_of<ValueError>([&] { dist::recv(three, 0); }), "rank 0 has sent another tensor:  float32[3]");
  }
}

TEST(NcclOnCuda, SendAndRecvAreCaptured) {
  const Tensor got = zeros({4}, {float32, kGpu});
  dist::all_reduce(got);
  if (dist::size() == 1 || dist::rank() > 1) return;
  CapturedStep step(
      [&](const Tensor& x) {
        if (dist::rank() == 0) dist::send(x * 2, 1);
        else dist::recv(got, 0);
        return got + 0;
      },
      {.device = kGpu});
  for (int i = 1; i <= 6; ++i) {
    const Tensor out = step(full({4}, i, {float32, kGpu}));
    EXPECT_TRUE(equal(out.cpu(), full({4}, dist::rank() == 0 ? 0 : 2 * i, {.dtype = float32}))) << i;
  }
  EXPECT_GT(step.replays(), 0);
}

TEST(NcclOnCuda, WorkGoesOnAndIsOrdered) {
  const Tensor x = full({300, 300}, dist::rank() + 1, {float32, kGpu});
  const Tensor y = x * 2;
  dist::Work work = dist::all_reduce_async(y);
  const Tensor z = x + 1;  // beside it
  work.wait();
  EXPECT_TRUE(equal((y + z - x).cpu(), ranks_sum({300, 300}) * 2 + 1));
  dist::Work more = dist::all_reduce_async(y, ReduceOp::max);
  for (int i = 0; i < 100'000 && !more.is_done(); ++i) {}
  more.wait();
}

TEST(NcclOnCuda, AnotherStreamWaitsToo) {
  const Tensor x = full({1000}, dist::rank() + 1, {float32, kGpu});
  const Stream side(kGpu);
  side.wait(current_stream(kGpu).record(EventUse::ordering));
  const StreamGuard guard(side);
  const Tensor y = x * 3;
  dist::all_reduce(y);
  EXPECT_TRUE(equal(y.cpu(), ranks_sum({1000}) * 3));
}

TEST(NcclOnCuda, RanksThatDifferAreNamed) {
  if (dist::size() == 1) return;
  const bool odd = dist::rank() == 1;
  const std::string what = error_of<ValueError>([&] { dist::all_reduce(ones({odd ? 3 : 4}, {float32, kGpu})); });
  expect_contains(what, "rank 0  all_reduce  float32[4] on a GPU  sum");
  expect_contains(what, "rank 1  all_reduce  float32[3] on a GPU  sum");
  expect_contains(error_of<ValueError>([&] {
                    dist::all_reduce(ones({4}, {float32, odd ? Device() : kGpu}));
                  }),
                  "rank 1  all_reduce  float32[4]  sum");
  const Tensor x = full({2}, dist::rank() + 1, {float32, kGpu});
  dist::all_reduce(x);  // goes on
  EXPECT_TRUE(equal(x.cpu(), ranks_sum({2})));
}

TEST(NcclOnCuda, IsCapturedWithTheStep) {
  const Tensor total = zeros({4}, {float32, kGpu});
  CapturedStep step(
      [&](const Tensor& x) {
        const Tensor y = x * (dist::rank() + 1);
        dist::all_reduce(y);
        total.add_(y);
        return dist::all_gather(y.sum());
      },
      {.device = kGpu});
  for (int i = 1; i <= 6; ++i) {
    const Tensor all = step(full({4}, i, {float32, kGpu}));
    const Tensor sum = ranks_sum({4}) * i;
    EXPECT_TRUE(equal(all.cpu(), full({dist::size()}, sum.sum().item<float>(), {.dtype = float32}))) << i << all.cpu();
  }
  EXPECT_GT(step.replays(), 0);
  EXPECT_TRUE(equal(total.cpu(), ranks_sum({4}) * 21));
}

TEST(NcclOnCuda, ACapturedStepTrainsAsADirectOne) {
  const auto losses = [](bool captured) {
    manual_seed(3);
    nn::Sequential net(nn::Linear(6, 16), nn::BatchNorm1d(16), nn::Linear(16, 3));
    net.to(kGpu);
    const dist::DataParallel parallel(net, {.bucket_mb = 2e-4});
    optim::Adam adam(net.parameters(), {.lr = 0.01});
    const auto train = [&](const Tensor& x) {
      const Tensor loss = mean(square(net(x) - 1));
      adam.zero_grad();
      loss.backward();
      adam.step();
      return loss;
    };
    CapturedStep step(train, {.device = kGpu});
    std::vector<float> out;
    for (int i = 0; i < 8; ++i) {
      const Tensor x = sin(arange(24, {.dtype = float32}) * (1.3 + 0.1 * i + dist::rank())).reshape({4, 6}).to(kGpu);
      out.push_back((captured ? step(x) : train(x)).item<float>());
    }
    EXPECT_EQ(step.replays() > 0, captured);
    for (const Tensor& p : net.parameters()) {
      const Tensor all = dist::all_gather(p.detach()).cpu();
      for (int r = 1; r < dist::size(); ++r) EXPECT_TRUE(equal(all[0], all[r]));
    }
    return out;
  };
  const std::vector<float> direct = losses(false), captured = losses(true);
  for (std::size_t i = 0; i < direct.size(); ++i) EXPECT_NEAR(captured[i], direct[i], 1e-5) << i;
  EXPECT_LT(direct.back(), direct.front());
}

TEST(NcclOnCuda, ShardedStatesAreOfAllRanks) {
  manual_seed(4);
  nn::Sequential net(nn::Linear(6, 8), nn::Linear(8, 3)), alone(nn::Linear(6, 8), nn::Linear(8, 3));
  net.to(kGpu);
  const dist::DataParallel parallel(net);
  alone.load_state_dict(net.state_dict());
  dist::Sharded<optim::Adam> sharded(net.parameters(), {.lr = 0.01});
  optim::Adam adam(alone.parameters(), {.lr = 0.01});
  const Tensor x = sin(arange(24, {.dtype = float32})).reshape({4, 6});
  for (int i = 0; i < 4; ++i) {
    sharded.zero_grad();
    mean(square(net(x.to(kGpu)) - 1)).backward();
    sharded.step();
    adam.zero_grad();
    mean(square(alone(x) - 1)).backward();
    adam.step();
  }
  const StateDict want = alone.state_dict();
  for (const auto& [name, value] : net.state_dict())
    EXPECT_TRUE(allclose(value.cpu(), want.at(name), 1e-4, 1e-5)) << name;
  const StateDict all = sharded.state_dict(), states = adam.state_dict();
  for (const auto& [name, value] : states) {
    ASSERT_TRUE(all.contains(name)) << name;
    if (is_floating_point(value.dtype())) { EXPECT_TRUE(allclose(all.at(name).cpu(), value, 1e-4, 1e-5)) << name; }
  }
  sharded.load_state_dict(all);
}

struct UniqueId {
  char internal[128];
};

/// The emulated library itself, without what compares the ranks' calls before.
TEST(NcclOnCuda, TheEmulationTellsWhatRanksCall) {
  if (dist::size() == 1) return;
  synchronize(kGpu);
  dist::barrier();
  std::this_thread::sleep_for(std::chrono::milliseconds(500));  // nothing is watched any more
  void* const library = dlopen("libnccl.so.2", RTLD_NOW | RTLD_LOCAL);
  ASSERT_NE(library, nullptr);
  const auto function = [&]<class F>(F*& to, const char* name) { to = reinterpret_cast<F*>(dlsym(library, name)); };
  int (*get_id)(UniqueId*) = nullptr, (*init)(void**, int, UniqueId, int) = nullptr, (*destroy)(void*) = nullptr;
  int (*all_reduce)(const void*, void*, std::size_t, int, int, void*, cudaStream_t) = nullptr;
  int (*async_error)(void*, int*) = nullptr;
  function(get_id, "ncclGetUniqueId");
  function(init, "ncclCommInitRank");
  function(destroy, "ncclCommDestroy");
  function(all_reduce, "ncclAllReduce");
  function(async_error, "ncclCommGetAsyncError");
  UniqueId id{};
  if (dist::rank() == 0) { EXPECT_EQ(get_id(&id), 0); }
  const Tensor bytes = empty({static_cast<std::int64_t>(sizeof id)}, {.dtype = uint8});
  std::memcpy(bytes.raw_data(), &id, sizeof id);
  dist::broadcast(bytes);
  std::memcpy(&id, bytes.raw_data(), sizeof id);
  void* comm = nullptr;
  ASSERT_EQ(init(&comm, dist::size(), id, dist::rank()), 0);
  float* memory = nullptr;
  cudaStream_t stream = nullptr;
  ASSERT_EQ(cudaMalloc(reinterpret_cast<void**>(&memory), 64), cudaSuccess);
  ASSERT_EQ(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), cudaSuccess);
  const int called = all_reduce(memory, memory, dist::rank() == 0 ? 4u : 3u, 7, 0, comm, stream);
  EXPECT_EQ(called != 0, std::getenv("MINNOW_EMULATOR_EAGER") != nullptr);  // the work has run within the call
  if (called == 0) { EXPECT_EQ(cudaStreamSynchronize(stream), cudaErrorLaunchFailure); }
  expect_contains(emulator::last_fault(), "ncclAllReduce of 3 elements of type 7");
  emulator::recover();
  int status = 0;
  EXPECT_EQ(async_error(comm, &status), 0);
  EXPECT_EQ(status, 5);
  EXPECT_EQ(all_reduce(memory, memory, 4, 7, 0, comm, stream), 5);
  EXPECT_EQ(destroy(comm), 0);
  cudaFree(memory);
  cudaStreamDestroy(stream);
  dist::barrier();
}

}  // namespace
}  // namespace minnow
