#include <cmath>
#include <gtest/gtest.h>
#include <minnow/ops/elementwise/arithmetic.h>
#include <minnow/ops/reductions/reduce.h>
#include <minnow/optim/clip.h>
#include <minnow/optim/lr_scheduler.h>
#include <minnow/optim/optimizers.h>
#include <minnow/tensor/create.h>
#include <minnow/tensor/error.h>
#include "errors.h"
#include "thrown.h"

/// Bad inputs of optimizers, learning rate schedulers and clipping.
namespace minnow {
namespace {

using test::expect_errors;
using test::kShown;
using test::Misuse;

Tensor trained() { return zeros({2, 3}).requires_grad_(); }

template <class O> void expect_parameters_checked(const char* name) {
  using List = std::vector<Tensor>;
  const Tensor x = trained(), made = x * 2, ints = arange(3), none, gaps = zeros({4, 4}).narrow(1, 0, 2);
  // One call each: in a template the rows of one list all have the line of its beginning.
  expect_errors({Misuse{"ValueError", name, "net.parameters()", [=] { O(List{}); }}});
  expect_errors({Misuse{"ValueError", name, "undefined tensor", [=] { O(List{none}); }}});
  expect_errors({Misuse{"ValueError", name, kShown, [=] { O(List{x, x}); }}});
  expect_errors({Misuse{"DTypeError", name, "int64[3] on cpu", [=] { O(List{ints}); }}});
  expect_errors({Misuse{"AutogradError", name, "can't optimize a non-leaf Tensor", [=] { O(List{made}); }}});
  expect_errors({Misuse{"ShapeError", name, "float32[4, 2] on cpu", [=] { O(List{gaps}); }}});
  expect_errors({Misuse{"ValueError", name, "lr must be finite and at least 0, got -1", [=] { O({x}, {.lr = -1}); }}});
  if constexpr (requires(typename O::Options o) { o.weight_decay; })
    expect_errors({Misuse{"ValueError", name, "weight_decay must be finite and at least 0, got -1",
                          [=] { O({x}, {.weight_decay = -1}); }}});
  expect_errors(
      {Misuse{"ValueError", name, "lr must be finite and at least 0, got nan", [=] { O({x}, {.lr = std::nan("")}); }}});
  expect_errors({Misuse{"ValueError", name, kShown, [=] {
                          O o({x});
                          o.add_param_group({x});
                        }}});
  expect_errors({Misuse{"IndexError", name, "parameter group 1 is out of range", [=] {
                          O o({x});
                          o.options(1);
                        }}});
}

TEST(Errors, EveryOptimizer) {
  expect_parameters_checked<optim::SGD>("SGD");
  expect_parameters_checked<optim::Adam>("Adam");
  expect_parameters_checked<optim::AdamW>("AdamW");
  expect_parameters_checked<optim::RMSprop>("RMSprop");
  expect_parameters_checked<optim::Lion>("Lion");
  expect_parameters_checked<optim::Adagrad>("Adagrad");
  expect_parameters_checked<optim::Adadelta>("Adadelta");
  expect_parameters_checked<optim::Adamax>("Adamax");
  expect_parameters_checked<optim::NAdam>("NAdam");
  expect_parameters_checked<optim::RAdam>("RAdam");
  expect_parameters_checked<optim::Rprop>("Rprop");
  expect_parameters_checked<optim::ASGD>("ASGD");
  const Tensor x = trained();
  expect_errors({
      Misuse{"ValueError", "SGD", "momentum must be finite and at least 0, got -1",
             [=] { optim::SGD({x}, {.momentum = -1}); }},
      Misuse{"ValueError", "SGD", "nesterov needs a momentum above 0", [=] { optim::SGD({x}, {.nesterov = true}); }},
      Misuse{"ValueError", "Adam", "beta2 must be in [0, 1), got 1",
             [=] {
               optim::Adam({x}, {.betas = {0.9, 1}});
             }},
      Misuse{"ValueError", "RMSprop", "alpha must be in [0, 1], got 1.5", [=] { optim::RMSprop({x}, {.alpha = 1.5}); }},
      Misuse{"ValueError", "RMSprop", "momentum must be finite and at least 0, got -1",
             [=] { optim::RMSprop({x}, {.momentum = -1}); }},
      Misuse{"ValueError", "Lion", "beta1 must be in [0, 1), got -0.5",
             [=] {
               optim::Lion({x}, {.betas = {-0.5, 0.9}});
             }},
      Misuse{"ValueError", "Adagrad", "initial_accumulator_value must be finite and at least 0, got -1",
             [=] { optim::Adagrad({x}, {.initial_accumulator_value = -1}); }},
      Misuse{"ValueError", "Adadelta", "rho must be in [0, 1], got 2", [=] { optim::Adadelta({x}, {.rho = 2}); }},
      Misuse{"ValueError", "Adamax", "beta1 must be in [0, 1), got 1",
             [=] {
               optim::Adamax({x}, {.betas = {1, 0.9}});
             }},
      Misuse{"ValueError", "NAdam", "momentum_decay must be finite and at least 0, got -1",
             [=] { optim::NAdam({x}, {.momentum_decay = -1}); }},
      Misuse{"ValueError", "RAdam", "beta2 must be in [0, 1), got 2",
             [=] {
               optim::RAdam({x}, {.betas = {0.9, 2}});
             }},
      Misuse{"ValueError", "Rprop", "etaminus must be in (0, 1) and etaplus above 1",
             [=] {
               optim::Rprop({x}, {.etas = {0.5, 1}});
             }},
      Misuse{"ValueError", "Rprop", "step_size_min must not be above step_size_max",
             [=] {
               optim::Rprop({x}, {.step_sizes = {2, 1}});
             }},
      Misuse{"ValueError", "ASGD", "lambd must be finite and at least 0, got -1",
             [=] { optim::ASGD({x}, {.lambd = -1}); }},
      Misuse{"ValueError", "AdamW", "eps must be finite and at least 0, got -1",
             [=] { optim::AdamW({x}, {.eps = -1}); }},
  });
}

TEST(Errors, MovedLeafIsNamedBesideItsCopy) {
  Tensor w = trained();
  w.set_name("fc1.weight");
  Tensor moved = w.to("sim:0");
  moved.set_name("on the device");
  const std::string text = test::error_of<AutogradError>([&] { optim::SGD o({moved}); });
  for (const char* part :
       {"can't optimize a non-leaf Tensor", "float32[2, 3] on sim:0   parameter 'on the device'",
        "made by 'to' at optim_test.cpp:", "from the leaf  float32[2, 3] on cpu   parameter 'fc1.weight'"})
    EXPECT_NE(text.find(part), std::string::npos) << part << "\n" << text;
}

TEST(Errors, OptimizerSteps) {
  const Tensor x = trained();
  sum(x).backward();
  optim::SGD sgd({x});
  StateDict missing, extra = sgd.state_dict(), negative = sgd.state_dict();
  extra.set("more", x);
  negative.set("param_groups.0.lr", full({}, -1.0, {DType::float64}));
  const auto with_gradient = [](const Tensor& g) {
    Tensor p = trained();
    p.set_grad(zeros_like(p));
    p.grad().set_data(g);
    return p;
  };
  const Tensor shaped = with_gradient(zeros({3})), wide = with_gradient(zeros({2, 3}, {DType::float64})),
               far = with_gradient(zeros({2, 3}, {.device = "sim:0"}));
  expect_errors({
      Misuse{"ShapeError", "SGD::step", "float32[3] on cpu",
             [=] {
               optim::SGD o({shaped});
               o.step();
             }},
      Misuse{"DTypeError", "SGD::step", "float64[2, 3] on cpu",
             [=] {
               optim::SGD o({wide});
               o.step();
             }},
      Misuse{"DeviceError", "SGD::step", "float32[2, 3] on sim:0",
             [=] {
               optim::SGD o({far});
               o.step();
             }},
      Misuse{"ValueError", "SGD", "lr must be finite and at least 0, got -3",
             [&] {
               sgd.options().lr = -3;
               sgd.step();
             }},
      Misuse{"ValueError", "SGD", "lr must be finite and at least 0, got -1", [&] { sgd.set_lr(-1.0); }},
      Misuse{"ValueError", "SGD", "lr must be finite and at least 0, got inf", [&] { sgd.set_lr(0, INFINITY); }},
      Misuse{"IndexError", "SGD", "parameter group 1 is out of range", [&] { sgd.set_lr(1, 0.1); }},
      Misuse{"IndexError", "SGD", "parameter group -1 is out of range", [&] { (void)sgd.lr(-1); }},
      Misuse{"IndexError", "SGD", "parameter group 2 is out of range", [&] { (void)sgd.parameters(2); }},
      Misuse{"ValueError", "SGD::load_state_dict", "'param_groups.0.lr' is missing",
             [&] { sgd.load_state_dict(missing); }},
      Misuse{"ValueError", "SGD::load_state_dict", "belong to these groups", [&] { sgd.load_state_dict(extra); }},
      Misuse{"ValueError", "SGD", "lr must be finite and at least 0, got -1", [&] { sgd.load_state_dict(negative); }},
  });
}

TEST(Errors, LRSchedulers) {
  using namespace optim;
  SGD sgd({trained()}, {.lr = 0.1});
  Adagrad adagrad({trained()});
  LRScheduler good(sgd, StepLR());
  ReduceLROnPlateau plateau(sgd);
  const LRFunction function = StepLR();
  expect_errors({
      Misuse{"ValueError", "StepLR", "step_size must be positive, got 0", [] { StepLR({.step_size = 0}); }},
      Misuse{"ValueError", "StepLR", "gamma must be finite and at least 0, got -1", [] { StepLR({.gamma = -1}); }},
      Misuse{"ValueError", "StepLR", "step_size must be positive, got -2", [&] { StepLR(sgd, {.step_size = -2}); }},
      Misuse{"ValueError", "CosineAnnealingLR", "T_max must be positive, got 0",
             [] { CosineAnnealingLR({.T_max = 0}); }},
      Misuse{"ValueError", "CosineAnnealingLR", "eta_min must be finite and at least 0, got -1",
             [] { CosineAnnealingLR({.eta_min = -1}); }},
      Misuse{"ValueError", "CosineAnnealingLR", "T_max must be positive, got -2",
             [&] { CosineAnnealingLR(sgd, {.T_max = -2}); }},
      Misuse{"ValueError", "LinearLR", "total_iters must be positive, got 0", [] { LinearLR({.total_iters = 0}); }},
      Misuse{"ValueError", "LinearLR", "got 0 and 1", [] { LinearLR({.start_factor = 0}); }},
      Misuse{"ValueError", "LinearLR", "and 2", [] { LinearLR({.end_factor = 2}); }},
      Misuse{"ValueError", "SequentialLR", "got 0 and 0", [] { SequentialLR({}, {}); }},
      Misuse{"ValueError", "SequentialLR", "got 2 and 0",
             [=] {
               SequentialLR({function, function}, {});
             }},
      Misuse{"ValueError", "SequentialLR", "a function is empty",
             [=] {
               SequentialLR({function, {}}, {3});
             }},
      Misuse{"ValueError", "SequentialLR", "must be positive and ascending",
             [=] {
               SequentialLR({function, function, function}, {3, 3});
             }},
      Misuse{"ValueError", "MultiStepLR", "a milestone must be at least 0, got -1",
             [] {
               MultiStepLR({.milestones = {3, -1}});
             }},
      Misuse{"ValueError", "MultiStepLR", "gamma must be finite and at least 0, got -1",
             [&] { MultiStepLR(sgd, {3}, -1); }},
      Misuse{"ValueError", "ConstantLR", "factor must be in [0, 1], got 2", [] { ConstantLR({.factor = 2}); }},
      Misuse{"ValueError", "ConstantLR", "total_iters must be positive, got 0",
             [&] { ConstantLR(sgd, {.total_iters = 0}); }},
      Misuse{"ValueError", "ExponentialLR", "gamma must be finite and at least 0, got -1",
             [&] { ExponentialLR(sgd, -1); }},
      Misuse{"ValueError", "PolynomialLR", "total_iters must be positive, got 0", [&] { PolynomialLR(sgd, 0); }},
      Misuse{"ValueError", "PolynomialLR", "power must be finite and at least 0, got -1",
             [] { PolynomialLR({.power = -1}); }},
      Misuse{"ValueError", "CosineAnnealingWarmRestarts", "T_0 must be positive, got 0",
             [&] { CosineAnnealingWarmRestarts(sgd, 0); }},
      Misuse{"ValueError", "CosineAnnealingWarmRestarts", "T_mult must be positive, got 0",
             [] { CosineAnnealingWarmRestarts({.T_mult = 0}); }},
      Misuse{"ValueError", "CosineAnnealingWarmRestarts", "eta_min must be finite and at least 0, got -1",
             [] { CosineAnnealingWarmRestarts({.eta_min = -1}); }},
      Misuse{"ValueError", "LambdaLR", "the function is empty", [&] { LambdaLR(sgd, {}); }},
      Misuse{"ValueError", "OneCycleLR", "max_lr must be finite and positive, got 0",
             [] { OneCycleLR({.total_steps = 9}); }},
      Misuse{"ValueError", "OneCycleLR", "give total_steps, or epochs and steps_per_epoch, got 0, 3 and 0",
             [] { OneCycleLR({.max_lr = 1, .epochs = 3}); }},
      Misuse{"ValueError", "OneCycleLR", "give total_steps, or epochs", [&] { OneCycleLR(sgd, 0.1); }},
      Misuse{"ValueError", "OneCycleLR", "pct_start must be in [0, 1], got 2",
             [] { OneCycleLR({.max_lr = 1, .total_steps = 9, .pct_start = 2}); }},
      Misuse{"ValueError", "OneCycleLR", "div_factor must be finite and positive, got 0",
             [] { OneCycleLR({.max_lr = 1, .total_steps = 9, .div_factor = 0}); }},
      Misuse{"ValueError", "OneCycleLR", "must be in [0, 1), got 0.85 and 1",
             [] { OneCycleLR({.max_lr = 1, .total_steps = 9, .max_momentum = 1}); }},
      Misuse{"ValueError", "OneCycleLR", "step 2 is after the last, total_steps is 1",
             [&] {
               OneCycleLR once(sgd, 1, 1);
               once.set_steps(2);
             }},
      Misuse{"ValueError", "CyclicLR", "max_lr must be finite and positive, got 0", [] { CyclicLR(); }},
      Misuse{"ValueError", "CyclicLR", "base_lr must be finite and at least 0, got -1", [&] { CyclicLR(sgd, -1, 1); }},
      Misuse{"ValueError", "CyclicLR", "step_size_down must be positive, got -1",
             [] { CyclicLR({.max_lr = 1, .step_size_down = -1}); }},
      Misuse{"ValueError", "Adagrad", "it has neither momentum nor betas", [&] { CyclicLR(adagrad, 0, 1); }},
      Misuse{"ValueError", "ChainedScheduler", "there is no function", [&] { ChainedScheduler(sgd, {}); }},
      Misuse{"ValueError", "ChainedScheduler", "a function is empty",
             [=] {
               ChainedScheduler({function, {}});
             }},
      Misuse{"ValueError", "lr_by_group", "there is no function", [] { lr_by_group({}); }},
      Misuse{"ValueError", "lr_by_group", "for several groups already",
             [=] {
               lr_by_group({lr_by_group({function, function}), function});
             }},
      Misuse{"ValueError", "LRScheduler", "the function is for 2 groups, the optimizer has 1",
             [&] {
               LRScheduler(sgd, lr_by_group({function, function}));
             }},
      Misuse{"ValueError", "SequentialLR", "the functions are for 1 and for 2 groups",
             [=] {
               SequentialLR({lr_by_group({function}), lr_by_group({function, function})}, {3});
             }},
      Misuse{"ValueError", "LRScheduler", "must have no optimizer", [&] { ChainedScheduler(sgd, {StepLR(sgd, 3)}); }},
      Misuse{"ValueError", "LRScheduler", "it has no optimizer", [] { StepLR({.step_size = 3}).step(); }},
      Misuse{"ValueError", "LRScheduler::load_state_dict", "'steps' is missing", [&] { good.load_state_dict({}); }},
      Misuse{"ValueError", "ReduceLROnPlateau", "factor must be in [0, 1), got 1",
             [&] { ReduceLROnPlateau(sgd, {.factor = 1}); }},
      Misuse{"ValueError", "ReduceLROnPlateau", "patience must be finite and at least 0, got -1",
             [&] { ReduceLROnPlateau(sgd, {.patience = -1}); }},
      Misuse{"ValueError", "ReduceLROnPlateau", "threshold must be finite and at least 0, got nan",
             [&] { ReduceLROnPlateau(sgd, {.threshold = std::nan("")}); }},
      Misuse{"ValueError", "ReduceLROnPlateau::load_state_dict", "'best' is missing",
             [&] { plateau.load_state_dict({}); }},
      Misuse{"ValueError", "LRScheduler", "the function is empty", [&] { LRScheduler(sgd, {}); }},
      Misuse{"ValueError", "set_steps", "-1", [&] { good.set_steps(-1); }},
      Misuse{"ValueError", "SGD", "lr must be finite and at least 0, got -1",
             [&] { LRScheduler(sgd, [](double, std::int64_t) { return -1.0; }); }},
  });
}

TEST(Errors, Clipping) {
  using namespace optim;
  Tensor x = trained();
  x.set_grad(full({2, 3}, INFINITY));
  const Tensor none;
  expect_errors({
      Misuse{"ValueError", "clip_grad_norm_", "max_norm must be at least 0, got -1", [=] { clip_grad_norm_({x}, -1); }},
      Misuse{"ValueError", "clip_grad_norm_", "norm_type must be positive, got 0",
             [=] { clip_grad_norm_({x}, 1, {.norm_type = 0}); }},
      Misuse{"ValueError", "clip_grad_norm_", "a parameter is undefined",
             [=] {
               clip_grad_norm_({x, none}, 1);
             }},
      Misuse{"ValueError", "clip_grad_norm_", "inf", [=] { clip_grad_norm_({x}, 1, {.error_if_nonfinite = true}); }},
      Misuse{"ValueError", "clip_grad_value_", "clip_value must be at least 0, got -1",
             [=] { clip_grad_value_({x}, -1); }},
      Misuse{"ValueError", "clip_grad_value_", "clip_value must be at least 0, got nan",
             [=] { clip_grad_value_({x}, std::nan("")); }},
      Misuse{"ValueError", "clip_grad_value_", "a parameter is undefined", [=] { clip_grad_value_({none}, 1); }},
  });
}

}  // namespace
}  // namespace minnow
