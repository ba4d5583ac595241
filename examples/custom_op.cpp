// Operations of your own: one with gradients of any order, and one with a gradient that is not its derivative.
#include <cstdio>
#include <minnow/minnow.h>

#include "support/program.h"

using namespace minnow;

namespace {

/// Swish (Ramachandran et al. 2017), y = x σ(βx), with a β that is learned.  The gradient function is made of
/// differentiable operations, so that it has a gradient too.
Tensor swish(const In& x, const In& beta) {
  Tensor y;
  {
    const NoGradGuard no_grad;
    y = *x * sigmoid(*beta * *x);
  }
  return record("swish", y, {x, beta}, [x = Saved(*x), beta = Saved(*beta)](const Tensor& g) -> Gradients {
    const Tensor s = sigmoid(beta() * x()), slope = s * (1 - s);
    return {g * (s + beta() * x() * slope), sum(g * x() * x() * slope)};
  });
}

/// -1 or 1, with the gradient of x limited to [-1, 1]: the straight-through estimator (Bengio et al. 2013), by which
/// networks with binary activations are trained.
Tensor binary(const In& x) {
  Tensor y;
  {
    const NoGradGuard no_grad;
    y = where(*x >= 0, 1.0, -1.0).to(x->dtype());
  }
  return record("binary", y, {x}, [x = Saved(*x)](const Tensor& g) { return g * (abs(x()) <= 1).to(g.dtype()); });
}

struct Net : nn::Module {
  nn::Linear fc1 = child("fc1", nn::Linear(2, 32));
  nn::Linear fc2 = child("fc2", nn::Linear(32, 32));
  nn::Linear fc3 = child("fc3", nn::Linear(32, 2));
  nn::Parameter beta = parameter("beta", ones({}));

  Tensor forward(const Tensor& x) override { return fc3(binary(fc2(swish(fc1(x), beta)))); }
};

/// Points of two spirals, and which of them each is from.
std::pair<Tensor, Tensor> spirals(std::int64_t count, Device device) {
  const Tensor label = randint(0, 2, {count}, {.device = device});
  const Tensor turn = 1 + 5 * rand({count}, {.device = device}), angle = turn + label * 3.14159265;
  const Tensor points = stack({cos(angle) * turn, sin(angle) * turn}, 1);
  return {points / 3 + 0.05 * randn_like(points), label};
}

}  // namespace

int main(int argc, char** argv) {
  std::int64_t steps = 600;
  Program program("Trains a network with two operations of its own on two spirals.");
  program.option("--steps", steps, "training steps");
  return program.run(argc, argv, [&](Device device) {
    // Compares the gradients with differences, of first and second order.
    const Tensor x = randn({3, 4}, {.dtype = float64, .device = device}).requires_grad_();
    const Tensor beta = full({}, 0.7, {.dtype = float64, .device = device}).requires_grad_();
    const auto f = [](const std::vector<Tensor>& t) { return swish(t[0], t[1]); };
    gradcheck(f, {x, beta});
    gradgradcheck(f, {x, beta});
    std::printf("swish: first and second derivatives are right\n");

    Net net;
    net.to(device);
    optim::Adam adam(net.parameters(), {.lr = 5e-3});
    for (std::int64_t step = 1; step <= steps; ++step) {
      const auto [points, labels] = spirals(256, device);
      const Tensor loss = nn::cross_entropy(net(points), labels);
      adam.zero_grad();
      loss.backward();
      adam.step();
      if (step % 100 == 0) std::printf("step %lld: loss %.3f\n", static_cast<long long>(step), loss.item());
    }
    const NoGradGuard no_grad;
    const auto [points, labels] = spirals(2000, device);
    const double right = 100 * mean((argmax(net(points), 1) == labels).to(float32)).item();
    std::printf("%.1f %% of new points are right; beta became %.2f\n", right, net.beta.item());
    return right;
  });
}
