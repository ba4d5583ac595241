#include <algorithm>
#include <cmath>
#include <functional>
#include <gtest/gtest.h>
#include <minnow/tensor/create.h>
#include <minnow/tensor/error.h>
#include <minnow/tensor/io/state_dict.h>
#include <minnow/tensor/runtime/threads.h>
#include "devices.h"

namespace minnow {
namespace {

constexpr std::int64_t kMany = 40'000;

/// The Kolmogorov-Smirnov statistic against `cumulative`, times sqrt(n): above 1.95 with probability 1e-3.
double kolmogorov(std::vector<double> sample, const std::function<double(double)>& cumulative) {
  std::sort(sample.begin(), sample.end());
  const double n = static_cast<double>(sample.size());
  double distance = 0;
  for (std::size_t i = 0; i < sample.size(); ++i) {
    const double want = cumulative(sample[i]), below = static_cast<double>(i) / n;
    distance = std::max({distance, want - below, below + 1 / n - want});
  }
  return distance * std::sqrt(n);
}

/// The correlation of each number with the one `lag` later.
double correlation(const std::vector<double>& x, std::size_t lag) {
  double mean = 0, square = 0, product = 0;
  for (const double v : x) mean += v / static_cast<double>(x.size());
  for (std::size_t i = 0; i + lag < x.size(); ++i) {
    square += (x[i] - mean) * (x[i] - mean);
    product += (x[i] - mean) * (x[i + lag] - mean);
  }
  return product / square;
}

double uniform(double x) { return std::clamp(x, 0.0, 1.0); }
double normal(double x) { return 0.5 * std::erfc(-x / std::sqrt(2.0)); }

class RandomCreation : public test::DeviceTest {};
INSTANTIATE_TEST_SUITE_P(Devices, RandomCreation, test::all_devices(), test::device_test_name);

TEST_P(RandomCreation, FollowsItsDistribution) {
  RandomGenerator generator(2026);
  for (const DType dtype : {float32, float64, DType::float16, DType::bfloat16}) {
    // A half rounds to steps of up to 2^-9 (2^-12) of 1: the distance grows by half a step at most.
    const double steps = is_half(dtype) ? (dtype == DType::bfloat16 ? 0x1p-9 : 0x1p-12) * std::sqrt(kMany) : 0;
    const auto u = rand({kMany}, {dtype, device(), &generator}).to_vector<double>();
    EXPECT_LT(kolmogorov(u, uniform), 1.95 + steps) << name_of(dtype);
    EXPECT_GE(*std::min_element(u.begin(), u.end()), 0);
    EXPECT_LT(*std::max_element(u.begin(), u.end()), 1) << name_of(dtype);
    const auto z = randn({kMany}, {dtype, device(), &generator}).to_vector<double>();
    EXPECT_LT(kolmogorov(z, normal), 1.95 + steps) << name_of(dtype);
    for (const std::size_t lag : {1U, 2U, 3U, 4U, 1024U}) {
      EXPECT_LT(std::abs(correlation(u, lag)), 4 / std::sqrt(kMany)) << name_of(dtype) << " lag " << lag;
      EXPECT_LT(std::abs(correlation(z, lag)), 4 / std::sqrt(kMany)) << name_of(dtype) << " lag " << lag;
    }
  }
}

TEST_P(RandomCreation, AStateContinuesTheStream) {
  RandomGenerator generator(0xfedcba9876543217), other(1);  // more bits than a double has
  generator.set_state({0xfedcba9876543217, (std::uint64_t{1} << 61) + 1});
  const StateDict state = generator.state_dict();
  const auto draw = [&](RandomGenerator& g) { return rand({5}, {float32, device(), &g}).to_vector<float>(); };
  const auto want = draw(generator);
  other.load_state_dict(state);
  EXPECT_EQ(draw(other), want);
  EXPECT_EQ(other.state().seed, generator.state().seed);
  EXPECT_EQ(other.state().offset, generator.state().offset);
  StateDict bad{{"seed", state.at("seed")}, {"offset", zeros({})}};
  EXPECT_THROW(other.load_state_dict(bad), ValueError);
  EXPECT_THROW(other.load_state_dict({{"seed", state.at("seed")}}), ValueError);
  EXPECT_EQ(other.state().offset, generator.state().offset);
}

TEST_P(RandomCreation, IntegersAndOrdersAreEven) {
  RandomGenerator generator(7);
  std::vector<double> counts(13), first(6);
  for (const auto v : randint(-6, 7, {kMany}, {DType::int64, device(), &generator}).to_vector<std::int64_t>())
    ++counts.at(static_cast<std::size_t>(v + 6));
  double statistic = 0;
  for (const double c : counts) statistic += (c - kMany / 13.0) * (c - kMany / 13.0) / (kMany / 13.0);
  EXPECT_LT(statistic, 33);  // 12 degrees of freedom, once in 1,000
  for (int k = 0; k < 3000; ++k) {
    auto order = randperm(6, {DType::int64, device(), &generator}).to_vector<std::int64_t>();
    ++first.at(static_cast<std::size_t>(order[0]));
    std::sort(order.begin(), order.end());
    ASSERT_EQ(order, (std::vector<std::int64_t>{0, 1, 2, 3, 4, 5}));
  }
  for (const double c : first) EXPECT_NEAR(c, 500, 80);
}

TEST_P(RandomCreation, IntegersAndOrdersHaveTheDTypeThatIsAskedFor) {
  for (int k = 0; k < kDTypeCount; ++k) {
    const auto dtype = static_cast<DType>(k);
    const std::int64_t high = dtype == bool_ ? 2 : dtype == int8 ? 128 : 256;
    RandomGenerator generator(3), same(3), order(3), same_order(3);
    const Tensor drawn = randint(0, high, {1000}, {dtype, device(), &generator});
    EXPECT_EQ(drawn.dtype(), dtype);
    EXPECT_EQ(drawn.device(), device());
    const auto want = randint(0, high, {1000}, {.device = device(), .generator = &same});
    EXPECT_EQ(want.dtype(), int64);
    EXPECT_EQ(drawn.to_vector<double>(), want.to_vector<double>()) << name_of(dtype);
    const Tensor permuted = randperm(high, {dtype, device(), &order});
    EXPECT_EQ(permuted.dtype(), dtype);
    EXPECT_EQ(permuted.to_vector<double>(), randperm(high, {.generator = &same_order}).to_vector<double>());
  }
  EXPECT_EQ(randint(0, 2, {0}, {uint8, device()}).dtype(), uint8);
}

TEST_P(RandomCreation, IsTheSameForAnyNumberOfThreadsOnEveryDevice) {
  const auto draw = [](Device where, int threads) {
    set_num_threads(threads);
    RandomGenerator generator(99);
    std::vector<std::vector<double>> all;
    for (const DType dtype : {float32, float64, DType::float16, DType::bfloat16}) {
      all.push_back(rand({100'003}, {dtype, where, &generator}).to_vector<double>());
      all.push_back(randn({100'003}, {dtype, where, &generator}).to_vector<double>());
    }
    all.push_back(randint(0, 1'000'000, {100'003}, {DType::int64, where, &generator}).to_vector<double>());
    all.push_back(randperm(5000, {DType::int64, where, &generator}).to_vector<double>());
    return all;
  };
  const int before = num_threads();
  const auto want = draw(Device(), 1);
  for (const int threads : {1, 2, 5}) EXPECT_TRUE(draw(device(), threads) == want) << threads;
  set_num_threads(before);
}

}  // namespace
}  // namespace minnow
