#include <gtest/gtest.h>
#include <minnow/minnow.h>
#include <minnow/tensor/cuda/reductions/block_counters.h>
#include <minnow/tensor/internal.h>

/// Kernels whose last block combines what the others have computed.
namespace minnow {
namespace {

const Device kCuda("cuda");

/// The counters that a call on the current stream gets.
std::uint32_t* counters() {
  const Tensor x = empty({1}, {.device = kCuda});
  return cuda::block_counters(cuda::Call("test", x));
}

TEST(LastBlock, EachStreamAndEachGraphHasCountersOfItsOwn) {
  std::uint32_t *here = counters(), *there = nullptr, *captured = nullptr, *twice = nullptr;
  EXPECT_EQ(counters(), here);
  {
    const StreamGuard guard{Stream(kCuda)};
    there = counters();
    EXPECT_EQ(counters(), there);
  }
  const auto capture = [&] {
    return CapturedStep(
        [&](const Tensor& x) {
          captured = counters();
          twice = counters();
          return sum(x);
        },
        {.device = kCuda, .warm_up = 0});
  };
  const Tensor x = ones({200, 100}, {.device = kCuda});
  std::uint32_t* first = nullptr;
  {
    CapturedStep step = capture();
    EXPECT_EQ(step(x).item(), 20000);
    EXPECT_EQ(captured, twice);
    first = captured;
    CapturedStep other = capture();
    EXPECT_EQ(other(x).item(), 20000);
    EXPECT_NE(captured, first);
    for (const auto* other_words : {here, there}) EXPECT_NE(captured, other_words);
    for (const auto* other_words : {here, there}) EXPECT_NE(first, other_words);
  }
  CapturedStep again = capture();  // gets those of a graph that is gone
  EXPECT_EQ(again(x).item(), 20000);
  EXPECT_EQ(counters(), here);
}

// Sums of long rows and of columns, and losses, by several blocks, that follow each other without a wait.
TEST(LastBlock, WorkOnSeveralStreamsAndInGraphs) {
  const Tensor x = full({3000, 70}, 0.5, {.device = kCuda}), t = zeros({3000}, {DType::int64, kCuda});
  const auto all = [&](const Tensor& scale) {
    const Tensor y = x * scale;
    return stack({sum(y), sum(sum(y, {0})), amax(y), nn::cross_entropy(y, t)});
  };
  const std::vector<float> want = all(ones({}, {.device = kCuda})).to_vector<float>();
  EXPECT_EQ(want[0], 105000);
  EXPECT_EQ(want[1], 105000);
  EXPECT_EQ(want[2], 0.5);
  EXPECT_NEAR(want[3], std::log(70.0), 1e-5);
  CapturedStep step(all, {.device = kCuda, .warm_up = 0});
  const Stream sides[] = {Stream(kCuda), Stream(kCuda)};
  const Tensor one = ones({}, {.device = kCuda});
  synchronize(kCuda);
  std::vector<Tensor> results;
  for (int run = 0; run < 3; ++run) {
    for (const Stream& side : sides) {
      const StreamGuard guard(side);
      results.push_back(all(one));
    }
    results.push_back(step(one).clone());
    results.push_back(all(one));
  }
  synchronize(kCuda);
  for (const Tensor& result : results) EXPECT_EQ(result.to_vector<float>(), want);
}

}  // namespace
}  // namespace minnow
