// Tests of every optimizer, with every combination of states that its options can need, on every device and dtype.

#include <gtest/gtest.h>
#include <minnow/minnow.h>
#include "support/devices.h"

namespace minnow::optim {
namespace {

/// Options that need all states of an optimizer, and options that need few.
template <class O> std::vector<typename O::Options> variants();
template <> std::vector<SGDOptions> variants<SGD>() {
  return {{.lr = 0.05, .weight_decay = 0.1},
          {.lr = 0.05, .momentum = 0.9, .dampening = 0.5},
          {.lr = 0.05, .momentum = 0.9, .nesterov = true}};
}
template <> std::vector<AdamOptions> variants<Adam>() {
  return {{.lr = 0.05, .eps = 1e-4, .weight_decay = 0.1}, {.lr = 0.05, .eps = 1e-4, .amsgrad = true}};
}
template <> std::vector<AdamWOptions> variants<AdamW>() {
  return {{.lr = 0.05, .eps = 1e-4, .weight_decay = 0.1}, {.lr = 0.05, .eps = 1e-4, .amsgrad = true}};
}
template <> std::vector<RMSpropOptions> variants<RMSprop>() {
  return {{.lr = 0.01, .eps = 1e-2, .weight_decay = 0.1},
          {.lr = 0.01, .eps = 1e-2, .momentum = 0.5},
          {.lr = 0.01, .alpha = 0.9, .eps = 1e-1, .centered = true},
          {.lr = 0.01, .alpha = 0.9, .eps = 1e-1, .momentum = 0.5, .centered = true}};
}
template <> std::vector<LionOptions> variants<Lion>() {
  return {{.lr = 0.01}, {.lr = 0.01, .betas = {0.5, 0.8}, .weight_decay = 0.3}};
}
template <> std::vector<AdagradOptions> variants<Adagrad>() {
  return {{.lr = 0.05, .weight_decay = 0.1, .eps = 1e-4},
          {.lr = 0.05, .lr_decay = 0.1, .initial_accumulator_value = 0.5}};
}
template <> std::vector<AdadeltaOptions> variants<Adadelta>() {
  return {{.lr = 0.5, .eps = 1e-2, .weight_decay = 0.1}, {.lr = 0.1, .rho = 0.5, .eps = 1e-2}};
}
template <> std::vector<AdamaxOptions> variants<Adamax>() {
  return {{.lr = 0.01, .eps = 1e-2, .weight_decay = 0.1}, {.lr = 0.01, .betas = {0.5, 0.8}, .eps = 1e-2}};
}
template <> std::vector<NAdamOptions> variants<NAdam>() {
  return {{.lr = 0.02, .eps = 1e-2, .weight_decay = 0.1},
          {.lr = 0.02, .eps = 1e-2, .weight_decay = 0.1, .momentum_decay = 0, .decoupled_weight_decay = true}};
}
template <> std::vector<RAdamOptions> variants<RAdam>() {
  return {{.lr = 0.02, .eps = 1e-2, .weight_decay = 0.1},
          {.lr = 0.02, .eps = 1e-2, .weight_decay = 0.1, .decoupled_weight_decay = true}};
}
template <> std::vector<RpropOptions> variants<Rprop>() {
  return {{.lr = 0.01}, {.lr = 0.01, .etas = {0.25, 1.5}, .step_sizes = {5e-3, 0.02}}};
}

template <> std::vector<ASGDOptions> variants<ASGD>() {
  return {{.lr = 0.05, .weight_decay = 0.1}, {.lr = 0.05, .lambd = 0.1, .alpha = 0.5, .t0 = 1}};
}

template <class Options> constexpr bool kHasDecay = requires(Options o) { o.weight_decay; };

template <class O> class EveryOptimizer : public ::testing::Test {};
using Optimizers =
    ::testing::Types<SGD, Adam, AdamW, RMSprop, Lion, Adagrad, Adadelta, Adamax, NAdam, RAdam, Rprop, ASGD>;
TYPED_TEST_SUITE(EveryOptimizer, Optimizers);

/// The smallest and the largest number of states of an optimizer.
template <class Rule> std::pair<std::size_t, std::size_t> states_of(const RuleOptimizer<Rule>*) {
  std::size_t always = 0;
  for (const auto& state : Rule::kStates) always += state.is_optional() ? 0 : 1;
  return {always, std::size(Rule::kStates)};
}

constexpr int kSteps = 8;

/// Two parameters, one of them not contiguous, and their gradients of step t.
std::vector<Tensor> parameters(Device device, DType dtype) {
  RandomGenerator generator(5);
  return {randn({7, 5}, {.generator = &generator}).to(device, dtype).t().requires_grad_(),
          randn({33}, {.generator = &generator}).to(device, dtype).requires_grad_()};
}
void set_gradients(const std::vector<Tensor>& params, int t, double sign = 1) {
  RandomGenerator generator(static_cast<std::uint64_t>(100 + t));
  for (const Tensor& p : params)
    p.set_grad((randn(p.shape(), {.generator = &generator}) * sign).to(p.device(), p.dtype()));
}
std::vector<double> values(const std::vector<Tensor>& params) {
  std::vector<double> all;
  for (const Tensor& p : params)
    for (const double v : p.to_vector<double>()) all.push_back(v);
  return all;
}
/// Runs steps [from, to) of an optimizer over `params`.
std::vector<double> run(Optimizer& optimizer, const std::vector<Tensor>& params, int from, int to) {
  for (int t = from; t < to; ++t) {
    set_gradients(params, t);
    optimizer.step();
  }
  return values(params);
}

/// f(device, options) for all devices and variants.
template <class O, class F> void for_each_case(const F& f) {
  for (const Device device : test::test_devices()) {
    int variant = 0;
    for (const auto& options : variants<O>()) {
      SCOPED_TRACE(device.str() + ", variant " + std::to_string(variant++));
      f(device, options);
    }
  }
}

TYPED_TEST(EveryOptimizer, AgreesWithFloat64InEveryDtype) {
  for_each_case<TypeParam>([](Device device, const auto& options) {
    const std::vector<Tensor> exact = parameters(Device(), DType::float64);
    TypeParam reference(exact, options);
    const std::vector<double> want = run(reference, exact, 0, kSteps);
    for (const auto& [dtype, limit] : {std::pair(DType::float64, 1e-12), std::pair(DType::float32, 1e-5),
                                       std::pair(DType::float16, 2e-2), std::pair(DType::bfloat16, 2e-1)}) {
      const std::vector<Tensor> params = parameters(device, dtype);
      TypeParam optimizer(params, options);
      const std::vector<double> got = run(optimizer, params, 0, kSteps);
      EXPECT_EQ(params[0].dtype(), dtype);
      for (std::size_t i = 0; i < want.size(); ++i) EXPECT_NEAR(got[i], want[i], limit) << name_of(dtype) << " " << i;
    }
  });
}

TYPED_TEST(EveryOptimizer, ResumesWithTheSameBits) {
  for_each_case<TypeParam>([](Device device, const auto& options) {
    const std::vector<Tensor> params = parameters(device, DType::float32);
    TypeParam optimizer(params, options);
    run(optimizer, params, 0, 3);
    std::vector<Tensor> copies;
    for (const Tensor& p : params) copies.push_back(p.detach().clone().requires_grad_());
    TypeParam resumed(copies);
    resumed.load_state_dict(optimizer.state_dict());
    EXPECT_EQ(resumed.lr(), options.lr);
    if constexpr (kHasDecay<typename TypeParam::Options>) {
      EXPECT_EQ(resumed.options().weight_decay, options.weight_decay);
    }
    EXPECT_EQ(run(optimizer, params, 3, kSteps), run(resumed, copies, 3, kSteps));
  });
}

TYPED_TEST(EveryOptimizer, GivesTheSameBitsInACapturedStep) {
  for_each_case<TypeParam>([](Device device, const auto& options) {
    // Float64 shows a last bit of constants that the device would compute.
    const auto train = [&](bool captured, DType dtype) {
      const std::vector<Tensor> params = parameters(device, dtype);
      TypeParam optimizer({params[0]}, options);
      optimizer.add_param_group({params[1]}, options);
      StepLR scheduler(optimizer, {.step_size = 2, .gamma = 0.5});
      const auto once = [&](const Tensor& x) {
        optimizer.zero_grad();
        sum(params[0] * params[0] * x).backward();
        sum(params[1] * x).backward();
        optimizer.step();
      };
      CapturedStep step(once, {.device = device, .warm_up = 1});
      for (int t = 0; t < kSteps; ++t) {
        const Tensor x = full({1}, 0.25 - t, {dtype, device});
        if (captured) step(x);
        else once(x);
        scheduler.step();
        if constexpr (kHasDecay<typename TypeParam::Options>) {
          if (t == 4) optimizer.options(1).weight_decay = 0.25;
        }
      }
      if (captured) { EXPECT_EQ(step.replays(), device.is_cuda() ? kSteps - 1 : 0); }
      return values(params);
    };
    for (const DType dtype : {DType::float32, DType::float64})
      EXPECT_EQ(train(false, dtype), train(true, dtype)) << name_of(dtype);
  });
}

TYPED_TEST(EveryOptimizer, MaximizesByTheNegativeOfTheGradient) {
  for_each_case<TypeParam>([](Device device, auto options) {
    const std::vector<Tensor> up = parameters(device, DType::float32), down = parameters(device, DType::float32);
    TypeParam descent(down, options);
    options.maximize = true;
    TypeParam ascent(up, options);
    for (int t = 0; t < kSteps; ++t) {
      set_gradients(down, t);
      set_gradients(up, t, -1);
      descent.step();
      ascent.step();
    }
    EXPECT_EQ(values(up), values(down));
  });
}

TYPED_TEST(EveryOptimizer, KeepsTheStatesThatItsOptionsAskFor) {
  std::size_t fewest = 99, most = 0;
  for_each_case<TypeParam>([&](Device device, const auto& options) {
    const std::vector<Tensor> params = parameters(device, DType::float32);
    TypeParam optimizer(params, options);
    const std::size_t before = optimizer.state_dict().size();  // step counts and options
    run(optimizer, params, 0, 1);
    const std::size_t states = (optimizer.state_dict().size() - before) / params.size();
    fewest = std::min(fewest, states);
    most = std::max(most, states);
    // A reference to options stays valid when groups are added.
    auto& first = optimizer.options();
    const Tensor more = ones({2}, {.device = device}).requires_grad_();
    optimizer.add_param_group({more}, options);
    first.lr = 0.125;
    EXPECT_EQ(optimizer.lr(0), 0.125);
    EXPECT_EQ(optimizer.lr(1), options.lr);
  });
  EXPECT_EQ(std::pair(fewest, most), states_of(static_cast<TypeParam*>(nullptr)));
}

TEST(RMSprop, ACenteredMeanSquareThatRoundsBelow0CountsAs0) {
  const Tensor p = zeros({1000}, {.dtype = DType::bfloat16}).requires_grad_();
  RMSprop optimizer({p}, {.lr = 1e-8, .centered = true});
  for (int t = 0; t < 300; ++t) {
    p.set_grad(linspace(1, 2, 1000).to(DType::bfloat16));
    optimizer.step();
  }
  for (const double v : p.to_vector<double>()) ASSERT_TRUE(std::isfinite(v));
}

TEST(NAdam, ManyStepsCostNoMoreThanFewAndAgreeWithTheProduct) {
  for (const double decay : {0.0, 1e-9, 4e-3, 0.3}) {
    const NAdamOptions options{.betas = {0.9995, 0.999}, .momentum_decay = decay};
    double product = 1;
    for (int t = 1; t <= 3000; ++t) {
      product *= detail::kernels::NadamRule::momentum(options, t);
      ASSERT_NEAR(detail::kernels::NadamRule::momentum_product(options, t), product, 1e-11 * product + 1e-290)
          << decay << " " << t;
    }
  }
}

TEST(Rprop, NanGradientMakesTheParameterNan) {
  const Tensor p = ones({3}).requires_grad_();
  Rprop optimizer({p}, {.lr = 0.5});
  for (int t = 0; t < 2; ++t) {
    p.set_grad(tensor({1., std::nan(""), 0.}));
    optimizer.step();
  }
  const auto after = p.to_vector<double>();
  EXPECT_NEAR(after[0], 1 - 0.5 - 0.6, 1e-6);
  EXPECT_TRUE(std::isnan(after[1]));
  EXPECT_EQ(after[2], 1) << "the sign of 0 is 0";
}

TEST(Lion, NanGradientMakesTheParameterNan) {
  const Tensor p = ones({3}).requires_grad_();
  p.set_grad(tensor({1., std::nan(""), 0.}));
  Lion({p}, {.lr = 0.5}).step();
  const auto after = p.to_vector<double>();
  EXPECT_EQ(after[0], 0.5);
  EXPECT_TRUE(std::isnan(after[1]));
  EXPECT_EQ(after[2], 1) << "the sign of 0 is 0";
}

}  // namespace
}  // namespace minnow::optim
