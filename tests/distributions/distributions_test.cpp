#include <cmath>
#include <gtest/gtest.h>
#include <limits>
#include <numbers>
#include <minnow/distributions/detail/parameters.h>
#include <minnow/distributions/distributions.h>
#include <minnow/minnow.h>
#include "support/devices.h"
#include "support/errors.h"
#include "support/golden.h"
#include "support/thrown.h"

namespace minnow::test {
namespace {

using namespace distributions;

using Tensors = std::vector<Tensor>;

class Distributions : public DeviceTest {};
INSTANTIATE_TEST_SUITE_P(Devices, Distributions, all_devices(), device_test_name);

/// A distribution of `count` parameters.
struct Family {
  const char* name;
  std::size_t count;
  std::function<std::shared_ptr<Distribution>(const Tensor* parameters)> make;
};

template <class D> Family of_two(const char* name) {
  return {name, 2, [](const Tensor* p) { return std::make_shared<D>(p[0], p[1]); }};
}
template <class D> Family of_one(const char* name) {
  return {name, 1, [](const Tensor* p) { return std::make_shared<D>(p[0]); }};
}

std::vector<Family> families() {
  return {
      of_two<Normal>("Normal"),
      of_two<LogNormal>("LogNormal"),
      of_two<Laplace>("Laplace"),
      of_two<Uniform>("Uniform"),
      of_one<Exponential>("Exponential"),
      of_two<Gamma>("Gamma"),
      of_two<Beta>("Beta"),
      of_one<Dirichlet>("Dirichlet"),
      of_one<Bernoulli>("Bernoulli"),
      {"Bernoulli logits", 1,
       [](const Tensor* p) { return std::make_shared<Bernoulli>(ProbsOrLogits{.logits = p[0]}); }},
      of_one<Categorical>("Categorical"),
      {"Categorical logits", 1,
       [](const Tensor* p) { return std::make_shared<Categorical>(ProbsOrLogits{.logits = p[0]}); }},
      {"MultivariateNormal", 2,
       [](const Tensor* p) { return std::make_shared<MultivariateNormal>(p[0], Spread{.scale_tril = p[1]}); }},
      {"MultivariateNormal covariance", 2,
       [](const Tensor* p) { return std::make_shared<MultivariateNormal>(p[0], Spread{.covariance_matrix = p[1]}); }},
      {"Independent", 2, [](const Tensor* p) { return std::make_shared<Independent>(Normal(p[0], p[1]), 1); }}};
}

TEST_P(Distributions, GivePyTorchsValuesAndGradients) {
  const Book book("distributions", device());
  std::set<std::string> known{"standard_gamma_grad"};
  for (const Family& family : families()) {
    const std::string name = family.name;
    const std::size_t n = family.count;
    const std::map<std::string, Function> functions{
        {"log_prob", [&](const Tensors& x) { return Tensors{family.make(x.data())->log_prob(x[n])}; }},
        {"entropy", [&](const Tensors& x) { return Tensors{family.make(x.data())->entropy()}; }},
        {"kl",
         [&](const Tensors& x) { return Tensors{kl_divergence(*family.make(x.data()), *family.make(x.data() + n))}; }},
        {"mean", [&](const Tensors& x) { return Tensors{family.make(x.data())->mean()}; }},
        {"variance", [&](const Tensors& x) { return Tensors{family.make(x.data())->variance()}; }}};
    for (const auto& [what, function] : functions) {
      const std::string key = name + "/" + what;
      known.insert(key);
      if (name.starts_with("Categorical") && (what == "mean" || what == "variance")) continue;
      ASSERT_TRUE(book.contains(key + "/in0")) << key;
      SCOPED_TRACE(key);
      expect_golden(book, key, function);
    }
  }
  for (const std::string& name : book.cases()) EXPECT_TRUE(known.contains(name)) << name;
}

TEST_P(Distributions, DensitiesMatchDifferences) {
  const Tensor x = tensor({0.4, 0.8}, float64).to(device());
  const auto leaf = [&](double a, double b) { return tensor({a, b}, float64).to(device()).requires_grad_(); };
  const auto check = [&](const auto& f, const Tensors& inputs) {
    gradcheck([&](const Tensors& p) -> Tensor { return f(p); }, inputs);
    gradgradcheck([&](const Tensors& p) -> Tensor { return f(p); }, inputs);
  };
  check([&](const Tensors& p) { return Normal(p[0], p[1]).log_prob(x); }, {leaf(0.1, 0.2), leaf(0.5, 0.9)});
  check([&](const Tensors& p) { return Gamma(p[0], p[1]).log_prob(x); }, {leaf(1.1, 2.2), leaf(0.5, 0.9)});
  check([&](const Tensors& p) { return Beta(p[0], p[1]).log_prob(x); }, {leaf(1.1, 2.2), leaf(0.5, 0.9)});
  check([&](const Tensors& p) { return Bernoulli({.logits = p[0]}).log_prob(ones_like(x)); }, {leaf(0.3, -0.4)});
  check([&](const Tensors& p) { return Categorical({.logits = p[0]}).entropy(); }, {leaf(0.3, -0.4)});
}

/// Mean and variance of samples are within five standard errors of the distribution's; they are those of the seed.
TEST_P(Distributions, SamplesHaveTheMoments) {
  constexpr std::int64_t kCount = 20000;
  const Tensor a = tensor({0.3, 1.0, 2.5, 12.0}, float64).to(device()),
               b = tensor({1.5, 0.7, 3.0, 2.0}, float64).to(device());
  const Tensor l = tensor({{1.0, 0.0}, {0.5, 0.8}}, float64).to(device());
  std::vector<std::shared_ptr<Distribution>> list{
      std::make_shared<Normal>(a, b),
      std::make_shared<LogNormal>(a / 10, b / 10),
      std::make_shared<Laplace>(a, b),
      std::make_shared<Uniform>(a, a + b),
      std::make_shared<Exponential>(b),
      std::make_shared<Gamma>(a, b),
      std::make_shared<Beta>(a, b),
      std::make_shared<Dirichlet>(a),
      std::make_shared<Bernoulli>(sigmoid(a - b)),
      std::make_shared<MultivariateNormal>(tensor({1.0, -1.0}, float64).to(device()), Spread{.scale_tril = l}),
      std::make_shared<Independent>(Normal(a, b), 1)};
  for (const auto& p : list) {
    SCOPED_TRACE(p->name());
    RandomGenerator generator(5), same(5);
    const Tensor x = p->sample({kCount}, &generator);
    EXPECT_TRUE(x.equal(p->sample({kCount}, &same)));
    EXPECT_FALSE(x.equal(p->sample({kCount}, &same)));
    EXPECT_EQ(x.dtype(), float64);
    EXPECT_EQ(x.device(), device());
    EXPECT_FALSE(x.requires_grad());
    const auto found_mean = mean(x, 0).to_vector<double>(), want_mean = p->mean().to_vector<double>();
    const auto found_variance = var(x, 0).to_vector<double>(), want_variance = p->variance().to_vector<double>();
    const auto fourth = mean(square(square(x - p->mean())), 0).to_vector<double>();
    for (std::size_t i = 0; i < want_mean.size(); ++i) {
      EXPECT_NEAR(found_mean[i], want_mean[i], 5 * std::sqrt(want_variance[i] / kCount)) << i;
      const double error = std::sqrt(std::max(fourth[i] - want_variance[i] * want_variance[i], 1e-12) / kCount);
      EXPECT_NEAR(found_variance[i], want_variance[i], 5 * error) << i;
    }
    EXPECT_TRUE(isfinite(p->log_prob(x)).to_vector<bool>() ==
                std::vector<bool>(static_cast<std::size_t>(p->log_prob(x).numel()), true));
  }
  const Categorical p(tensor({{1.0, 2.0, 0.0, 1.0}, {0.0, 0.0, 5.0, 0.0}}, float64).to(device()));
  RandomGenerator generator(5);
  const Tensor x = p.sample({kCount}, &generator);
  EXPECT_EQ(x.shape(), (Shape{kCount, 2}));
  EXPECT_EQ(x.dtype(), int64);
  const double wants[2][4] = {{0.25, 0.5, 0, 0.25}, {0, 0, 1, 0}};
  for (int row = 0; row < 2; ++row)
    for (int k = 0; k < 4; ++k) {
      const double found = mean(eq(x.select(1, row), k).to(float64)).item(), want = wants[row][k];
      EXPECT_NEAR(found, want, 5 * std::sqrt(want * (1 - want) / kCount)) << row << " " << k;
    }
}

TEST_P(Distributions, SamplesAreTheSameOnEveryDevice) {
  const auto draw = [](const Device& d, auto make) {
    RandomGenerator generator(3);
    return make(tensor({0.4, 2.0}).to(d)).sample({5}, &generator).cpu();
  };
  const auto gamma = [](const Tensor& a) { return Gamma(a, 2); };
  const auto normal = [](const Tensor& a) { return Normal(a, 2); };
  const auto categorical = [](const Tensor& a) { return Categorical(a); };
  EXPECT_TRUE(draw(device(), gamma).allclose(draw("cpu", gamma)));
  EXPECT_TRUE(draw(device(), normal).allclose(draw("cpu", normal)));
  EXPECT_TRUE(draw(device(), categorical).equal(draw("cpu", categorical)));
}

/// The gradient of the mean of samples is that of the mean.
TEST_P(Distributions, SamplesHaveGradients) {
  constexpr std::int64_t kCount = 20000;
  Tensor a = tensor({0.4, 1.5, 9.0}, float64).to(device()).requires_grad_(),
         b = tensor({0.7, 2.0, 3.0}, float64).to(device()).requires_grad_();
  const std::vector<std::shared_ptr<Distribution>> list{
      std::make_shared<Normal>(a, b),      std::make_shared<Laplace>(a, b),
      std::make_shared<Uniform>(a, a + b), std::make_shared<LogNormal>(a / 10, b / 10),
      std::make_shared<Gamma>(a, b),       std::make_shared<Beta>(a, b)};
  for (const auto& p : list) {
    SCOPED_TRACE(p->name());
    RandomGenerator generator(7);
    const Tensors found = grad({sum(mean(p->rsample({kCount}, &generator), 0))}, {a, b}, {.retain_graph = true});
    const Tensors want = grad({sum(p->mean())}, {a, b}, {.allow_unused = true});
    for (std::size_t i = 0; i < 2; ++i) {
      const Tensor exact = want[i].defined() ? want[i] : zeros_like(a);
      EXPECT_TRUE(found[i].allclose(exact, 0.1, 0.03)) << to_string(found[i]) << to_string(exact);
    }
  }
  const Tensor weights = tensor({1.0, -2.0, 0.5}, float64).to(device());
  RandomGenerator generator(7);
  const Tensor found = grad(sum(weights * mean(Dirichlet(a).rsample({kCount}, &generator), 0)), a);
  EXPECT_TRUE(found.allclose(grad(sum(weights * Dirichlet(a).mean()), a), 0.1, 0.03));
}

/// Gammas of such concentrations are 0 in floating point, but their shares are not.
TEST_P(Distributions, SmallConcentrationsHaveTheMoments) {
  constexpr std::int64_t kCount = 40000;
  RandomGenerator generator(9);
  const auto number = [](const Tensor& t) { return t.to(float64).item(); };
  // Of halves some values are rounded to 0.5, and none is above 1 - 2^-8.
  for (const DType dtype : {float32, float64, float16, bfloat16})
    for (const double a : {0.01, 0.001, 1e-5, 1e-30}) {
      if (dtype == float16 && a < 1e-7) continue;  // 0
      SCOPED_TRACE(std::string(name_of(dtype)) + " " + std::to_string(a));
      const Tensor c = full({3}, a, dtype).to(device());
      const Tensor beta = Beta(c(0), c(0)).sample({kCount}, &generator).to(float64);
      EXPECT_NEAR(number(mean(beta)), 0.5, 5 * 0.5 / std::sqrt(kCount));
      EXPECT_NEAR(number(beta.std()), std::sqrt(0.25 / (2 * a + 1)), is_half(dtype) ? 0.003 : 0.001);
      EXPECT_LE(number(sum(eq(beta, 0.5))), is_half(dtype) ? 20 : 0);
      const double between = number(mean(logical_and(gt(beta, 0.01), lt(beta, 0.99)).to(float64)));
      EXPECT_NEAR(between, 4.55 * a, 0.005);  // exact is 0.0451 for 0.01
      const Tensor dirichlet = Dirichlet(c).sample({kCount}, &generator).to(float64);
      EXPECT_TRUE(allclose(mean(dirichlet, 0), full_like(dirichlet(0), 1.0 / 3), 0, 0.013)) << mean(dirichlet, 0);
      EXPECT_TRUE(allclose(dirichlet.std(0), full_like(dirichlet(0), std::sqrt(2.0 / 9 / (3 * a + 1))), 0, 0.005));
      EXPECT_TRUE(isfinite(dirichlet).all().item<bool>());
    }
  for (const DType dtype : {float32, float64}) {
    const Tensor a = tensor({0.01, 0.002}, dtype).to(device()).requires_grad_(),
                 b = tensor({0.02, 0.001}, dtype).to(device()).requires_grad_();
    const Tensors found = grad({sum(mean(Beta(a, b).rsample({kCount * 5}, &generator), 0))}, {a, b});
    const Tensors want = grad({sum(a / (a + b))}, {a, b});
    for (std::size_t i = 0; i < 2; ++i)
      EXPECT_TRUE(found[i].allclose(want[i], 0.1)) << to_string(found[i]) << to_string(want[i]);
  }
}

TEST_P(Distributions, TheGradientOfGammaSamplesIsPyTorchs) {
  const Book book("distributions", device());
  const Tensor a = book["standard_gamma_grad/concentration"];
  const Tensor value = book["standard_gamma_grad/value"], want = book["standard_gamma_grad/grad"];
  expect_close(distributions::detail::standard_gamma_gradient(a.expand(value.shape()), value), want, "grad",
               {1e-6, 1e-9});
  expect_close(distributions::detail::log_standard_gamma_gradient(a.expand(value.shape()), log(value)), want / value,
               "grad of the logarithm", {1e-6, 1e-9});
  // In float32 too, where its terms cancel: beside 0.9 and 1.1 of the concentration.
  const Tensor large = tensor({9.0f, 12.8f, 20.0f, 50.0f}).to(device());
  for (const double part : {0.85, 0.89, 1.11, 1.15}) {
    const Tensor near = large * part;
    const auto both = [&](DType dtype) {
      return distributions::detail::standard_gamma_gradient(large.to(dtype), near.to(dtype)).to(DType::float64);
    };
    expect_close(both(DType::float32), both(DType::float64), "grad in float32", {1e-6, 0});
  }
}

TEST(DistributionsDtypes, ParametersMayBeNumbersAndHalves) {
  const Normal standard(0, 1);
  EXPECT_EQ(standard.batch_shape(), (Shape{}));
  EXPECT_EQ(standard.sample({2}).dtype(), float32);
  EXPECT_NEAR(standard.log_prob(0.5).item(), -0.5 * 0.25 - 0.5 * std::log(2 * std::numbers::pi), 1e-6);
  const Gamma half(full({3}, 0.5, float16), 2);
  EXPECT_EQ(half.sample().dtype(), float16);
  const Normal mixed(zeros({2, 1}, float64), ones({3}, float64));
  EXPECT_EQ(mixed.rsample({4}).shape(), (Shape{4, 2, 3}));
  EXPECT_EQ(Independent(mixed, 1).log_prob(zeros({4, 2, 3}, float64)).shape(), (Shape{4, 2}));
  EXPECT_EQ(Independent(mixed, 1).event_shape(), (Shape{3}));
  EXPECT_EQ(Dirichlet(ones({2, 3})).entropy().shape(), (Shape{2}));
  EXPECT_EQ(Uniform(0, 2).log_prob(3).item(), -kInfinity);
  EXPECT_EQ(kl_divergence(Uniform(0, 2), Uniform(0, 1)).item(), kInfinity);
  EXPECT_EQ(kl_divergence(Categorical(tensor({0.5, 0.5})), Categorical(tensor({1.0, 0.0}))).item(), kInfinity);
  EXPECT_NEAR(kl_divergence(Categorical(tensor({1.0, 0.0})), Categorical(tensor({0.5, 0.5}))).item(), std::log(2),
              1e-6);
}

TEST(DistributionsDtypes, HalvesAreDrawnFromEnoughNumbers) {
  manual_seed(5);
  for (const DType dtype : {DType::float16, DType::bfloat16}) {
    const Tensor chosen = distributions::Categorical(ones({4000}).to(dtype)).sample({300});
    EXPECT_NEAR(chosen.to(float64).mean().item(), 2000, 300);  // 67 is the standard deviation
    const Tensor rare = distributions::Bernoulli(full({200000}, 0.001).to(dtype)).sample();
    EXPECT_NEAR(rare.to(float64).mean().item(), 0.001, 0.0004);
    EXPECT_EQ(distributions::Exponential(ones({4}).to(dtype)).sample({2}).dtype(), dtype);
  }
}

TEST(DistributionsDtypes, OutsideOfTheSupportTheDensityIsZero) {
  const double none = -std::numeric_limits<double>::infinity();
  EXPECT_EQ(distributions::Exponential(2.0).log_prob(tensor(-1.0)).item(), none);
  EXPECT_EQ(distributions::Beta(2.0, 1.0).log_prob(tensor(1.5)).item(), none);
  EXPECT_EQ(distributions::Bernoulli(0.3).log_prob(tensor(2.0)).item(), none);
  EXPECT_NEAR(distributions::Bernoulli(0.3).log_prob(tensor(0.25)).item(), 0.25 * std::log(0.3) + 0.75 * std::log(0.7),
              1e-6);
}

TEST(DistributionsErrors, ParametersOutsideOfTheirRange) {
  const auto with = [](double bad) { return tensor({1.0, bad, bad}); };
  expect_errors({
      Misuse{"ValueError", "Normal", "loc must be numbers, got nan", [=] { Normal(NAN, 1); }},
      Misuse{"ValueError", "Normal", "scale must be above 0: 2 of 3 values are not, the first is -1",
             [=] { Normal(0, with(-1)); }},
      Misuse{"ValueError", "Normal", "scale must be above 0, got 0", [=] { Normal(0, 0); }},
      Misuse{"ValueError", "Normal", "scale must be above 0", [=] { Normal(zeros({2}, "sim:0"), -1); }},
      Misuse{"ValueError", "LogNormal", "scale must be above 0", [=] { LogNormal(0, with(NAN)); }},
      Misuse{"ValueError", "Laplace", "scale must be above 0", [=] { Laplace(0, with(-2).to(float16)); }},
      Misuse{"ValueError", "Uniform", "high - low must be above 0: 2 of 3", [=] { Uniform(with(2), 2); }},
      Misuse{"ValueError", "Exponential", "rate must be above 0", [=] { Exponential(0); }},
      Misuse{"ValueError", "Gamma", "concentration must be above 0", [=] { Gamma(-1, 1); }},
      Misuse{"ValueError", "Gamma", "rate must be above 0", [=] { Gamma(1, with(0)); }},
      Misuse{"ValueError", "Beta", "concentration1 must be above 0", [=] { Beta(with(-1).to(float64), 1); }},
      Misuse{"ValueError", "Beta", "concentration0 must be above 0", [=] { Beta(1, NAN); }},
      Misuse{"ValueError", "Dirichlet", "concentration must be above 0: 2 of 3", [=] { Dirichlet(with(0)); }},
      Misuse{"ValueError", "Bernoulli", "probs must be in [0, 1], got 2", [=] { Bernoulli(2); }},
      Misuse{"ValueError", "Bernoulli", "probs must be in [0, 1]", [=] { Bernoulli({.probs = with(-0.1)}); }},
      Misuse{"ValueError", "Bernoulli", "logits must be numbers", [=] { Bernoulli({.logits = with(NAN)}); }},
      Misuse{"ValueError", "Categorical", "probs must be 0 or more: 2 of 3", [=] { Categorical(with(-0.1)); }},
      Misuse{"ValueError", "Categorical", "sum(probs) must be above 0 and finite: 1 of 2",
             [=] {
               Categorical(tensor({{0.0, 0.0}, {1.0, 0.0}}));
             }},
      Misuse{"ValueError", "Categorical", "sum(probs)", [=] { Categorical(with(INFINITY)); }},
      Misuse{"ValueError", "Exponential", "rate must be above 0: 3 of 100 values are not, the first is nan",
             [=] {
               Exponential(cat({ones({90}), tensor({NAN, 1.0, -1.0, NAN}), ones({6})}));
             }},
      Misuse{"ValueError", "MultivariateNormal", "the diagonal of scale_tril must be above 0",
             [=] { MultivariateNormal(ones({2}), {.scale_tril = -eye(2)}); }},
      Misuse{"ValueError", "MultivariateNormal", "the diagonal of cholesky(covariance_matrix)",
             [=] {
               MultivariateNormal(ones({2}), {.covariance_matrix = ones({2, 2}) * 2 - eye(2)});
             }},
  });
  for (const auto& logits : {with(NAN), with(INFINITY), full({3}, -INFINITY)})
    expect_errors({Misuse{"ValueError", "Categorical", "softmax(logits) must be numbers",
                          [=] { Categorical({.logits = logits}); }}});
  EXPECT_EQ(Categorical({.logits = with(-INFINITY)}).sample().item(), 0);
  // Where a look would wait for the device, none is taken.
  EXPECT_NO_THROW(Categorical({.logits = with(NAN).to("sim:0")}));
  // A step that is captured looks at nothing that a graph could not.
  CapturedStep step([](const Tensor& scale) { return Normal(0, scale).log_prob(0.5); });
  EXPECT_NO_THROW((void)step(ones({2})));
}

TEST(DistributionsErrors, BadInputs) {
  const Tensor two = ones({2}), three = ones({3}), whole = ones({2}, int64);
  expect_errors({
      Misuse{"ShapeError", "Normal", "float32[3] on cpu", [=] { Normal(two, three); }},
      Misuse{"DTypeError", "Gamma", "parameters must be floating-point", [=] { Gamma(whole, 1); }},
      Misuse{"DTypeError", "Beta", "different dtypes", [=] { Beta(two, ones({2}, float64)); }},
      Misuse{"ValueError", "Normal", "a parameter is undefined", [=] { Normal(Tensor(), 1); }},
      Misuse{"DeviceError", "Normal", "sim:0", [=] { Normal(two, two.to("sim:0")); }},
      Misuse{"ValueError", "Bernoulli", "one of probs and logits", [=] { Bernoulli(ProbsOrLogits{}); }},
      Misuse{"ValueError", "Categorical", "one of probs and logits",
             [=] { Categorical({.probs = two, .logits = two}); }},
      Misuse{"ShapeError", "Categorical", "there are no categories", [=] { Categorical(ones({})); }},
      Misuse{"ShapeError", "Dirichlet", "the concentration is a number", [=] { Dirichlet(ones({})); }},
      Misuse{"ShapeError", "MultivariateNormal", "[..., D, D]",
             [=] {
               MultivariateNormal(two, {.scale_tril = ones({3, 3})});
             }},
      Misuse{"ValueError", "MultivariateNormal", "and one alone", [=] { MultivariateNormal(two, {}); }},
      Misuse{"ShapeError", "Independent", "[2] of Normal has no 2 dimensions", [=] { Independent(Normal(two, 1), 2); }},
      Misuse{"ValueError", "rsample", "Categorical is discrete", [=] { (void)Categorical(two).rsample(); }},
      Misuse{"ValueError", "mean", "names", [=] { (void)Categorical(two).mean(); }},
      Misuse{"DTypeError", "log_prob", "integer indices", [=] { (void)Categorical(two).log_prob(two); }},
      Misuse{"ShapeError", "log_prob", "float32[3] on cpu", [=] { (void)Normal(two, 1).log_prob(three); }},
      Misuse{"ValueError", "kl_divergence", "no formula for Normal and Gamma",
             [=] { (void)kl_divergence(Normal(two, 1), Gamma(two, 1)); }},
  });
}

}  // namespace
}  // namespace minnow::test
