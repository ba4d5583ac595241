// The memory of a captured step: laid out by the calls that use it, and inputs that are read where they are.

#include <algorithm>
#include <gtest/gtest.h>
#include <minnow/minnow.h>
#include <minnow/tensor/backend/capture_memory.h>
#include "support/devices.h"

namespace minnow {
namespace {

using detail::Lifetime;

/// The largest sum of bytes that one call needs.
std::size_t peak_of(const std::vector<Lifetime>& all, std::size_t calls) {
  std::size_t peak = 0;
  for (std::size_t call = 0; call < calls; ++call) {
    std::size_t live = 0;
    for (const Lifetime& l : all)
      if (l.first <= call && call <= l.last) live += (l.bytes + 63) / 64 * 64;
    peak = std::max(peak, live);
  }
  return peak;
}

TEST(PlannedMemory, LifetimesWithACallInCommonShareNoByte) {
  constexpr std::size_t kCalls = 60, kTensors = 80;
  RandomGenerator generator(3);
  double worst = 0;
  for (int round = 0; round < 20; ++round) {
    const auto numbers = randint(0, 1 << 20, {3, kTensors}, {.generator = &generator}).to_vector<std::int64_t>();
    std::vector<Lifetime> all;
    std::size_t sum = 0;
    for (std::size_t i = 0; i < kTensors; ++i) {
      const auto number = [&](std::size_t k) { return static_cast<std::size_t>(numbers[k * kTensors + i]); };
      const std::size_t first = number(0) % kCalls, bytes = number(1) % 5000 + 1;
      all.push_back({bytes, first, std::min(kCalls - 1, first + number(2) % 9), 0});
      sum += bytes;
    }
    std::vector<Lifetime*> pointers;
    for (Lifetime& l : all) pointers.push_back(&l);
    const std::size_t total = detail::lay_out(pointers), peak = peak_of(all, kCalls);
    for (const Lifetime& a : all) {
      EXPECT_EQ(a.offset % 64, 0u);
      EXPECT_LE(a.offset + a.bytes, total);
      for (const Lifetime& b : all) {
        if (&a == &b || a.last < b.first || b.last < a.first) continue;
        EXPECT_TRUE(a.offset + a.bytes <= b.offset || b.offset + b.bytes <= a.offset);
      }
    }
    EXPECT_GE(total, peak);
    EXPECT_LT(total, sum / 2);
    worst = std::max(worst, static_cast<double>(total) / static_cast<double>(peak));
  }
  EXPECT_LT(worst, 1.2) << "of the bytes that are live at once";
}

class PlannedMemoryTest : public test::DeviceTest {
 protected:
  static std::int64_t allocated() { return memory_stats(device()).allocated; }
};
INSTANTIATE_TEST_SUITE_P(Devices, PlannedMemoryTest, test::all_devices(), test::device_test_name);

TEST_P(PlannedMemoryTest, LayersOneAfterTheOtherNeedTwoBlocks) {
  if (device().is_cuda()) GTEST_SKIP() << "a graph keeps its blocks";
  constexpr std::int64_t kSide = 256, kBytes = 4 * kSide * kSide;
  const NoGradGuard no_grad;
  const Tensor w = eye(kSide).to(device());
  CapturedStep step(
      [&](const Tensor& x) {
        std::vector<Tensor> all = {x};  // which a direct run holds until it returns
        for (int i = 0; i < 20; ++i) all.push_back(matmul(all.back(), w));
        return all.back();
      },
      {.device = device(), .warm_up = 0});
  const Tensor x = randn({kSide, kSide}).to(device());
  const std::int64_t before = allocated();
  EXPECT_EQ(step(x).to_vector<float>(), x.to_vector<float>());
  EXPECT_LE(allocated() - before, 3 * kBytes + (64 << 10)) << "two between the layers, and the result";
}

TEST_P(PlannedMemoryTest, StepHoldsNoMoreMemoryThanDirectSteps) {
  if (device().is_cuda()) GTEST_SKIP() << "a graph keeps its blocks";
  manual_seed(1);
  nn::Sequential net(nn::Conv2d(1, 8, 3), nn::GELU(), nn::Conv2d(8, 8, 3), nn::ReLU(), nn::MaxPool2d(2), nn::Flatten(),
                     nn::Linear(8 * 12 * 12, 64), nn::Tanh(), nn::Dropout(0.5), nn::Linear(64, 10));
  net.to(device());
  optim::Adam adam(net.parameters());
  const auto train = [&](const Tensor& x, const Tensor& y) {
    const Tensor loss = nn::cross_entropy(net(x), y);
    adam.zero_grad();
    loss.backward();
    adam.step();
    return loss;
  };
  const Tensor x = randn({32, 1, 28, 28}).to(device()), y = randint(0, 10, {32}).to(device());
  empty_cache(device());
  for (int i = 0; i < 3; ++i) train(x, y);
  const std::int64_t direct = memory_stats(device()).reserved;
  CapturedStep step(train, {.device = device(), .warm_up = 1});
  for (int i = 0; i < 3; ++i) step(x, y);
  EXPECT_EQ(step.captures(), 1);
  EXPECT_LE(memory_stats(device()).reserved, direct);
}

/// Runs f on several inputs, captured and directly, and compares the results.
template <class F> void expect_same(Device device, const std::vector<Tensor>& inputs, F&& f) {
  CapturedStep step(f, {.device = device, .warm_up = 0});
  for (const Tensor& x : inputs) {
    const std::vector<double> want = f(x.contiguous().to(device)).template to_vector<double>();
    const Tensor got = step(x);
    EXPECT_EQ(got.to_vector<double>(), want);
  }
}

TEST_P(PlannedMemoryTest, InputsMayLieAnywhere) {
  const Tensor whole = randn({7, 5, 4}).to(device());
  expect_same(device(),
              {whole(0), whole(3), whole(all, 0, all).narrow(0, 1, 5), whole(1).cpu(), whole(2).t().contiguous().t(),
               zeros({5, 4}), whole(4)},
              [](const Tensor& x) { return exp(x) * 2 + x.sum(0); });
}

TEST_P(PlannedMemoryTest, InputsAreNotCopied) {
  if (device().is_cuda()) GTEST_SKIP() << "a graph reads a copy";
  constexpr std::int64_t kBytes = 1 << 20;
  CapturedStep step([](const Tensor& x) { return sum(x); }, {.device = device(), .warm_up = 0});
  const Tensor x = ones({kBytes / 4}, {.device = device()});
  const std::int64_t before = allocated();
  for (int i = 0; i < 2; ++i) EXPECT_EQ(step(x).item(), kBytes / 4);
  EXPECT_LT(allocated() - before, kBytes / 2);
}

TEST_P(PlannedMemoryTest, StepMayWriteItsInput) {
  const Tensor x = full({3}, 2.0, {.device = device()});
  CapturedStep step(
      [](const Tensor& in) {
        Tensor y = in;
        y.mul_(3);
        return y + 1;
      },
      {.device = device(), .warm_up = 0});
  for (int i = 0; i < 3; ++i) EXPECT_EQ(step(x).to_vector<double>(), std::vector<double>(3, 7.0));
  EXPECT_EQ(x.to_vector<double>(), std::vector<double>(3, 2.0)) << "it is the caller's";
}

TEST_P(PlannedMemoryTest, StepMayReturnItsInput) {
  CapturedStep step([](const Tensor& x) { return x.t(); }, {.device = device(), .warm_up = 0});
  for (int i = 0; i < 3; ++i) {
    const Tensor result = step(full({2, 1}, 1.0 + i, {.device = device()}));
    const Tensor other = full({2, 1}, -1.0, {.device = device()});
    EXPECT_EQ(result.to_vector<double>(), std::vector<double>(2, 1.0 + i));
  }
}

TEST_P(PlannedMemoryTest, StepMayKeepItsInput) {
  std::vector<Tensor> seen;
  CapturedStep step(
      [&](const Tensor& x) {
        seen = {x};
        return x + 1;
      },
      {.device = device(), .warm_up = 0});
  for (int i = 0; i < 3; ++i) {
    step(full({2}, 1.0 + i, {.device = device()}));
    EXPECT_EQ(seen[0].to_vector<double>(), std::vector<double>(2, 1.0 + i));
  }
}

TEST_P(PlannedMemoryTest, InputMayBeWhatTheStepWrites) {
  const Tensor state = full({4}, 1.0, {.device = device()});
  CapturedStep step(
      [&](const Tensor& x) {
        Tensor s = state;
        s.mul_(2);
        s.add_(x);
        return s + x;
      },
      {.device = device(), .warm_up = 0});
  const std::vector<double> want = {4, 12, 36, 108};
  for (const double value : want) {
    const Tensor result = step(state);  // 2 state + state, and the old state once more
    EXPECT_EQ(result.to_vector<double>(), std::vector<double>(4, value));
  }
  CapturedStep twice([](const Tensor& x) { return (x * 2).t().contiguous(); }, {.device = device(), .warm_up = 0});
  Tensor x = arange(0, 4).reshape({2, 2}).to(device(), DType::float32);
  x = twice(x);
  for (int i = 0; i < 3; ++i) x = twice(x);
  EXPECT_EQ(x.to_vector<double>(), (std::vector<double>{0, 16, 32, 48}));
}

}  // namespace
}  // namespace minnow
