// After its first steps a training loop allocates nothing from the system, and the number of objects is constant.

#include <cstdlib>
#include <fstream>
#include <gtest/gtest.h>
#include <unistd.h>
#include <minnow/autograd/node.h>
#include <minnow/nn/layers/activation.h>
#include <minnow/nn/layers/basic.h>
#include <minnow/nn/layers/conv.h>
#include <minnow/nn/layers/linear.h>
#include <minnow/nn/layers/pool.h>
#include <minnow/nn/losses/loss.h>
#include <minnow/nn/module/containers.h>
#include <minnow/nn/module/quantize.h>
#include <minnow/ops/convolution/conv.h>
#include <minnow/optim/optimizers.h>
#include <minnow/tensor/create.h>
#include <minnow/tensor/runtime/memory.h>
#include <minnow/tensor/runtime/threads.h>
#include "steady/heap.h"

namespace {

using namespace minnow;

/// The largest block that a step may take from the heap: handles, nodes and short lists are far below; oneDNN's small
/// matrix products take a packing buffer of 74 KB.  From 128 KB on malloc would go to the system.
constexpr std::size_t kLargestBlock = 96 * 1024;

/// The allocations of clang's OpenMP for parallel loops, in each thread; GNU's has none.
std::size_t of_openmp([[maybe_unused]] int loops) {
#ifdef __clang__
  return static_cast<std::size_t>(2 * loops * num_threads());
#else
  return 0;
#endif
}

nn::Sequential mlp() { return nn::Sequential(nn::Linear(32, 64), nn::ReLU(), nn::Linear(64, 10)); }

nn::Sequential cnn() {
  return nn::Sequential(nn::Conv2d(1, 8, 3), nn::ReLU(), nn::Conv2d(8, 16, 3), nn::ReLU(), nn::MaxPool2d(2),
                        nn::Dropout(0.25), nn::Flatten(), nn::Linear(16 * 16, 10));
}

Tensor labels(std::int64_t n) {
  Tensor t = empty({n}, {DType::int64});
  for (std::int64_t i = 0; i < n; ++i) t.data<std::int64_t>()[i] = i % 10;
  return t;
}

void train(nn::Module& model, optim::Optimizer& optimizer, const Tensor& x, const Tensor& y) {
  const Tensor loss = nn::cross_entropy(model(x), y);
  optimizer.zero_grad();
  loss.backward();
  optimizer.step();
}

/// Resident bytes of this process; 0 where that cannot be read.
std::int64_t resident_bytes() {
  std::ifstream file("/proc/self/statm");
  std::int64_t total = 0, resident = 0;
  return file >> total >> resident ? resident * sysconf(_SC_PAGESIZE) : 0;
}

struct Use {
  std::int64_t storages, nodes, blocks, system_calls, resident;
};

Use use() {
  const MemoryStats stats = memory_stats(Device("cpu"));
  return {live_storages(), autograd::live_nodes(), stats.blocks, stats.system_calls, resident_bytes()};
}

/// MINNOW_STEADY_STEPS=100000 makes the loop long.
std::int64_t long_loop() {
  const char* text = std::getenv("MINNOW_STEADY_STEPS");
  return text ? std::max(2000L, std::atol(text)) : 20000;
}

TEST(SteadyState, MemoryAndObjectsDoNotGrowAfterStep1000) {
  manual_seed(1);
  nn::Sequential model = mlp();
  optim::Adam adam(model.parameters());
  const Tensor x = randn({8, 32}), y = labels(8);
  std::int64_t step = 0;
  for (; step < 1000; ++step) train(model, adam, x, y);
  const Use early = use();
  for (; step < long_loop(); ++step) train(model, adam, x, y);
  const Use late = use();
  EXPECT_EQ(early.storages, late.storages);
  EXPECT_EQ(early.nodes, late.nodes);
  EXPECT_EQ(early.blocks, late.blocks);
  EXPECT_EQ(early.system_calls, late.system_calls);
  // A sanitizer keeps freed memory back, so that resident size grows for a while.
  if (!test::heap_is_counted()) return;
  // A leak of 16 bytes a step would be 300 KB.
  EXPECT_LE(std::abs(late.resident - early.resident), 256 * 1024) << early.resident << " -> " << late.resident;
}

/// The number of allocations in a steady step; they must be small, and as many in each step.
template <class Step> std::size_t heap_calls_of_a_step(Step&& step) {
  for (int i = 0; i < 20; ++i) step();
  const Use before = use();
  test::reset_heap();
  constexpr std::size_t kSteps = 50;
  for (std::size_t i = 0; i < kSteps; ++i) step();
  const test::HeapUse heap = test::heap_use();
  const Use after = use();
  EXPECT_EQ(before.storages, after.storages);
  EXPECT_EQ(before.nodes, after.nodes);
  EXPECT_EQ(before.system_calls, after.system_calls) << "a block was taken from the system";
  if (!test::heap_is_counted()) return 0;
  EXPECT_LE(heap.largest, kLargestBlock) << "a tensor's worth was taken from the heap";
  return heap.calls / kSteps;
}

TEST(SteadyState, MlpStepAllocatesHandlesOnly) {
  manual_seed(1);
  nn::Sequential model = mlp();
  optim::SGD sgd(model.parameters(), {.lr = 0.01, .momentum = 0.9});
  const Tensor x = randn({64, 32}), y = labels(64);
  const std::size_t calls = heap_calls_of_a_step([&] { train(model, sgd, x, y); });
  RecordProperty("heap_calls", static_cast<int>(calls));
  std::printf("MLP step: %zu calls of the heap\n", calls);
  EXPECT_LE(calls, 130 + of_openmp(10));
}

TEST(SteadyState, CnnStepAllocatesHandlesOnly) {
  manual_seed(1);
  nn::Sequential model = cnn();
  optim::Adam adam(model.parameters());
  const Tensor x = randn({16, 1, 12, 12}), y = labels(16);
  const std::size_t calls = heap_calls_of_a_step([&] { train(model, adam, x, y); });
  RecordProperty("heap_calls", static_cast<int>(calls));
  std::printf("CNN step: %zu calls of the heap\n", calls);
  // Handles, and what oneDNN takes itself for each execution of its seven (272 calls with oneDNN 2.6).
  EXPECT_LE(calls, 330 + of_openmp(30));
}

TEST(SteadyState, QuantizedLayersAllocateHandlesOnly) {
  nn::Sequential model = mlp();
  nn::quantize_dynamic_(model);
  const Tensor x = randn({64, 32});
  const std::size_t calls = heap_calls_of_a_step([&] { (void)model(x); });
  std::printf("int8 MLP: %zu calls of the heap\n", calls);
  EXPECT_LE(calls, 40 + of_openmp(6));
}

}  // namespace
