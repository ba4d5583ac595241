// The third tutorial: docs/tutorials/first-network.md.
#include <minnow/minnow.h>

#include "section.h"

using namespace minnow;

// [net]
struct Net : nn::Module {
  nn::Linear first = child("first", nn::Linear(2, 32));  // 2 numbers in, 32 out
  nn::Linear second = child("second", nn::Linear(32, 32));
  nn::Linear last = child("last", nn::Linear(32, 2));  // a score for each of 2 classes

  Tensor forward(const Tensor& x) override { return last(relu(second(relu(first(x))))); }
};
// [end]

// [data]
/// Points in a square; class 1 is a ring.
std::pair<Tensor, Tensor> points(std::int64_t count) {
  const Tensor x = rand({count, 2}) * 2 - 1;       // [count, 2], from -1 to 1
  const Tensor radius = x.square().sum(1).sqrt();  // [count]
  const Tensor inside = logical_and(radius > 0.4, radius < 0.8);
  return {x, inside.to(int64)};  // classes are numbers: 0 or 1
}
// [end]

int main() {
  section("train");
  // [train]
  manual_seed(1);  // the same numbers in each run
  const auto [train_x, train_y] = points(2000);
  const auto [test_x, test_y] = points(500);  // points that the network never learns from

  Net net;
  optim::Adam adam(net.parameters(), {.lr = 3e-3});
  data::DataLoader loader(data::TensorDataset(train_x, train_y),
                          {.batch_size = 50, .shuffle = true});

  const auto accuracy = [&](const Tensor& x, const Tensor& y) {
    const NoGradGuard no_grad;  // no derivatives are needed here
    return 100 * (net(x).argmax(1) == y).to(float32).mean().item();
  };
  for (int epoch = 1; epoch <= 20; ++epoch) {
    for (auto& [x, y] : loader) {
      const Tensor loss = nn::cross_entropy(net(x), y);
      adam.zero_grad();
      loss.backward();
      adam.step();
    }
    if (epoch % 5 == 0)
      std::printf("epoch %2d: %.1f %% of the training points, %.1f %% of the test points\n", epoch,
                  accuracy(train_x, train_y), accuracy(test_x, test_y));
  }
  // [end]

  section("predict");
  // [predict]
  const Tensor probability = softmax(net(tensor({{0.0f, 0.0f}, {0.6f, 0.0f}})), 1);
  for (int i = 0; i < 2; ++i)
    std::printf("point %d: in the ring with probability %.2f\n", i, probability[i][1].item());
  // [end]

  section("summary");
  // [summary]
  std::cout << nn::summary(net, {1, 2});
  // [end]

  section("save");
  // [save]
  save(net.state_dict(), "ring.safetensors");
  Net again;
  again.load_state_dict(load("ring.safetensors"));
  std::cout << "the same scores: " << (equal(again(test_x), net(test_x)) ? "yes" : "no") << '\n';
  // [end]
}
