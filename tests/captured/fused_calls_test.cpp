// Chains of elementwise calls, which replays make block by block: the bits are those of direct calls.

#include <gtest/gtest.h>
#include <minnow/minnow.h>
#include "support/devices.h"

namespace minnow {
namespace {

class FusedCallsTest : public test::DeviceTest {};
INSTANTIATE_TEST_SUITE_P(Devices, FusedCallsTest, test::all_devices(), test::device_test_name);

std::vector<double> bits_of(const Tensor& x) { return x.to(Device(), float64).contiguous().to_vector<double>(); }

/// Equal, and NaN where the other is.
void expect_equal(const Tensor& got, const Tensor& want) {
  ASSERT_EQ(got.dtype(), want.dtype());
  ASSERT_EQ(got.strides(), want.strides());
  const std::vector<double> a = bits_of(got), b = bits_of(want);
  for (std::size_t i = 0; i < a.size(); ++i)
    ASSERT_TRUE(a[i] == b[i] || (a[i] != a[i] && b[i] != b[i])) << i << ": " << a[i] << ", " << b[i];
}

template <class F> void expect_same(Device device, const Tensor& x, const Tensor& y, F&& f) {
  const Tensor there = x.to(device), other = y.to(device);
  const Tensor want = f(there.clone(), other.clone());
  CapturedStep step(f, {.device = device, .warm_up = 0});
  for (int i = 0; i < 2; ++i) expect_equal(step(there, other), want);
}

/// Operations drawn at random, each on results of those before.
Tensor random_program(std::uint64_t seed, const Tensor& x, const Tensor& y) {
  std::uint64_t state = seed * 2654435761u + 12345;
  const auto draw = [&](std::size_t n) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return static_cast<std::size_t>(state >> 33) % n;
  };
  std::vector<Tensor> all = {x, y};
  const Tensor one = full({}, 0.75, {.dtype = x.dtype(), .device = x.device()});
  for (int i = 0; i < 24; ++i) {
    const Tensor a = all[draw(all.size())], b = all[draw(all.size())];
    switch (draw(12)) {
      case 0: all.push_back(a + b); break;
      case 1: all.push_back(a * b); break;
      case 2: all.push_back(a - 0.25); break;
      case 3: all.push_back(tanh(a)); break;
      case 4: all.push_back(where(a > b, a, 0.5 * b)); break;
      case 5: all.push_back(relu(a) + one); break;
      case 6: all.push_back(one / (abs(b) + 1)); break;
      case 7: all.push_back(sin(a)); break;
      case 8: all.push_back((a < b).to(a.dtype())); break;
      case 9: all.push_back(a + a.amax(-1, true)); break;
      case 10: all.push_back(a.clone().mul_(0.5).add_(b)); break;
      default: all.push_back(maximum(a, b).clamp(-2, 2)); break;
    }
  }
  Tensor sum = all[2];
  for (std::size_t i = 3; i < all.size(); i += 2) sum = sum + all[i];
  return sum;
}

TEST_P(FusedCallsTest, RandomPrograms) {
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    manual_seed(seed);
    const std::int64_t rows = seed % 3 == 0 ? 1 : 7, cols = seed % 2 == 0 ? 33 : 1500;
    const DType dtype = seed % 5 == 4 ? bfloat16 : seed % 5 == 3 ? float64 : float32;
    Tensor x = randn({rows, cols}), y = randn({rows, cols});
    if (seed % 4 == 1) x = randn({cols, rows}).t();
    expect_same(device(), x.to(dtype), y.to(dtype),
                [&](const Tensor& a, const Tensor& b) { return random_program(seed, a, b); });
  }
}

TEST_P(FusedCallsTest, ChainsOfEverySizeAndDtype) {
  for (const DType dtype : {float32, float64, float16, bfloat16}) {
    for (const std::int64_t n : {2, 5, 1000, 1024, 1025, 8192, 8193, 30000}) {
      manual_seed(static_cast<std::uint64_t>(n));
      const Tensor x = randn({n}).to(dtype), y = randn({n}).to(dtype);
      expect_same(device(), x, y, [](const Tensor& a, const Tensor& b) {
        const Tensor z = (a * 2 + b) * sigmoid(a) - b;
        return where(z > b, abs(z * z - a), 1 / (exp(b) + 1)) + tanh(z) * 0.5;
      });
    }
  }
}

TEST_P(FusedCallsTest, ChannelsLast) {
  const Tensor x = randn({2, 5, 7, 9}).contiguous(MemoryFormat::channels_last), y = randn({2, 5, 7, 9});
  const auto f = [](const Tensor& a, const Tensor& b) { return gelu(a * 2 + 1) * sigmoid(a) + relu(b * b - 1); };
  expect_same(device(), x, y, f);
  expect_same(device(), x, y.contiguous(MemoryFormat::channels_last), f);
}

/// What one call of a chain writes, a later one reads elsewhere: block by block it would read what is not there yet.
TEST_P(FusedCallsTest, OverlappingPartsOfATensor) {
  constexpr std::int64_t kSize = 5000;
  const auto run = [](const Tensor& x) {
    Tensor all = x * 1;
    for (int i = 0; i < 3; ++i) {
      Tensor left = all.narrow(0, 0, kSize - 1);
      left.mul_(0.5);
      all.narrow(0, 1, kSize - 1).add_(1);
      left.copy_(all.narrow(0, 1, kSize - 1) + left);
      left.sub_(all(0));
    }
    return all + 0;
  };
  const Tensor x = randn({kSize}).to(device());
  const Tensor want = run(x);
  CapturedStep step(run, {.device = device(), .warm_up = 0});
  for (int i = 0; i < 2; ++i) expect_equal(step(x), want);
}

/// Two intermediates one after the other, in one chain, must not get the same memory at other places.
TEST_P(FusedCallsTest, MemoryIsNotSharedWithinAChain) {
  const auto run = [](const Tensor& x) {
    Tensor y = x;
    Tensor kept;
    for (int i = 0; i < 30; ++i) {
      y = y * 0.9 + 0.1 * i;
      if (i == 11) kept = y * 2;
    }
    return y + kept.flip(0);
  };
  const Tensor x = randn({20000}).to(device());
  const Tensor want = run(x);
  CapturedStep step(run, {.device = device(), .warm_up = 0});
  for (int i = 0; i < 2; ++i) expect_equal(step(x), want);
}

TEST_P(FusedCallsTest, GradientsOfAChain) {
  const auto grads = [](auto make) {
    manual_seed(4);
    const Tensor w = randn({3000}).to(device()).requires_grad_();
    auto step = make([&](const Tensor& x) {
      w.set_grad({});
      const Tensor loss = sum(gelu(w * x) * tanh(w + x) / (square(x) + 1));
      loss.backward();
      return loss;
    });
    step(ones({3000}, {.device = device()}));
    step(randn({3000}).to(device()));
    return w.grad();
  };
  const Tensor direct = grads([](auto f) { return f; });
  const Tensor captured =
      grads([](auto f) { return CapturedStep(f, CapturedStepOptions{.device = device(), .warm_up = 0}); });
  expect_equal(captured, direct);
}

TEST_P(FusedCallsTest, IntermediatesOfAChainNeedNoMemory) {
  if (device().is_cuda()) GTEST_SKIP() << "a graph keeps its blocks";
  constexpr std::int64_t kBytes = 1 << 20;
  const NoGradGuard no_grad;
  CapturedStep step([](const Tensor& x) { return sum(tanh((x * 2 + 1) * x - 3) * x); },
                    {.device = device(), .warm_up = 0});
  const Tensor x = ones({kBytes / 4}, {.device = device()});
  const std::int64_t before = memory_stats(device()).allocated;
  step(x);
  EXPECT_LT(memory_stats(device()).allocated - before, kBytes + (64 << 10)) << "what sum() reads";
}

}  // namespace
}  // namespace minnow
