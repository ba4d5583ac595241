#include <minnow/ops/unary.h>
#include <minnow/optim/clip.h>
#include <minnow/optim/lr_scheduler.h>
#include <minnow/optim/optimizers.h>
#include <minnow/tensor/create.h>

#include "devices.h"
#include "golden.h"

namespace minnow::test {
namespace {

using namespace minnow::optim;

TEST(GoldenLRScheduler, RatesAgreeWithPyTorch) {
  const Book book("lr_schedulers", Device());
  const std::map<std::string, LRFunction> all{
      {"step/3,0.1", step_lr({.step_size = 3})},
      {"step/4,0.5", step_lr({.step_size = 4, .gamma = 0.5})},
      {"cosine/10", cosine_annealing_lr({.T_max = 10})},
      {"cosine/6,0.1", cosine_annealing_lr({.T_max = 6, .eta_min = 0.1})},
      {"linear/0.1,5", linear_lr({.start_factor = 0.1, .total_iters = 5})},
      {"warmup 4, cosine 8",
       sequential_lr({linear_lr({.start_factor = 0.25, .total_iters = 4}), cosine_annealing_lr({.T_max = 8})}, {4})}};
  for (const auto& [name, function] : all) {
    Tensor p = zeros({1});
    p.requires_grad_();
    SGD sgd({p}, {.lr = 0.5});
    LRScheduler scheduler(sgd, function);
    const std::vector<double> want = book[name].to_vector<double>();
    for (std::size_t step = 0; step < want.size(); ++step, scheduler.step())
      EXPECT_NEAR(sgd.lr(), want[step], 1e-12) << name << ", step " << step;
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
