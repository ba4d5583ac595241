// Learns to balance a pole on a cart by REINFORCE (Williams 1992):  ./run reinforce
#include <cmath>
#include <cstdio>
#include <minnow/distributions/distributions.h>
#include <minnow/minnow.h>

#include "support/program.h"

using namespace minnow;
using distributions::Categorical;

namespace {

/// Barto, Sutton and Anderson 1983, with the numbers of Gym's CartPole-v1.
struct CartPole {
  float x = 0, speed = 0, angle = 0, spin = 0;
  int steps = 0;
  bool fell = false;

  void step(bool right) {
    const float force = right ? 10.0F : -10.0F, cosine = std::cos(angle), sine = std::sin(angle);
    const float push = (force + 0.05F * spin * spin * sine) / 1.1F;
    const float turn = (9.8F * sine - cosine * push) / (0.5F * (4.0F / 3 - 0.1F * cosine * cosine / 1.1F));
    const float slide = push - 0.05F * turn * cosine / 1.1F;
    x += 0.02F * speed, speed += 0.02F * slide, angle += 0.02F * spin, spin += 0.02F * turn;
    ++steps;
    fell = std::abs(x) > 2.4F || std::abs(angle) > 0.2095F;
  }
  bool done() const { return fell || steps == 500; }
};

/// What was seen and done, and what came of it.
struct Experience {
  std::vector<std::vector<float>> states;
  std::vector<std::int64_t> actions;
  std::vector<float> returns;
  double mean_steps = 0;
};

/// Plays `count` games at once.
Experience play(const nn::Module& policy, std::int64_t count, Device device) {
  const NoGradGuard no_grad;
  std::vector<CartPole> carts;
  const Tensor start = rand({count, 4}) * 0.1 - 0.05;
  for (const Tensor& row : start) {
    const auto s = row.to_vector<float>();
    carts.push_back({s[0], s[1], s[2], s[3]});
  }
  std::vector<std::vector<std::vector<float>>> states(carts.size());
  std::vector<std::vector<std::int64_t>> actions(carts.size());
  const auto plays = [](const CartPole& cart) { return !cart.done(); };
  while (std::any_of(carts.begin(), carts.end(), plays)) {
    std::vector<std::vector<float>> now;
    for (const CartPole& c : carts) now.push_back({c.x, c.speed, c.angle, c.spin});
    const Categorical policy_now({.logits = policy(tensor(now, device))});
    const auto chosen = policy_now.sample().to_vector<std::int64_t>();
    for (std::size_t i = 0; i < carts.size(); ++i) {
      if (carts[i].done()) continue;
      states[i].push_back(now[i]);
      actions[i].push_back(chosen[i]);
      carts[i].step(chosen[i] == 1);
    }
  }
  Experience all;
  for (std::size_t i = 0; i < carts.size(); ++i) {
    all.mean_steps += static_cast<double>(carts[i].steps) / static_cast<double>(count);
    all.states.insert(all.states.end(), states[i].begin(), states[i].end());
    all.actions.insert(all.actions.end(), actions[i].begin(), actions[i].end());
    std::vector<float> returns(states[i].size());  // the rewards that follow, of 1 for each step
    float sum = 0;
    for (std::size_t t = returns.size(); t-- > 0;) returns[t] = sum = 1 + 0.99F * sum;
    all.returns.insert(all.returns.end(), returns.begin(), returns.end());
  }
  return all;
}

}  // namespace

int main(int argc, char** argv) {
  std::int64_t rounds = 60, games = 16;
  double lr = 1e-2;
  Program program("Learns to balance a pole on a cart by REINFORCE.");
  program.option("--rounds", rounds, "updates of the policy");
  program.option("--games", games, "that are played for an update", 1);
  program.option("--lr", lr, "Adam's learning rate");
  return program.run(argc, argv, [&](Device device) {
    nn::Sequential policy(nn::Linear(4, 64), nn::Tanh(), nn::Linear(64, 2));
    policy.to(device);
    optim::Adam adam(policy.parameters(), {.lr = lr});
    double steps = 0;
    for (std::int64_t round = 1; round <= rounds; ++round) {
      const Experience seen = play(policy, games, device);
      const Tensor returns = tensor(seen.returns, device);
      const Tensor advantage = (returns - returns.mean()) / (returns.std() + 1e-6);
      const Categorical choice({.logits = policy(tensor(seen.states, device))});
      const Tensor loss = -mean(choice.log_prob(tensor(seen.actions, device)) * advantage);
      adam.zero_grad();
      loss.backward();
      adam.step();
      steps = round == 1 ? seen.mean_steps : 0.9 * steps + 0.1 * seen.mean_steps;
      if (round % 10 == 0) std::printf("round %lld: %.0f of 500 steps\n", static_cast<long long>(round), steps);
    }
    return steps;
  });
}
