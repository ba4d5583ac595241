#include <numbers>
#include <minnow/tensor/create.h>
#include <minnow/tensor/internal.h>
#include <minnow/tensor/kernels/philox.h>
#include "cpu_support.h"

namespace minnow {
namespace {

using test::backend;
using test::blank;
using test::get;

constexpr std::int64_t kMany = 200003;
constexpr DType kFloats[] = {DType::float32, DType::float64, DType::float16, DType::bfloat16};

struct Moments {
  double mean = 0, std = 0, low = INFINITY, high = -INFINITY;
};
Moments moments(const Tensor& t) {
  Moments m;
  double squares = 0;
  for (std::int64_t i = 0; i < t.numel(); ++i) {
    const double v = get(t, i);
    m.mean += v, squares += v * v;
    m.low = std::fmin(m.low, v), m.high = std::fmax(m.high, v);
  }
  m.mean /= static_cast<double>(t.numel());
  m.std = std::sqrt(squares / static_cast<double>(t.numel()) - m.mean * m.mean);
  return m;
}

TEST(RandomCpu, UniformStaysInItsRange) {
  for (const DType dtype : kFloats) {
    const Tensor t = blank({kMany}, dtype);
    backend().run(calls::Uniform{{7, 11}, t, 0, 1});
    const Moments m = moments(t);
    EXPECT_NEAR(m.mean, 0.5, 5e-3) << name_of(dtype);
    EXPECT_NEAR(m.std, std::sqrt(1.0 / 12), 3e-3);
    EXPECT_GE(m.low, 0);
    EXPECT_LT(m.high, 1) << name_of(dtype);
    EXPECT_GT(m.high, 0.99);
    backend().run(calls::Uniform{{7, 11}, t, -3, 5});
    EXPECT_NEAR(moments(t).mean, 1, 4e-2);
    EXPECT_NEAR(moments(t).std, 8 * std::sqrt(1.0 / 12), 2e-2);
  }
}

TEST(RandomCpu, Normal) {
  for (const DType dtype : kFloats) {
    const Tensor t = blank({kMany}, dtype);
    backend().run(calls::Normal{{3, 5}, t, 2, 0.5});
    const Moments m = moments(t);
    EXPECT_NEAR(m.mean, 2, 5e-3) << name_of(dtype);
    EXPECT_NEAR(m.std, 0.5, 4e-3);
    EXPECT_GT(m.high, 3.9);
    EXPECT_LT(m.low, 0.1);
    double within = 0;
    for (std::int64_t i = 0; i < kMany; ++i) within += std::fabs(get(t, i) - 2) < 0.5 ? 1 : 0;
    EXPECT_NEAR(within / static_cast<double>(kMany), 0.6827, dtype == DType::bfloat16 ? 1e-2 : 5e-3);
  }
}

/// The i-th number of the stream that begins at a state.
std::uint32_t word(PhiloxState s, std::int64_t i) {
  return kernels::philox(s.offset + static_cast<std::uint64_t>(i / 4), 0, s.seed).lane[i % 4];
}

TEST(RandomCpu, NormalNumbersAreBothCoordinatesOfEachPair) {
  const PhiloxState state{3, 5};
  for (const DType dtype : {DType::float32, DType::float64}) {
    const Tensor t = blank({4001}, dtype);
    backend().run(calls::Normal{state, t, 2, 0.5});
    for (std::int64_t i = 0; i < 4001; ++i) {
      const auto uniform = [&](std::int64_t k) {
        return dtype == DType::float64 ? kernels::uniform_double(word(state, 2 * k), word(state, 2 * k + 1))
                                       : static_cast<double>(kernels::uniform_float(word(state, k)));
      };
      const double radius = std::sqrt(-2 * std::log(1 - uniform(i / 2 * 2))),
                   angle = 2 * std::numbers::pi * uniform(i / 2 * 2 + 1);
      ASSERT_NEAR(get(t, i), 2 + 0.5 * radius * (i % 2 ? std::sin(angle) : std::cos(angle)), 1e-5) << i;
    }
  }
}

TEST(RandomCpu, RandintIsTheUpperHalfOfTheProduct) {
  const PhiloxState state{1, 7};
  const Tensor t = blank({2003}, DType::int64);
  for (const std::int64_t high : {std::int64_t{7}, std::int64_t{0xfffffffff}, std::int64_t{0x7edcba9876543210}}) {
    backend().run(calls::Randint{state, t, 0, high});
    for (std::int64_t i = 0; i < 2003; ++i) {
      __extension__ using Wide = unsigned __int128;
      const std::uint64_t x = (std::uint64_t{word(state, 2 * i + 1)} << 32) | word(state, 2 * i);
      const auto want = static_cast<std::int64_t>((Wide{x} * static_cast<std::uint64_t>(high)) >> 64);
      ASSERT_EQ(static_cast<const std::int64_t*>(t.raw_data())[i], want) << high << " " << i;
    }
  }
}

TEST(RandomCpu, RandintIsEvenAndReachesItsEnds) {
  const Tensor t = blank({kMany}, DType::int64);
  backend().run(calls::Randint{{1, 0}, t, -3, 4});
  double counts[7] = {};
  for (std::int64_t i = 0; i < kMany; ++i) {
    ASSERT_GE(get(t, i), -3);
    ASSERT_LT(get(t, i), 4);
    counts[static_cast<std::size_t>(get(t, i) + 3)] += 7.0 / static_cast<double>(kMany);
  }
  for (const double c : counts) EXPECT_NEAR(c, 1, 0.03);
  backend().run(
      calls::Randint{{1, 0}, t, std::numeric_limits<std::int64_t>::min(), std::numeric_limits<std::int64_t>::max()});
  EXPECT_NEAR(moments(t).mean / 0x1p63, 0, 6e-3);
  EXPECT_NEAR(moments(t).std / 0x1p63, std::sqrt(1.0 / 3), 6e-3);
}

TEST(RandomCpu, Bernoulli) {
  for (const double p : {0.0, 1e-3, 0.3, 0.999, 1.0}) {
    const Tensor t = blank({kMany}, DType::bool_);
    backend().run(calls::Bernoulli{{9, 2}, t, p});
    if (p == 0 || p == 1) { EXPECT_EQ(moments(t).mean, p); }
    EXPECT_NEAR(moments(t).mean, p, 4e-3);
  }
  // P(number < p): a p between two multiples of the step is rounded up.
  const Tensor each = blank({kMany}, DType::bool_), numbers = blank({kMany});
  backend().run(calls::Uniform{{9, 2}, numbers, 0, 1});
  for (const double p : {0.3, get(numbers, 17), get(numbers, 17) + 1e-9}) {
    backend().run(calls::Bernoulli{{9, 2}, each, p});
    for (std::int64_t i = 0; i < kMany; ++i) ASSERT_EQ(get(each, i) != 0, get(numbers, i) < p) << p;
  }
}

TEST(RandomCpu, SameBitsForAnyNumberOfThreads) {
  for (const DType dtype : kFloats) {
    test::expect_thread_invariant([&] {
      const Tensor t = blank({kMany}, dtype);
      backend().run(calls::Uniform{{7, 11}, t, -1, 1});
      return t;
    });
    test::expect_thread_invariant([&] {
      const Tensor t = blank({kMany}, dtype);
      backend().run(calls::Normal{{7, 11}, t, -1, 1});
      return t;
    });
  }
  test::expect_thread_invariant([&] {
    const Tensor t = blank({kMany}, DType::int32);
    backend().run(calls::Randint{{7, 11}, t, 0, 1000});
    return t;
  });
  test::expect_thread_invariant([&] {
    const Tensor t = blank({kMany}, DType::bool_);
    backend().run(calls::Bernoulli{{7, 11}, t, 0.5});
    return t;
  });
}

/// Two draws of n numbers, compared with one stream: the second starts after the last counter that the first used.
void expect_no_overlap(DType dtype, bool normal, std::int64_t n) {
  RandomGenerator generator(42);
  const std::int64_t numbers = dtype == DType::float64 ? 2 * n : n;
  const PhiloxState first = generator.reserve(numbers), second = generator.reserve(numbers);
  const std::int64_t per_counter = dtype == DType::float64 ? 2 : 4;
  const Tensor a = blank({n}, dtype), b = blank({n}, dtype), whole = blank({2 * n + 8}, dtype);
  const auto draw = [&](PhiloxState s, const Tensor& t) {
    normal ? backend().run(calls::Normal{s, t, 0, 1}) : backend().run(calls::Uniform{s, t, 0, 1});
  };
  draw(first, a);
  draw(second, b);
  draw(first, whole);
  const std::int64_t start = (n + per_counter - 1) / per_counter * per_counter;
  for (std::int64_t i = 0; i < n; ++i) {
    EXPECT_EQ(get(a, i), get(whole, i));
    EXPECT_EQ(get(b, i), get(whole, start + i)) << name_of(dtype) << " " << n << " " << i;
  }
}

TEST(RandomCpu, ConsecutiveDrawsNeverOverlap) {
  for (const DType dtype : {DType::float32, DType::float64}) {
    for (const std::int64_t n : {1, 2, 3, 4, 5, 1023, 1025, 2049}) {
      expect_no_overlap(dtype, false, n);
      expect_no_overlap(dtype, true, n);
    }
  }
}

TEST(RandomCpu, FrontEndsReserveWhatTheyRead) {
  const auto taken = [](auto draw) {
    RandomGenerator generator(1);
    draw(generator);
    return generator.state().offset;
  };
  for (const std::int64_t n : {1, 5, 1001}) {
    const auto one = static_cast<std::uint64_t>((n + 3) / 4), two = static_cast<std::uint64_t>((2 * n + 3) / 4);
    for (const DType dtype : {DType::float32, DType::float64}) {
      const std::uint64_t expected = dtype == DType::float64 ? two : one;
      EXPECT_EQ(taken([&](RandomGenerator& g) { rand({n}, {.dtype = dtype, .generator = &g}); }), expected);
      EXPECT_EQ(taken([&](RandomGenerator& g) { randn({n}, {.dtype = dtype, .generator = &g}); }), expected);
    }
    EXPECT_EQ(taken([&](RandomGenerator& g) { randint(0, 9, {n}, {.dtype = DType::int64, .generator = &g}); }), two);
  }
}

}  // namespace
}  // namespace minnow
