// Solves Burgers' equation with a network that knows the equation alone (Raissi et al. 2019):  ./run pinn
#include <cmath>
#include <cstdio>
#include <numbers>
#include <minnow/minnow.h>

#include "support/program.h"

using namespace minnow;

namespace {

constexpr double kViscosity = 0.01 / std::numbers::pi;

/// u(x, t) for x of [-1, 1] and t of [0, 1].
struct Net : nn::Module {
  nn::Sequential layers =
      child("layers", nn::Sequential(nn::Linear(2, 20), nn::Tanh(), nn::Linear(20, 20), nn::Tanh(), nn::Linear(20, 20),
                                     nn::Tanh(), nn::Linear(20, 20), nn::Tanh(), nn::Linear(20, 1)));
  Tensor forward(const Tensor& x, const Tensor& t) override { return layers(stack({x, t}, 1)).squeeze(1); }
};

/// u_t + u u_x - ν u_xx, which is 0 where the equation holds.
Tensor residual(const Net& net, const Tensor& x, const Tensor& t) {
  const Tensor u = net(x, t);
  const auto first = grad({sum(u)}, {x, t}, {.create_graph = true});
  const Tensor u_xx = grad(sum(first[0]), x, {.create_graph = true});
  return first[1] + u * first[0] - kViscosity * u_xx;
}

/// The solution that starts as -sin(πx), by Cole's and Hopf's transformation: two integrals over a normal density.
double exact(double x, double t) {
  double up = 0, down = 0;
  for (int i = -400; i <= 400; ++i) {
    const double z = i * 0.0125, y = x - z * std::sqrt(4 * kViscosity * t);
    const double weight = std::exp(-z * z - (std::cos(std::numbers::pi * y) + 1) / (2 * std::numbers::pi * kViscosity));
    up -= std::sin(std::numbers::pi * y) * weight, down += weight;
  }
  return up / down;
}

/// ‖u - exact‖ / ‖exact‖ on a grid.
double relative_error(const Net& net, Device device) {
  const NoGradGuard no_grad;
  std::vector<float> x, t, u;
  for (int i = 0; i <= 100; ++i)
    for (int k = 1; k <= 20; ++k) {
      x.push_back(static_cast<float>(-1 + 0.02 * i)), t.push_back(static_cast<float>(0.05 * k));
      u.push_back(static_cast<float>(exact(x.back(), t.back())));
    }
  const Tensor wanted = tensor(u, device);
  return (norm(net(tensor(x, device), tensor(t, device)) - wanted) / norm(wanted)).item();
}

}  // namespace

int main(int argc, char** argv) {
  std::int64_t steps = 3000, points = 1000;
  double lr = 1e-2;
  Program program("Solves Burgers' equation with a network.  The score is 100 less the error in percent.");
  program.option("--steps", steps, "training steps");
  program.option("--points", points, "where the equation is to hold, in each step others");
  program.option("--lr", lr, "Adam's learning rate at the start");
  return program.run(argc, argv, [&](Device device) {
    Net net;
    net.to(device);
    optim::Adam adam(net.parameters(), {.lr = lr});
    optim::CosineAnnealingLR schedule(adam, {.T_max = std::max<std::int64_t>(steps, 1)});
    for (std::int64_t step = 1; step <= steps; ++step) {
      const Tensor x = (rand({points}, device) * 2 - 1).requires_grad_(), t = rand({points}, device).requires_grad_();
      const Tensor start = rand({200}, device) * 2 - 1, when = rand({200}, device);
      const Tensor edge = where(rand({200}, device) < 0.5, -1.0, 1.0).to(float32);
      const Tensor loss = mean(square(residual(net, x, t))) +
                          mean(square(net(start, zeros_like(start)) + sin(start * std::numbers::pi))) +
                          mean(square(net(edge, when)));
      adam.zero_grad();
      loss.backward();
      adam.step();
      schedule.step();
      if (step % 500 == 0)
        std::printf("step %lld: loss %.5f, error %.1f %%\n", static_cast<long long>(step), loss.item(),
                    100 * relative_error(net, device));
    }
    return 100 - 100 * relative_error(net, device);
  });
}
