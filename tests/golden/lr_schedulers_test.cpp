#include <minnow/ops/elementwise/unary.h>
#include <minnow/optim/clip.h>
#include <minnow/optim/lr_scheduler.h>
#include <minnow/optim/optimizers.h>
#include <minnow/tensor/create.h>

#include "devices.h"
#include "golden.h"

namespace minnow::test {
namespace {

using namespace minnow::optim;

std::map<std::string, LRFunction> functions() {
  return {{"step/3,0.1", StepLR({.step_size = 3})},
          {"step/4,0.5", StepLR({.step_size = 4, .gamma = 0.5})},
          {"multi_step/7,2,7,4", MultiStepLR({.milestones = {7, 2, 7, 4}, .gamma = 0.5})},
          {"constant/0.25,4", ConstantLR({.factor = 0.25, .total_iters = 4})},
          {"exponential/0.9", ExponentialLR({.gamma = 0.9})},
          {"polynomial", PolynomialLR()},
          {"polynomial/9,2.5", PolynomialLR({.total_iters = 9, .power = 2.5})},
          {"cosine/10", CosineAnnealingLR({.T_max = 10})},
          {"cosine/6,0.1", CosineAnnealingLR({.T_max = 6, .eta_min = 0.1})},
          {"restarts/4", CosineAnnealingWarmRestarts({.T_0 = 4})},
          {"restarts/2,3,0.1", CosineAnnealingWarmRestarts({.T_0 = 2, .T_mult = 3, .eta_min = 0.1})},
          {"linear/0.1,5", LinearLR({.start_factor = 0.1, .total_iters = 5})},
          {"lambda", LambdaLR([](auto t) { return 1 / (1 + static_cast<double>(t)); })},
          {"one_cycle", OneCycleLR({.max_lr = 2, .total_steps = 20})},
          {"one_cycle/betas", OneCycleLR({.max_lr = 0.1, .epochs = 3, .steps_per_epoch = 5, .base_momentum = 0.7})},
          {"one_cycle/linear", OneCycleLR({.max_lr = 2,
                                           .total_steps = 15,
                                           .pct_start = 0.45,
                                           .anneal_strategy = AnnealStrategy::linear,
                                           .div_factor = 4,
                                           .final_div_factor = 10})},
          {"one_cycle/three", OneCycleLR({.max_lr = 2, .total_steps = 20, .max_momentum = 0.9, .three_phase = true})},
          {"one_cycle/0", OneCycleLR({.max_lr = 2, .total_steps = 6, .pct_start = 0, .cycle_momentum = false})},
          {"cyclic", CyclicLR({.base_lr = 0.1, .max_lr = 1, .step_size_up = 3})},
          {"cyclic/betas", CyclicLR({.base_lr = 0.1,
                                     .max_lr = 1,
                                     .step_size_up = 3,
                                     .step_size_down = 4,
                                     .mode = CyclicMode::triangular2,
                                     .base_momentum = 0.5})},
          {"cyclic/exp", CyclicLR({.base_lr = 0.1,
                                   .max_lr = 1,
                                   .step_size_up = 4,
                                   .step_size_down = 2,
                                   .mode = CyclicMode::exp_range,
                                   .gamma = 0.9,
                                   .cycle_momentum = false})},
          {"cyclic/scale", CyclicLR({.base_lr = 0.1,
                                     .max_lr = 1,
                                     .step_size_up = 3,
                                     .scale_fn = [](double t) { return 1 / (1 + t); },
                                     .scale_mode = ScaleMode::iterations})},
          {"warmup 4, cosine 8",
           SequentialLR({LinearLR({.start_factor = 0.25, .total_iters = 4}), CosineAnnealingLR({.T_max = 8})}, {4})},
          {"warmup 3, exponential, restarts",
           SequentialLR({ConstantLR({.factor = 0.1, .total_iters = 9}), ExponentialLR({.gamma = 0.8}),
                         CosineAnnealingWarmRestarts({.T_0 = 3, .T_mult = 2})},
                        {3, 6})},
          {"linear 4, one_cycle",
           SequentialLR({LinearLR({.start_factor = 0.25, .total_iters = 4}),
                         OneCycleLR({.max_lr = 2, .total_steps = 16, .cycle_momentum = false, .div_factor = 4})},
                        {4})},
          {"polynomial, cyclic",
           SequentialLR(
               {PolynomialLR({.total_iters = 8}),
                CyclicLR({.base_lr = 0.5, .max_lr = 1, .step_size_up = 3, .base_momentum = 0.25, .max_momentum = 0.5})},
               {5})},
          {"chained", ChainedScheduler({ConstantLR({.factor = 0.1, .total_iters = 4}), ExponentialLR({.gamma = 0.9}),
                                        MultiStepLR({.milestones = {8}, .gamma = 0.5})})},
          {"chained cosine",
           ChainedScheduler({LinearLR({.start_factor = 0.5, .total_iters = 3}), CosineAnnealingLR({.T_max = 10})})}};
}

TEST(GoldenLRScheduler, RatesAndMomentumsAgreeWithPyTorch) {
  const Book book("lr_schedulers", Device());
  for (const auto& [name, function] : functions()) {
    SCOPED_TRACE(name);
    const std::vector<Tensor> params{zeros({1}).requires_grad_()};
    std::unique_ptr<Optimizer> optimizer = std::make_unique<SGD>(params, SGDOptions{.lr = 0.5, .momentum = 0.5});
    if (name.find("betas") != std::string::npos) optimizer = std::make_unique<Adam>(params, 0.5);
    LRScheduler scheduler(*optimizer, function);
    const std::vector<double> want = book[name].to_vector<double>();
    std::vector<double> momentums(want.size(), 0.5);
    if (book.contains(name + "/momentum")) momentums = book[name + "/momentum"].to_vector<double>();
    for (std::size_t step = 0; step < want.size(); ++step) {
      if (step) scheduler.step();
      EXPECT_NEAR(optimizer->lr(), want[step], 1e-12) << "step " << step;
      EXPECT_EQ(scheduler.get_last_lr(), std::vector{optimizer->lr()});
      EXPECT_NEAR(optimizer->momentum(), momentums[step], 1e-12) << "step " << step;
    }
  }
}

TEST(GoldenLRScheduler, ReduceLROnPlateauAgreesWithPyTorch) {
  const Book book("lr_schedulers", Device());
  const std::map<std::string, ReduceLROnPlateauOptions> all{
      {"plateau/2", {.patience = 2}},
      {"plateau/max",
       {.mode = PlateauMode::max,
        .factor = 0.5,
        .patience = 1,
        .threshold = 0.05,
        .threshold_mode = ThresholdMode::abs}},
      {"plateau/cooldown", {.factor = 0.3, .patience = 1, .cooldown = 3, .min_lr = 0.03}},
      {"plateau/eps", {.factor = 0.5, .patience = 0, .threshold_mode = ThresholdMode::abs, .eps = 0.02}},
      {"plateau/rel", {.mode = PlateauMode::max, .factor = 0.5, .patience = 0, .threshold = 0.1}}};
  for (const auto& [name, options] : all) {
    SGD sgd({zeros({1}).requires_grad_()}, {.lr = 0.5});
    ReduceLROnPlateau scheduler(sgd, options);
    const std::vector<double> want = book[name].to_vector<double>();
    const std::vector<double> metrics = book[name + "/metrics"].to_vector<double>();
    for (std::size_t step = 0; step < want.size(); ++step) {
      scheduler.step(metrics[step]);
      EXPECT_NEAR(sgd.lr(), want[step], 1e-12) << name << ", step " << step;
    }
    EXPECT_LT(sgd.lr(), 0.5);
  }
}

class GoldenClip : public DeviceTest {};
INSTANTIATE_TEST_SUITE_P(Devices, GoldenClip, all_devices(), device_test_name);

TEST_P(GoldenClip, NormsAndGradientsAgreeWithPyTorch) {
  const Book book("lr_schedulers", device());
  struct Clip {
    double limit, order;
  };
  const std::map<std::string, Clip> all{
      {"2,small", {0.5, 2}}, {"2,large", {100, 2}}, {"inf", {0.5, kInfinity}}, {"1", {1, 1}}};
  for (const auto& [name, clip] : all) {
    std::vector<Tensor> params;
    for (int i = 0; i < 2; ++i) {
      const Tensor grad = book["clip/" + name + "/before" + std::to_string(i)];
      params.push_back(zeros_like(grad));
      params.back().requires_grad_();
      params.back().set_grad(grad);
    }
    const Tensor norm = clip_grad_norm_(params, clip.limit, {.norm_type = clip.order});
    expect_close(norm, book["clip/" + name + "/norm"], name + " norm");
    for (int i = 0; i < 2; ++i)
      expect_close(params[static_cast<std::size_t>(i)].grad(), book["clip/" + name + "/after" + std::to_string(i)],
                   name + " after " + std::to_string(i));
  }
}

}  // namespace
}  // namespace minnow::test
