#include <cmath>
#include <cub/block/block_reduce.cuh>
#include <cub/warp/warp_reduce.cuh>
#include <emulator/launch.h>
#include <gtest/gtest.h>
#include <vector>
#include <minnow/tensor/cuda/runtime/launch_syntax.h>

#include "child.h"
#include "memory.h"

// Kernels written as in a .cu file.
namespace {

using emulator::test::Buffer;
using emulator::test::counting;
using emulator::test::expect_with;

class Kernels : public ::testing::Test {
 protected:
  void TearDown() override { emulator::recover(); }
};

void number(int* out, int n) {
  const auto step = static_cast<int>(blockDim.x * gridDim.x);
  for (auto i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x); i < n; i += step) out[i] = 3 * i;
}

TEST_F(Kernels, VisitEveryElementOnce) {
  for (const unsigned blocks : {1u, 3u, 100u}) {
    const Buffer<int> out(1000);
    minnow::cuda::start(nullptr, &number, dim3(blocks), dim3(64), out.data(), 1000);
    const std::vector<int> values = out.read();
    for (int i = 0; i < 1000; ++i) ASSERT_EQ(values[static_cast<std::size_t>(i)], 3 * i);
  }
}

void reverse(int* data) {
  __shared__ int shared[256];
  const unsigned i = threadIdx.x + blockDim.x * threadIdx.y;
  for (int round = 0; round < 3; ++round) {
    shared[i] = data[i];
    __syncthreads();
    data[i] = shared[255 - i];
    __syncthreads();
  }
}

TEST_F(Kernels, ThreadsOfABlockMeet) {
  const Buffer<int> data(counting<int>(256));
  minnow::cuda::start(nullptr, &reverse, dim3(1), dim3(64, 4), data.data());
  const std::vector<int> values = data.read();
  for (int i = 0; i < 256; ++i) ASSERT_EQ(values[static_cast<std::size_t>(i)], 255 - i);
}

void votes(int* out) {
  const int i = static_cast<int>(threadIdx.x);
  out[i] = __syncthreads_count(i % 3 == 0);
  out[i] += 100 * __syncthreads_or(i == 17) + 1000 * __syncthreads_and(i != 17);
}

TEST_F(Kernels, ABlockVotes) {
  const Buffer<int> out(40);
  minnow::cuda::start(nullptr, &votes, dim3(1), dim3(40), out.data());
  EXPECT_EQ(out.read(), std::vector<int>(40, 14 + 100));
}

void shuffles(int* out, double* sums) {
  const int i = static_cast<int>(threadIdx.x), lane = i % 32;
  const unsigned all = 0xffffffffu;
  out[i] = __shfl_sync(all, i, 5) == i / 32 * 32 + 5 && __shfl_up_sync(all, i, 1u) == (lane ? i - 1 : i) &&
           __shfl_down_sync(all, i, 4u, 8) == (lane % 8 < 4 ? i + 4 : i) && __shfl_xor_sync(all, i, 3) == (i ^ 3) &&
           __ballot_sync(all, lane < 4) == 15u && __any_sync(all, lane == 7) && !__all_sync(all, lane == 7);
  __syncwarp();
  double sum = i;
  for (unsigned step = 16; step; step /= 2) sum += __shfl_down_sync(all, sum, step);
  sums[i] = sum;
}

TEST_F(Kernels, LanesOfAWarpShuffle) {
  const Buffer<int> out(64);
  const Buffer<double> sums(64);
  minnow::cuda::start(nullptr, &shuffles, dim3(1), dim3(64), out.data(), sums.data());
  EXPECT_EQ(out.read(), std::vector<int>(64, 1));
  EXPECT_EQ(sums.read()[0], 31 * 16);
  EXPECT_EQ(sums.read()[32], 31 * 16 + 32 * 32);
}

void atomics(int* out, float* total) {
  atomicAdd(&out[0], 1);
  atomicMax(&out[1], static_cast<int>(threadIdx.x));
  atomicMin(&out[2], -static_cast<int>(threadIdx.x));
  atomicCAS(&out[3], 0, 5);
  atomicAdd(total, 0.5f);
}

TEST_F(Kernels, AtomicsGiveWhatWasThere) {
  const Buffer<int> out(4);
  const Buffer<float> total(1);
  minnow::cuda::start(nullptr, &atomics, dim3(2), dim3(100), out.data(), total.data());
  EXPECT_EQ(out.read(), (std::vector<int>{200, 99, -99, 5}));
  EXPECT_EQ(total.read()[0], 100.0f);
}

void block_sums(const float* in, float* out, int n) {
  using Reduce = cub::BlockReduce<float, 128>;
  __shared__ Reduce::TempStorage storage;
  const float sum = Reduce(storage).Sum(in[threadIdx.x]);
  __syncthreads();
  const float largest = Reduce(storage).Reduce(
      in[threadIdx.x], [](float a, float b) { return a > b ? a : b; }, n);
  if (threadIdx.x == 0) {
    out[0] = sum;
    out[1] = largest;
  } else if (threadIdx.x == 1) {
    out[2] = sum;
  }
}

TEST_F(Kernels, CubReducesABlock) {
  const Buffer<float> input(counting<float>(128)), out(3);
  minnow::cuda::start(nullptr, &block_sums, dim3(1), dim3(128), static_cast<const float*>(input.data()), out.data(),
                      50);
  const std::vector<float> values = out.read();
  EXPECT_EQ(values[0], 127 * 64);
  EXPECT_EQ(values[1], 49);
  EXPECT_NE(values[2], values[2]) << "only the first thread gets the sum";
}

void warp_sums(int* out) {
  using Reduce = cub::WarpReduce<int, 16>;
  __shared__ Reduce::TempStorage storage[4];
  const int sum = Reduce(storage[threadIdx.x / 16]).Sum(static_cast<int>(threadIdx.x));
  if (threadIdx.x % 16 == 0) out[threadIdx.x / 16] = sum;
}

TEST_F(Kernels, CubReducesWarps) {
  const Buffer<int> out(4);
  minnow::cuda::start(nullptr, &warp_sums, dim3(1), dim3(64), out.data());
  EXPECT_EQ(out.read(), (std::vector<int>{120, 376, 632, 888}));
}

/// The kernel fails with this text, and the device cannot be used any more.
void expect_fault(void (*kernel)(int*), unsigned threads, const std::string& text) {
  int* out = nullptr;
  ASSERT_EQ(cudaMalloc(reinterpret_cast<void**>(&out), 4096), cudaSuccess);
  minnow::cuda::start(nullptr, kernel, dim3(1), dim3(threads), out);
  EXPECT_EQ(cudaPeekAtLastError(), cudaSuccess) << "the launch itself is right";
  EXPECT_EQ(cudaDeviceSynchronize(), cudaErrorLaunchFailure);
  EXPECT_NE(emulator::last_fault().find(text), std::string::npos) << emulator::last_fault();
  EXPECT_EQ(cudaFree(out), cudaErrorLaunchFailure) << "the device stays unusable";
  emulator::recover();
  EXPECT_EQ(cudaFree(out), cudaSuccess);
}

TEST_F(Kernels, ABarrierThatSomeLeaveOutIsAnError) {
  expect_fault(
      [](int*) {
        if (threadIdx.x < 20) __syncthreads();
      },
      64, "44 have returned");
}

TEST_F(Kernels, BarriersAtTwoPlacesAreAnError) {
  expect_fault(
      [](int*) {
        if (threadIdx.x < 20) __syncthreads();
        else __syncthreads();
      },
      64, "is at this barrier while thread");
}

TEST_F(Kernels, AShuffleThatLanesLeaveOutIsAnError) {
  expect_fault(
      [](int* out) {
        if (threadIdx.x < 20) out[0] = __shfl_down_sync(0xffffffffu, 1, 1u);
      },
      32, "waits for its warp");
}

TEST_F(Kernels, AShuffleFromALaneThatIsNotThereIsAnError) {
  expect_fault([](int* out) { out[threadIdx.x] = __shfl_sync(0xffffffffu, 1, 30); }, 16, "takes no part");
}

TEST_F(Kernels, CubStorageUsedTwiceWithoutABarrierIsAnError) {
  expect_fault(
      [](int* out) {
        using Reduce = cub::BlockReduce<int, 64>;
        __shared__ Reduce::TempStorage storage;
        out[0] = Reduce(storage).Sum(1);
        out[0] = Reduce(storage).Sum(1);
      },
      64, "without a __syncthreads()");
}

// What a GPU promises to nobody.

void unwritten(int* out) {
  __shared__ int shared[64];
  out[blockIdx.x * 64 + threadIdx.x] = shared[threadIdx.x];
  __syncthreads();
  shared[threadIdx.x] = 5;
}

TEST_F(Kernels, SharedMemoryHoldsNothingOfUseWhenABlockBegins) {
  const Buffer<int> out(3 * 64);
  minnow::cuda::start(nullptr, &unwritten, dim3(3), dim3(64), out.data());
  EXPECT_EQ(out.read(), std::vector<int>(3 * 64, -1));
}

/// Writes the number of each thread and block in the order of their turns, before a barrier and behind it.
void turns(int* out, int* count) {
  const auto self = static_cast<int>(blockIdx.x * 64 + threadIdx.x);
  out[atomicAdd(count, 1)] = self;
  __syncthreads();
  out[atomicAdd(count, 1)] = self;
}

TEST_F(Kernels, TheOrderOfThreadsAndBlocksMayBeRandom) {
  expect_with("MINNOW_EMULATOR_SHUFFLE", "7", [] {
    const Buffer<int> out(4 * 128), count(1);
    minnow::cuda::start(nullptr, &turns, dim3(4), dim3(64), out.data(), count.data());
    const std::vector<int> order = out.read();
    int rising = 0, falling = 0, other_block = 0;
    for (std::size_t i = 1; i < order.size(); ++i) {
      if (order[i] / 64 != order[i - 1] / 64) ++other_block;
      else ++(order[i] > order[i - 1] ? rising : falling);
    }
    return count.read()[0] == 4 * 128 && rising > 100 && falling > 100 && other_block > 6;
  });
}

void sums_of_all(const int* in, int* out, int* left) {
  __shared__ int sum, is_last;
  if (threadIdx.x == 0) sum = 0;
  __syncthreads();
  atomicAdd(&sum, in[blockIdx.x * 64 + threadIdx.x]);
  __syncthreads();
  if (threadIdx.x == 0) {
    out[1 + blockIdx.x] = sum;
    __threadfence();
    is_last = atomicSub(left, 1) == 1;
  }
  __syncthreads();
  if (!is_last || threadIdx.x != 0) return;
  out[0] = 0;
  for (unsigned b = 0; b < gridDim.x; ++b) out[0] += out[1 + b];
}

/// Whether a kernel gives its result in many orders.
bool gives_the_sum() {
  const Buffer<int> in(counting<int>(8 * 64)), out(9);
  for (int run = 0; run < 20; ++run) {
    const Buffer<int> left(std::vector<int>{8});
    minnow::cuda::start(nullptr, &sums_of_all, dim3(8), dim3(64), static_cast<const int*>(in.data()), out.data(),
                        left.data());
    if (out.read()[0] != 8 * 64 * (8 * 64 - 1) / 2) return false;
  }
  return true;
}

TEST_F(Kernels, EachBlockHasItsSharedMemoryInAnyOrder) {
  for (const char* seed : {"1", "2"}) expect_with("MINNOW_EMULATOR_SHUFFLE", seed, gives_the_sum);
  EXPECT_TRUE(gives_the_sum());
}

void exponentials(float* out) { out[threadIdx.x] = __expf(static_cast<float>(threadIdx.x) / 8); }

TEST_F(Kernels, MathematicalFunctionsMayBePerturbed) {
  const auto run = [] {
    const Buffer<float> out(32);
    minnow::cuda::start(nullptr, &exponentials, dim3(1), dim3(32), out.data());
    return out.read();
  };
  const auto perturbed = [] {
    const Buffer<float> out(32);
    minnow::cuda::start(nullptr, &exponentials, dim3(1), dim3(32), out.data());
    const std::vector<float> values = out.read();
    bool good = values[0] == 1;
    for (std::size_t i = 1; i < 32; ++i) {
      const float exact = std::exp(static_cast<float>(i) / 8);
      good = good && (values[i] == std::nextafter(exact, 0.0f) || values[i] == std::nextafter(exact, 1e9f));
    }
    return good && std::exp(0.125f) == __expf(0.125f);  // on the host
  };
  expect_with("MINNOW_EMULATOR_PERTURB", "1", perturbed);
  EXPECT_EQ(run()[3], std::exp(0.375f));
}

void load_at(const char* from, double* to) { *to = *reinterpret_cast<const double*>(from); }

TEST_F(Kernels, AMisalignedLoadIsAnError) {
  const Buffer<char> in(64);
  const Buffer<double> out(1);
  minnow::cuda::start(nullptr, &load_at, dim3(1), dim3(1), static_cast<const char*>(in.data() + 8), out.data());
  EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  minnow::cuda::start(nullptr, &load_at, dim3(1), dim3(1), static_cast<const char*>(in.data() + 4), out.data());
  EXPECT_EQ(cudaDeviceSynchronize(), cudaErrorLaunchFailure);
  EXPECT_NE(emulator::last_fault().find("misaligned address"), std::string::npos) << emulator::last_fault();
  emulator::recover();
}

/// Whether a kernel that loads a double at an offset of a block of 1024 bytes fails.
bool load_fails(std::ptrdiff_t offset) {
  const Buffer<char> in(1024);
  const Buffer<double> out(1);
  minnow::cuda::start(nullptr, &load_at, dim3(1), dim3(1), static_cast<const char*>(in.data() + offset), out.data());
  const bool failed = cudaDeviceSynchronize() == cudaErrorLaunchFailure;
  const bool told = emulator::last_fault().find("illegal memory access") != std::string::npos;
  emulator::recover();
  return failed && told;
}

TEST_F(Kernels, ABlockMayEndAtAGuard) {
  expect_with("MINNOW_EMULATOR_GUARD", "1", [] {
    const Buffer<double> out(1);
    char* freed = nullptr;
    cudaMalloc(reinterpret_cast<void**>(&freed), 1024);
    cudaFree(freed);
    minnow::cuda::start(nullptr, &load_at, dim3(1), dim3(1), static_cast<const char*>(freed), out.data());
    const bool after_free = cudaDeviceSynchronize() == cudaErrorLaunchFailure;
    emulator::recover();
    return !load_fails(0) && !load_fails(1016) && load_fails(1024) && load_fails(4096) && after_free;
  });
  EXPECT_FALSE(load_fails(1024)) << "without guards it goes unnoticed";
}

void __launch_bounds__(512) number_with_bounds(int* out, int n) { number(out, n); }

TEST_F(Kernels, ManyThreadsNeedLaunchBounds) {
  const Buffer<int> out(600);
  minnow::cuda::start(nullptr, &number, dim3(1), dim3(512), out.data(), 600);
  EXPECT_EQ(cudaGetLastError(), cudaErrorLaunchOutOfResources);
  minnow::cuda::start(nullptr, &number_with_bounds, dim3(1), dim3(512), out.data(), 600);
  EXPECT_EQ(cudaGetLastError(), cudaSuccess);
  EXPECT_EQ(out.read()[599], 3 * 599);
}

TEST_F(Kernels, AnImpossibleLaunchIsRefused) {
  for (const auto& [blocks, threads] :
       {std::pair(dim3(0), dim3(1)), std::pair(dim3(1), dim3(2048)), std::pair(dim3(1, 70000), dim3(1))}) {
    minnow::cuda::start(nullptr, &number, blocks, threads, static_cast<int*>(nullptr), 0);
    EXPECT_EQ(cudaGetLastError(), cudaErrorInvalidConfiguration);
    EXPECT_EQ(cudaGetLastError(), cudaSuccess) << "told once";
  }
}

}  // namespace
