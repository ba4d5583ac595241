#include <cmath>
#include <functional>
#include <minnow/ops/elementwise/arithmetic.h>
#include <minnow/ops/elementwise/unary.h>
#include <minnow/ops/indexing/sort.h>
#include <minnow/ops/random/sample.h>
#include <minnow/ops/reductions/reduce.h>
#include <minnow/ops/reductions/statistics.h>
#include <minnow/tensor/create.h>
#include <minnow/tensor/error.h>
#include <minnow/tensor/random.h>
#include <minnow/tensor/runtime/threads.h>

#include "devices.h"
#include "errors.h"
#include "op_cases.h"

namespace minnow::test {
namespace {

OpCases sampled() {
  OpCases cases;
  const auto in_place = [&](const std::string& function, void (*write)(const Tensor&),
                            const std::vector<DType>& dtypes) {
    cases.push_back({.function = function,
                     .call = written([write](Tensor& y, const Tensors&) { write(y); }),
                     .inputs = {{values({3, 5})}, {values({0, 2})}, {values({})}},
                     .dtypes = dtypes});
  };
  in_place(
      "uniform_", [](const Tensor& y) { y.uniform_(-1, 2); }, floating_point_dtypes());
  in_place(
      "normal_", [](const Tensor& y) { y.normal_(1, 2); }, floating_point_dtypes());
  in_place(
      "log_normal_", [](const Tensor& y) { y.log_normal_(0, 0.5); }, floating_point_dtypes());
  in_place(
      "exponential_", [](const Tensor& y) { y.exponential_(2); }, floating_point_dtypes());
  in_place(
      "cauchy_", [](const Tensor& y) { y.cauchy_(1, 0.5); }, floating_point_dtypes());
  in_place(
      "geometric_", [](const Tensor& y) { y.geometric_(0.3); }, all_dtypes());
  in_place(
      "bernoulli_", [](const Tensor& y) { y.bernoulli_(0.3); }, all_dtypes());
  in_place(
      "random_", [](const Tensor& y) { y.random_(0, 2); }, all_dtypes());
  in_place(
      "random_", [](const Tensor& y) { y.random_(); }, all_dtypes());
  cases.push_back({.function = "bernoulli",
                   .call = one([](const Tensors& x) { return bernoulli(x[0]); }),
                   .inputs = {{values({3, 5}, 0, 1)}, {values({0, 2}, 0, 1)}, {values({}, 0, 1)}}});
  cases.push_back({.function = "multinomial",
                   .variant = "with replacement",
                   .call = one([](const Tensors& x) { return multinomial(x[0], 6, true); }),
                   .inputs = {{values({3, 4})}, {values({5})}, {values({0, 4})}}});
  cases.push_back({.function = "multinomial",
                   .variant = "without replacement",
                   .call = one([](const Tensors& x) { return multinomial(x[0], 3); }),
                   .inputs = {{values({3, 4})}, {values({5})}, {values({0, 4})}}});
  for (OpCase& c : cases) {
    c.gradient = Gradient::kNone;
    c.exact = false;  // another dtype takes other numbers
    c.without_golden = "the numbers of PyTorch's generators are others; moments are tested below";
  }
  return cases;
}

const Register kSampled(sampled);

class Sample : public DeviceTest {};
INSTANTIATE_TEST_SUITE_P(Devices, Sample, all_devices(), device_test_name);

struct Moments {
  std::function<void(const Tensor&)> draw;
  double mean, std;
};

TEST_P(Sample, MomentsAreThoseOfTheDistribution) {
  const double e = std::exp(0.125);
  const Moments all_of[] = {{[](const Tensor& y) { y.uniform_(-1, 3); }, 1, 4 / std::sqrt(12.0)},
                            {[](const Tensor& y) { y.normal_(2, 0.5); }, 2, 0.5},
                            {[](const Tensor& y) { y.log_normal_(0, 0.5); }, e, e * std::sqrt(std::exp(0.25) - 1)},
                            {[](const Tensor& y) { y.exponential_(4); }, 0.25, 0.25},
                            {[](const Tensor& y) { y.geometric_(0.3); }, 1 / 0.3, std::sqrt(0.7) / 0.3},
                            {[](const Tensor& y) { y.bernoulli_(0.2); }, 0.2, 0.4},
                            {[](const Tensor& y) { y.random_(-2, 3); }, 0, std::sqrt(2.0)},
                            {[](const Tensor& y) { y.copy_(bernoulli(full_like(y, 0.2))); }, 0.2, 0.4}};
  constexpr std::int64_t kCount = 40'000;
  for (const DType dtype : {float32, float64})
    for (std::size_t k = 0; k < std::size(all_of); ++k) {
      manual_seed(7);
      const Tensor y = empty({kCount}, {dtype, device()});
      all_of[k].draw(y);
      const auto [deviation, mean] = std_mean(y.to(float64));
      EXPECT_NEAR(mean.item(), all_of[k].mean, 5 * all_of[k].std / std::sqrt(double{kCount})) << k;
      EXPECT_NEAR(deviation.item(), all_of[k].std, 0.03 * all_of[k].std) << k;
    }
  manual_seed(7);  // a Cauchy distribution has no moments, but quartiles
  const Tensor sorted = empty({kCount}, {float64, device()}).cauchy_(1, 0.5).sort().values;
  EXPECT_NEAR(sorted(kCount / 4).item(), 0.5, 0.03);
  EXPECT_NEAR(sorted(kCount / 2).item(), 1, 0.03);
  EXPECT_NEAR(sorted(3 * kCount / 4).item(), 1.5, 0.03);
}

/// Numbers without functions of a library have the same bits everywhere, for any number of threads.
TEST_P(Sample, TheSameOnEveryDeviceAndForAnyNumberOfThreads) {
  const auto draw = [](Device on) {
    manual_seed(11);
    Tensors drawn;
    for (const DType dtype : {float32, float64, float16}) {
      drawn.push_back(empty({5001}, {dtype, on}).exponential_(1.5).cpu());
      drawn.push_back(empty({5001}, {dtype, on}).uniform_(-1, 1).cpu());
      drawn.push_back(empty({5001}, {dtype, on}).normal_().cpu());
      drawn.push_back(empty({5001}, {dtype, on}).geometric_(0.4).cpu());
    }
    drawn.push_back(empty({5001}, {int8, on}).random_().cpu());
    drawn.push_back(multinomial(arange(1, 60, 1, {float32, on}), 30).cpu());
    drawn.push_back(multinomial(arange(1, 60, 1, {float32, on}), 3000, true).cpu());
    return drawn;
  };
  const int before = num_threads();
  set_num_threads(1);
  const Tensors want = draw(Device());
  set_num_threads(3);
  const Tensors got = draw(device());
  set_num_threads(before);
  for (std::size_t k = 0; k < want.size(); ++k) EXPECT_TRUE(equal(got[k], want[k])) << k;
}

TEST_P(Sample, ExponentialIsAboveZero) {
  manual_seed(0);
  EXPECT_GT(empty({1 << 18}, device()).exponential_().min().item(), 0);
  EXPECT_GE(empty({1 << 18}, {int32, device()}).geometric_(0.999).min().item(), 1);
}

TEST_P(Sample, GeometricSaturatesInSmallIntegers) {
  manual_seed(3);
  const auto ends = [&](DType dtype) {
    const Tensor x = empty({1000}, {dtype, device()}).geometric_(1e-19).to(int64);
    return std::pair(x.min().item<std::int64_t>(), x.max().item<std::int64_t>());
  };
  EXPECT_EQ(ends(int8), std::pair(std::int64_t{127}, std::int64_t{127}));
  EXPECT_EQ(ends(uint8), std::pair(std::int64_t{255}, std::int64_t{255}));
  EXPECT_EQ(ends(int16), std::pair(std::int64_t{32767}, std::int64_t{32767}));
  EXPECT_EQ(ends(int32), std::pair(std::int64_t{INT32_MAX}, std::int64_t{INT32_MAX}));
  EXPECT_GT(ends(int64).first, 0);
  EXPECT_GT(ends(int64).second, INT64_MAX - 1024);
}

TEST(SampleErrors, BernoulliRefusesWhatIsNoProbability) {
  for (const DType dtype : {float32, float64, float16, bfloat16})
    for (const double p : {2.0, -0.5, double(NAN)})
      expect_errors(
          {Misuse{"ValueError", "bernoulli", "p must be in [0, 1]: 1 of 3 values are not, the first is ", [=] {
                    (void)bernoulli(tensor({0.0, p, 1.0}, dtype));
                  }}});
  EXPECT_TRUE(equal(bernoulli(tensor({0.0, 1.0})), tensor({0.0, 1.0})));
}

TEST_P(Sample, MultinomialFollowsTheWeights) {
  manual_seed(4);
  const Tensor weights = tensor({{1.0, 0.0, 3.0}, {2.0, 2.0, 0.0}}, {float32, device()});
  constexpr std::int64_t kCount = 20'000;
  const Tensor drawn = multinomial(weights, kCount, true).cpu();
  EXPECT_NEAR(double(count_nonzero(drawn(0) == 2).item<std::int64_t>()) / kCount, 0.75, 0.02);
  EXPECT_EQ(count_nonzero(drawn(0) == 1).item<std::int64_t>(), 0);
  EXPECT_NEAR(double(count_nonzero(drawn(1) == 0).item<std::int64_t>()) / kCount, 0.5, 0.02);
  EXPECT_EQ(count_nonzero(drawn(1) == 2).item<std::int64_t>(), 0);
  const Tensor first = multinomial(weights.narrow(0, 0, 1).expand({kCount, 3}), 2).cpu();
  EXPECT_EQ(count_nonzero(first == 1).item<std::int64_t>(), 0);
  EXPECT_NEAR(double(count_nonzero(first(all, 0) == 2).item<std::int64_t>()) / kCount, 0.75, 0.02);
  EXPECT_TRUE(all(first(all, 0) != first(all, 1)).item<bool>());
}

TEST_P(Sample, RefusesParametersOfNoDistribution) {
  const Tensor x = zeros({3}, device());
  EXPECT_THROW(x.uniform_(2, 1), ValueError);
  EXPECT_THROW(x.normal_(0, -1), ValueError);
  EXPECT_THROW(x.log_normal_(0, 0), ValueError);
  EXPECT_THROW(x.exponential_(0), ValueError);
  EXPECT_THROW(x.cauchy_(0, -1), ValueError);
  EXPECT_THROW(x.geometric_(1), ValueError);
  EXPECT_THROW(x.bernoulli_(1.5), ValueError);
  EXPECT_THROW(x.random_(3, 3), ValueError);
  EXPECT_THROW(x.to(int8).random_(0, 200), ValueError);
  EXPECT_THROW(x.to(bool_).random_(0, 3), ValueError);
  EXPECT_THROW((void)multinomial(ones({3}, device()), 4), ValueError);
  EXPECT_THROW((void)multinomial(ones({3}, device()), 0), ValueError);
  EXPECT_THROW((void)multinomial(ones({3, 0}, device()), 1), ShapeError);
  EXPECT_THROW((void)multinomial(ones({}, device()), 1), ShapeError);
  const auto bad = [](double a, double b, bool replacement) {
    finish([&] { (void)multinomial(tensor({a, b}, {float32, device()}), replacement ? 1 : 2, replacement); });
  };
  for (const bool replacement : {true, false}) {
    EXPECT_THROW(bad(1, -1, replacement), Error);
    EXPECT_THROW(bad(0, 0, replacement), Error);
    EXPECT_THROW(bad(1, NAN, replacement), Error);
    EXPECT_THROW(bad(1, INFINITY, replacement), Error);
  }
  EXPECT_THROW(bad(1, 0, false), Error);
  EXPECT_NO_THROW(bad(1, 0, true));
}

TEST_P(Sample, WritesThroughAViewAndHasNoGradient) {
  const Tensor x = zeros({2, 3}, device());
  x(all, 1).uniform_(5, 6);
  EXPECT_EQ(count_nonzero(x >= 5).item<std::int64_t>(), 2);
  const Tensor leaf = zeros({3}, device()).requires_grad_();
  EXPECT_THROW(leaf.normal_(), AutogradError);
  const Tensor y = leaf * 2;
  y.normal_();
  EXPECT_FALSE(y.requires_grad());
}

}  // namespace
}  // namespace minnow::test
