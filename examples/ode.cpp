// Learns a differential equation from one of its solutions (Chen et al. 2018):  ./run ode
#include <cstdio>
#include <minnow/minnow.h>

#include "support/program.h"

using namespace minnow;

namespace {

using Values = std::vector<Tensor>;

/// y' = f(y): a network of y³.
struct Field : nn::Module {
  nn::Linear fc1 = child("fc1", nn::Linear(2, 50));
  nn::Linear fc2 = child("fc2", nn::Linear(50, 2));
  Tensor forward(const Tensor& y) override { return fc2(tanh(fc1(y * y * y))); }
};

/// A step of length h of the classical method of Runge and Kutta, of several values at once.
template <class F> Values step(const F& f, const Values& y, double h) {
  const auto moved = [&](const Values& slope, double by) {
    Values result;
    for (std::size_t i = 0; i < y.size(); ++i) result.push_back(y[i] + by * slope[i]);
    return result;
  };
  const Values k1 = f(y), k2 = f(moved(k1, h / 2)), k3 = f(moved(k2, h / 2)), k4 = f(moved(k3, h));
  Values mean;
  for (std::size_t i = 0; i < y.size(); ++i) mean.push_back((k1[i] + 2 * k2[i] + 2 * k3[i] + k4[i]) / 6);
  return moved(mean, h);
}

/// The solution that starts at y0 [N, 2], at 0, h, 2 h ...   ->  [steps + 1, N, 2].
template <class F> Tensor solve(const F& f, const Tensor& y0, std::int64_t steps, double h) {
  Values y{y0}, states{y0};
  for (std::int64_t i = 0; i < steps; ++i) {
    y = step([&](const Values& v) -> Values { return {f(v[0])}; }, y, h);
    states.push_back(y[0]);
  }
  return stack(states);
}

/// The same as one operation, which keeps the solution alone, and not the steps of the solver: its gradients are
/// solutions of another equation, a' = -a ∂f/∂y, backward in time.
Tensor odeint(const Field& f, const Tensor& y0, std::int64_t steps, double h) {
  Tensor solution;
  {
    const NoGradGuard no_grad;
    solution = solve(f, y0, steps, h);
  }
  Values inputs = f.parameters();
  inputs.insert(inputs.begin(), y0);
  return record("odeint", solution, inputs, [=, saved = Saved::output(solution)](const Tensor& g) {
    // Of {y, a, the gradients of the parameters}.
    const auto adjoint = [&](const Values& now) {
      const AutoGradMode on(true);
      Values at = f.parameters();
      at.insert(at.begin(), now[0].detach().requires_grad_());
      const Tensor slope = f(at[0]);
      Values change{slope.detach()};
      for (const Tensor& gradient : grad({slope}, at, {.grad_outputs = {now[1]}})) change.push_back(-gradient);
      return change;
    };
    const Tensor y = saved();
    Values now{Tensor(), zeros_like(g[steps])};
    for (const Tensor& parameter : f.parameters()) now.push_back(zeros_like(parameter));
    for (std::int64_t i = steps; i > 0; --i) {
      now[0] = y[i], now[1] = now[1] + g[i];
      now = step(adjoint, now, -h);
    }
    now[1] = now[1] + g[0];
    return Gradients(now.begin() + 1, now.end());
  });
}

/// How far the gradients are from those through the steps of the solver.
double difference(Field& f, const Tensor& y0, double h) {
  const Tensor through = mean(square(solve(f, y0, 20, h))), adjoint = mean(square(odeint(f, y0, 20, h)));
  const Values wanted = grad({through}, f.parameters()), got = grad({adjoint}, f.parameters());
  double most = 0;
  for (std::size_t i = 0; i < got.size(); ++i)
    most = std::max(most, (norm(got[i] - wanted[i]) / norm(wanted[i])).item());
  return most;
}

}  // namespace

int main(int argc, char** argv) {
  std::int64_t epochs = 2000, length = 10, batch = 64;
  Program program("Learns a differential equation.  The score is 100 less the error of its solution in percent.");
  program.option("--steps", epochs, "training steps");
  program.option("--length", length, "steps of time in a training step", 1, 100);
  program.option("--batch", batch, "beginnings in a training step", 1);
  return program.run(argc, argv, [&](Device device) {
    const double h = 0.025;
    const std::int64_t count = 400;
    const Tensor matrix = tensor({{-0.1F, -2.0F}, {2.0F, -0.1F}}, device), start = tensor({{2.0F, 0.0F}}, device);
    const Tensor truth = solve([&](const Tensor& y) { return matmul(y * y * y, matrix); }, start, count, h).squeeze(1);

    Field f;
    f.to(device);
    std::printf("gradients of the adjoint equation and of the solver differ by %.1e\n", difference(f, start, h));
    optim::Adam adam(f.parameters(), {.lr = 1e-2});
    optim::CosineAnnealingLR schedule(adam, {.T_max = std::max<std::int64_t>(epochs, 1)});
    const auto error = [&] {
      const NoGradGuard no_grad;
      return (norm(solve(f, start, count, h).squeeze(1) - truth) / norm(truth)).item();
    };
    for (std::int64_t i = 1; i <= epochs; ++i) {
      const Tensor from = randint(0, count - length + 1, {batch}, {.device = device});
      Values wanted;
      for (std::int64_t k = 0; k <= length; ++k) wanted.push_back(truth.index_select(0, from + k));
      const Tensor loss = mean(abs(odeint(f, wanted[0], length, h) - stack(wanted)));
      adam.zero_grad();
      loss.backward();
      adam.step();
      schedule.step();
      if (i % 500 == 0)
        std::printf("step %lld: loss %.5f, error %.1f %%\n", static_cast<long long>(i), loss.item(), 100 * error());
    }
    return 100 - 100 * error();
  });
}
