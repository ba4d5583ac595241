// Training steps whose losses have derivatives in them.
#include <memory>
#include <minnow/autograd/engine.h>
#include <minnow/nn/layers/activation.h>
#include <minnow/nn/layers/linear.h>
#include <minnow/nn/losses/loss.h>
#include <minnow/nn/module/functional_call.h>
#include <minnow/ops/elementwise/arithmetic.h>
#include <minnow/ops/elementwise/unary.h>
#include <minnow/ops/indexing/index.h>
#include <minnow/ops/reductions/reduce.h>
#include <minnow/optim/optimizers.h>
#include "workloads/models.h"

namespace bench {
namespace {

using namespace minnow;

/// Losses of three steps are checked.
template <class Loss> Ready step_of(const nn::Sequential& model, const Loss& loss_of) {
  const auto adam = std::make_shared<optim::Adam>(model.parameters(), optim::AdamOptions{.lr = 1e-3});
  const auto step = [=] {
    const Tensor loss = loss_of(model);
    adam->zero_grad();
    loss.backward();
    adam->step();
    return loss;
  };
  Ready ready{{{"", [step] { (void)step(); }}}, {}};
  for (int i = 0; i < 3; ++i) ready.values.push_back(step().item());
  return ready;
}

/// Burgers' equation: second derivatives in the loss.
Ready pinn(const Settings& s) {
  nn::Sequential model(nn::Linear(2, 64), nn::Tanh(), nn::Linear(64, 64), nn::Tanh(), nn::Linear(64, 64), nn::Tanh(),
                       nn::Linear(64, 1));
  place(s, model);
  const std::int64_t points = s.quick ? 64 : 4096;
  const Tensor x = formula(s, 1, {points}).requires_grad_(), t = formula(s, 2, {points}).requires_grad_();
  return step_of(model, [=](const nn::Sequential& net) {
    const Tensor u = net(stack({x, t}, 1)).squeeze(1);
    const auto first = grad({sum(u)}, {x, t}, {.create_graph = true});
    const Tensor u_xx = grad(sum(first[0]), x, {.create_graph = true});
    return mean(square(first[1] + u * first[0] - u_xx * 0.01));
  });
}

/// Three steps for each of four tasks, and through them (Finn et al. 2017).
Ready maml(const Settings& s) {
  nn::Sequential model(nn::Linear(1, 40), nn::Tanh(), nn::Linear(40, 40), nn::Tanh(), nn::Linear(40, 1));
  place(s, model);
  const Tensor x = formula(s, 1, {4, 20, 1}, 3), phase = formula(s, 2, {4, 1, 1}, 3), y = sin(x + phase);
  return step_of(model, [=](const nn::Sequential& net) {
    Tensor total = zeros({}, Device(s.device));
    for (std::int64_t task = 0; task < 4; ++task) {
      const Tensor shown = x[task].narrow(0, 0, 10), answers = y[task].narrow(0, 0, 10);
      std::vector<nn::NamedTensor> fast = net.named_parameters();
      for (int step = 0; step < 3; ++step) {
        std::vector<Tensor> weights;
        for (const auto& [name, w] : fast) weights.push_back(w);
        const auto grads =
            grad({nn::mse_loss(nn::functional_call(net, fast, shown), answers)}, weights, {.create_graph = true});
        for (std::size_t i = 0; i < fast.size(); ++i) fast[i].tensor = weights[i] - grads[i] * 0.01;
      }
      total =
          total + nn::mse_loss(nn::functional_call(net, fast, x[task].narrow(0, 10, 10)), y[task].narrow(0, 10, 10));
    }
    return total;
  });
}

}  // namespace

std::vector<Workload> derivative_workloads() { return {{"pinn", pinn}, {"maml", maml}}; }

}  // namespace bench
