#include <algorithm>
#include <cmath>
#include <fstream>
#include <gtest/gtest.h>
#include <string>
#include <minnow/ops/elementwise/arithmetic.h>
#include <minnow/ops/elementwise/unary.h>
#include <minnow/ops/norms/batch_norm.h>
#include <minnow/ops/reductions/reduce.h>
#include <minnow/tensor/create.h>
#include <minnow/tensor/error.h>
#include <minnow/tensor/runtime/memory.h>

#include "devices.h"
#include "sanitizer.h"

namespace minnow {
namespace {

/// The available memory in bytes; 0 where it is unknown.
std::int64_t available_memory() {
  std::ifstream info("/proc/meminfo");
  std::string key, unit;
  for (std::int64_t size; info >> key >> size; std::getline(info, unit))
    if (key == "MemAvailable:") return size * 1024;
  return 0;
}

TEST(Large, MoreElementsThan32BitsCount) {
#ifdef MINNOW_TEST_TSAN
  GTEST_SKIP() << "the sanitizer would need four times the memory";
#endif
  constexpr std::int64_t kCount = (std::int64_t{1} << 31) + 1000;
  if (available_memory() < kCount + (std::int64_t{1} << 30)) GTEST_SKIP() << "less than 3 GB of memory are free";
  {
    const Tensor x = full({kCount}, 1, {uint8});
    EXPECT_EQ(x.nbytes(), kCount);
    EXPECT_EQ(sum(x).item<std::int64_t>(), kCount);
    EXPECT_EQ(x(-1).item<int>(), 1);
    fill_(x(slice(kCount - 10)), 7);
    EXPECT_EQ(x(kCount - 11).item<int>(), 1);
    EXPECT_EQ(x(kCount - 10).item<int>(), 7);
    EXPECT_EQ(sum(x).item<std::int64_t>(), kCount + 60);
    // A view that begins behind 2^31, and rows of which the last does.
    const Tensor tail = x(slice((std::int64_t{1} << 31) - 500));
    EXPECT_EQ(sum(tail == 7).item<int>(), 10);
    EXPECT_EQ(sum(tail.clone()).item<std::int64_t>(), 1500 + 60);
    const Tensor rows = x.view({kCount / 8, 8});
    EXPECT_EQ(rows(-1).to_vector<int>(), (std::vector<int>{7, 7, 7, 7, 7, 7, 7, 7}));
    EXPECT_EQ(sum(rows(slice(0, kCount / 8, kCount / 16), all)).item<int>(), 16 + 8 * 7);  // the last row, too
    EXPECT_EQ(rows.t()(0, slice(kCount / 8 - 3)).to_vector<int>(), (std::vector<int>{1, 1, 7}));
  }
  empty_cache(Device());
}

// On a GPU: kernels that count in 64 bits, and those that divide their work into parts of 32.
TEST(Large, MoreElementsThan32BitsCountOn_cuda) {
  const std::vector<Device>& devices = test::test_devices();
  const Device gpu("cuda");
  if (std::find(devices.begin(), devices.end(), gpu) == devices.end()) GTEST_SKIP() << "there is no GPU";
  constexpr std::int64_t kRows = 3, kCount = (std::int64_t{1} << 30) + 500;
  try {
    const Tensor x = full({kRows, kCount}, 1, {float16, gpu}), y = x + x;
    EXPECT_EQ(y(-1, -1).item<float>(), 2);
    EXPECT_TRUE(equal(sum(y, {1}, false).to(float64).cpu(), full({kRows}, INFINITY, {.dtype = float64})));  // of halves
    EXPECT_EQ(sum((y == 2).to(int64)).item<std::int64_t>(), kRows * kCount);
    const Tensor columns = x.t();  // strided, and read in another order
    EXPECT_EQ(sum((columns + 1 == 2).to(int64)).item<std::int64_t>(), kRows * kCount);
    const Tensor normal = batch_norm(x.reshape({kRows, 1, kCount}), {}, {}, {}, {}, {.training = true});
    EXPECT_EQ(amax(abs(normal)).item<float>(), 0);
    EXPECT_EQ(argmax(y.flatten()).item<std::int64_t>(), 0);
  } catch (const OutOfMemoryError&) { GTEST_SKIP() << "its memory is too small"; }
}

}  // namespace
}  // namespace minnow
