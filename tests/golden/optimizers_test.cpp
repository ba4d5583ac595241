#include <memory>
#include <minnow/optim/optimizers.h>

#include "devices.h"
#include "golden.h"

namespace minnow::test {
namespace {

using namespace minnow::optim;

class GoldenOptimizers : public DeviceTest {};
INSTANTIATE_TEST_SUITE_P(Devices, GoldenOptimizers, all_devices(), device_test_name);

using Make = std::function<std::unique_ptr<Optimizer>(const std::vector<Tensor>&)>;

template <class O> Make with(const typename O::Options& options) {
  return [options](const std::vector<Tensor>& params) { return std::make_unique<O>(params, options); };
}

std::map<std::string, Make> optimizers() {
  return {
      {"sgd", with<SGD>({.lr = 0.1})},
      {"sgd/momentum", with<SGD>({.lr = 0.1, .momentum = 0.9})},
      {"sgd/dampening", with<SGD>({.lr = 0.1, .momentum = 0.9, .dampening = 0.5})},
      {"sgd/nesterov", with<SGD>({.lr = 0.1, .momentum = 0.9, .nesterov = true})},
      {"sgd/decay", with<SGD>({.lr = 0.1, .weight_decay = 0.01})},
      {"sgd/all", with<SGD>({.lr = 0.1, .momentum = 0.8, .weight_decay = 0.01, .nesterov = true})},
      {"sgd/maximize", with<SGD>({.lr = 0.1, .momentum = 0.8, .weight_decay = 0.01, .maximize = true})},
      {"adam", with<Adam>({.lr = 0.01})},
      {"adam/betas", with<Adam>({.lr = 0.01, .betas = {0.8, 0.9}, .eps = 1e-3})},
      {"adam/decay", with<Adam>({.lr = 0.01, .weight_decay = 0.1})},
      {"adam/amsgrad", with<Adam>({.lr = 0.01, .amsgrad = true})},
      {"adamw", with<AdamW>({.lr = 0.01})},
      {"adamw/decay", with<AdamW>({.lr = 0.01, .weight_decay = 0.3})},
      {"rmsprop", with<RMSprop>({})},
      {"rmsprop/alpha", with<RMSprop>({.lr = 0.01, .alpha = 0.8, .eps = 1e-2})},
      {"rmsprop/decay", with<RMSprop>({.lr = 0.01, .weight_decay = 0.1, .maximize = true})},
      {"rmsprop/momentum", with<RMSprop>({.lr = 0.01, .momentum = 0.9})},
      {"rmsprop/centered", with<RMSprop>({.lr = 0.01, .alpha = 0.9, .centered = true})},
      {"rmsprop/all",
       with<RMSprop>({.lr = 0.01, .alpha = 0.9, .weight_decay = 0.1, .momentum = 0.5, .centered = true})},
      {"lion", with<Lion>({})},
      {"lion/betas", with<Lion>({.lr = 0.01, .betas = {0.5, 0.8}})},
      {"lion/decay", with<Lion>({.lr = 0.01, .weight_decay = 0.3})},
      {"lion/maximize", with<Lion>({.lr = 0.01, .weight_decay = 0.3, .maximize = true})},
      {"adagrad", with<Adagrad>({.lr = 0.1})},
      {"adagrad/all", with<Adagrad>({.lr = 0.1,
                                     .lr_decay = 0.05,
                                     .weight_decay = 0.1,
                                     .initial_accumulator_value = 0.5,
                                     .eps = 1e-3,
                                     .maximize = true})},
      {"adadelta", with<Adadelta>({})},
      {"adadelta/all", with<Adadelta>({.lr = 0.5, .rho = 0.8, .eps = 1e-2, .weight_decay = 0.1, .maximize = true})},
      {"adamax", with<Adamax>({.lr = 0.01})},
      {"adamax/all",
       with<Adamax>({.lr = 0.01, .betas = {0.8, 0.6}, .eps = 1e-2, .weight_decay = 0.1, .maximize = true})},
      {"nadam", with<NAdam>({.lr = 0.01})},
      {"nadam/all", with<NAdam>({.lr = 0.01,
                                 .betas = {0.8, 0.9},
                                 .eps = 1e-3,
                                 .weight_decay = 0.1,
                                 .momentum_decay = 0.3,
                                 .maximize = true})},
      {"nadam/decoupled",
       with<NAdam>({.lr = 0.01, .weight_decay = 0.3, .momentum_decay = 0, .decoupled_weight_decay = true})},
      {"radam", with<RAdam>({.lr = 0.01})},
      {"radam/all", with<RAdam>({.lr = 0.01, .betas = {0.8, 0.9}, .eps = 1e-3, .weight_decay = 0.1, .maximize = true})},
      {"radam/decoupled",
       with<RAdam>({.lr = 0.01, .betas = {0.8, 0.6}, .weight_decay = 0.3, .decoupled_weight_decay = true})},
      {"rprop", with<Rprop>({})},
      {"rprop/all", with<Rprop>({.lr = 0.05, .etas = {0.4, 1.5}, .step_sizes = {0.02, 0.2}, .maximize = true})},
      {"asgd", with<ASGD>({})},
      {"asgd/all",
       with<ASGD>({.lr = 0.1, .lambd = 0.05, .alpha = 0.5, .t0 = 2, .weight_decay = 0.1, .maximize = true})},
      {"groups", [](const std::vector<Tensor>& params) {
         auto sgd = std::make_unique<SGD>(std::vector{params[0]}, SGDOptions{.lr = 0.5, .momentum = 0.5});
         sgd->add_param_group({params[1]}, {.lr = 0.1, .momentum = 0.5, .weight_decay = 0.1});
         return sgd;
       }}};
}

TEST_P(GoldenOptimizers, TwentyStepsAgreeWithPyTorchOrThePaper) {
  const Book book("optimizers", device());
  for (const auto& [name, make] : optimizers()) {
    SCOPED_TRACE(name);
    std::vector<Tensor> params{book[name + "/p0"], book[name + "/p1"]};
    for (Tensor& p : params) p.requires_grad_();
    const auto optimizer = make(params);
    for (int step = 0; step < 20; ++step) {
      for (std::size_t i = 0; i < 2; ++i)
        params[i].set_grad(book[name + "/g" + std::to_string(i)].select(0, step).clone());
      optimizer->step();
      for (std::size_t i = 0; i < 2; ++i)
        expect_close(params[i].detach(), book[name + "/after" + std::to_string(i)].select(0, step),
                     "parameter " + std::to_string(i) + " after step " + std::to_string(step + 1));
    }
  }
}

}  // namespace
}  // namespace minnow::test
